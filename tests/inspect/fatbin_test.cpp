#include <gtest/gtest.h>

#include "inspect/binary_bytes.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

using testing::Bytes;
using testing::FatbinImage;

Bytes small_cubin(std::uint32_t number = 120) { return testing::cubin(testing::second_convention(number, ""), {{}}); }

BinaryReport report_of(const Bytes& bytes) {
  auto report = read_binary_bytes(bytes.data(), bytes.size(), "test");
  if (!report) ADD_FAILURE() << report.error().message();
  return report ? *report : BinaryReport{};
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Fatbin, TellsTargetKindAndVersionOfEachImage) {
  const Bytes ptx = testing::bytes_of(".version 9.0\n.target sm_120f\n.entry k() { ret; }\n");
  const BinaryReport report = report_of(testing::fatbin({{2, 120, 0x11, small_cubin()},
                                                         {2, 120, 0x11 | testing::kArchSpecific, small_cubin()},
                                                         {1, 120, 0x11 | testing::kFamilySpecific, ptx, 0, 9, 0},
                                                         {8, 90, 0x11 | 0x10000, Bytes(40), 0, 1, 65}}));
  EXPECT_EQ(report.kind, BinaryKind::fatbin);
  ASSERT_EQ(report.images.size(), 4U);
  const std::vector<std::string> targets = {"sm_120", "sm_120a", "compute_120f", "compute_90"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(to_string(report.images[i].target, report.images[i].kind), targets[i]);
  EXPECT_EQ(report.images[2].kind, ImageKind::ptx);
  EXPECT_EQ(report.images[2].version, "9.0");
  EXPECT_EQ(report.images[3].kind, ImageKind::lto_ir);
  EXPECT_TRUE(report.images[3].kernels.empty());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(report.images[i].kernels.size(), 1U);
}

TEST(Fatbin, IsReadTheSameCompressedOrNot) {
  const FatbinImage plain{2, 120, 0x11, small_cubin()};
  for (const auto& [flag, name] : {std::pair{testing::kLz4, "lz4"}, std::pair{testing::kZstd, "zstd"}}) {
    const FatbinImage packed = testing::compressed(plain, flag);
    const BinaryReport report = report_of(testing::fatbin({packed}));
    ASSERT_EQ(report.images.size(), 1U);
    EXPECT_EQ(report.images[0].compression, name);
    EXPECT_EQ(report.images[0].bytes, static_cast<std::int64_t>(plain.payload.size()));
    EXPECT_EQ(report.images[0].stored_bytes, static_cast<std::int64_t>(packed.payload.size()));
    ASSERT_EQ(report.images[0].kernels.size(), 1U) << report.images[0].notes.at(0);
    EXPECT_EQ(report.images[0].kernels[0].registers, 32);
  }
}

TEST(Fatbin, MayFollowAnotherWithPaddingBetween) {
  const Bytes one = testing::fatbin({{2, 120, 0x11, small_cubin()}});
  const BinaryReport report = report_of(one + Bytes(24) + one + Bytes(8));
  EXPECT_EQ(report.containers, 2);
  ASSERT_EQ(report.images.size(), 2U);
  EXPECT_EQ(report.images[0].container, 0);
  EXPECT_EQ(report.images[1].container, 1);
  EXPECT_EQ(report.images[1].file_offset, report.images[0].file_offset + static_cast<std::int64_t>(one.size()) + 24);
  EXPECT_TRUE(report.notes.empty());
}

TEST(Fatbin, NotesBytesThatBelongToNoContainer) {
  const Bytes one = testing::fatbin({{2, 120, 0x11, small_cubin()}});
  const BinaryReport report = report_of(one + Bytes(16, 0xAB) + one);
  EXPECT_EQ(report.containers, 2);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("16 bytes at " + std::to_string(one.size()) + " belong to no fat binary"),
            std::string::npos)
      << report.notes[0];
}

TEST(Fatbin, NotesAnEntryOfAKindThatIsNotKnownAndReadsTheRest) {
  const BinaryReport report = report_of(testing::fatbin({{64, 120, 0x11, Bytes(8)}, {2, 120, 0x11, small_cubin()}}));
  EXPECT_EQ(report.images.size(), 1U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("unknown kind 64"), std::string::npos) << report.notes[0];
}

TEST(Fatbin, NotesAnImageThatIsForAnotherTargetThanItsEntrySays) {
  const BinaryReport report = report_of(testing::fatbin({{2, 100, 0x11, small_cubin(120)}}));
  ASSERT_EQ(report.images.size(), 1U);
  ASSERT_EQ(report.images[0].notes.size(), 1U);
  EXPECT_EQ(report.images[0].notes[0], "its fat binary says sm_100, and the image itself sm_120");
}

TEST(Fatbin, NotesDataThatDoNotUnpackAndReadsTheRest) {
  FatbinImage broken = testing::compressed({2, 120, 0x11, small_cubin()}, testing::kZstd);
  broken.payload[broken.payload.size() / 2] ^= 0xFFU;
  FatbinImage short_of = testing::compressed({2, 120, 0x11, small_cubin()}, testing::kLz4);
  short_of.unpacked_bytes += 1;
  const BinaryReport report = report_of(testing::fatbin({broken, short_of, {2, 120, 0x11, small_cubin()}}));
  ASSERT_EQ(report.images.size(), 3U);
  ASSERT_EQ(report.images[0].notes.size(), 1U);
  ASSERT_EQ(report.images[1].notes.size(), 1U);
  EXPECT_NE(report.images[1].notes[0].find("where its entry states"), std::string::npos) << report.images[1].notes[0];
  EXPECT_EQ(report.images[2].kernels.size(), 1U);
}

}  // namespace
}  // namespace tilewright
