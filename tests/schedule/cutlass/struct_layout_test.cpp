// Struct layouts against what the compiler itself does with the same members.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>

#include "schedule/cutlass/struct_layout.hpp"

namespace tilewright::schedule::cutlass {
namespace {

struct Inner {
  char first[5];
  alignas(16) char second[3];
};
struct Outer {
  alignas(128) char head[100];
  Inner inner;
  alignas(32) Inner aligned;
  char tail[1];
};

std::int64_t offset_of(const StructLayout& layout, const std::string& name) {
  for (const CutlassStorage& part : layout.members()) {
    if (part.name == name) return part.offset;
  }
  return -1;
}

TEST(StructLayout, PlacesMembersWhereTheCompilerDoes) {
  StructLayout inner;
  inner.member("first", 5, 1).member("second", 3, 16);
  EXPECT_EQ(inner.size(), static_cast<std::int64_t>(sizeof(Inner)));
  EXPECT_EQ(inner.alignment(), static_cast<std::int64_t>(alignof(Inner)));
  StructLayout outer;
  outer.member("head", 100, 128).nested("inner", inner).nested("aligned", inner, 32).member("tail", 1, 1);
  EXPECT_EQ(outer.size(), static_cast<std::int64_t>(sizeof(Outer)));
  EXPECT_EQ(offset_of(outer, "inner.first"), static_cast<std::int64_t>(offsetof(Outer, inner)));
  EXPECT_EQ(offset_of(outer, "aligned.first"), static_cast<std::int64_t>(offsetof(Outer, aligned)));
  EXPECT_EQ(offset_of(outer, "tail"), static_cast<std::int64_t>(offsetof(Outer, tail)));
}

TEST(StructLayout, IsOneByteWithoutMembersAndMergesPadding) {
  EXPECT_EQ(StructLayout().size(), 1);
  StructLayout inner;
  inner.member("a", 1, 64);
  StructLayout outer;
  outer.nested("", inner).member("b", 1, 256);
  const std::vector<CutlassStorage> members = outer.members();
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[1].name, "padding");
  EXPECT_EQ(members[1].bytes, 255);
  EXPECT_EQ(members[3].bytes, 255);
}

TEST(StructLayout, NamesEveryByteOfAnyStruct) {
  EXPECT_TRUE(rc::check([] {
    StructLayout layout;
    const auto members = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 3000), rc::gen::inRange(0, 11)));
    for (const auto& [bytes, power] : members) layout.member("m", bytes, std::int64_t{1} << power);
    std::int64_t end = 0;
    for (const CutlassStorage& part : layout.members()) {
      RC_ASSERT(part.offset == end);
      RC_ASSERT(part.bytes > 0);
      end += part.bytes;
    }
    RC_ASSERT(end == layout.size());
    RC_ASSERT(layout.size() % layout.alignment() == 0);
  }));
}

TEST(StructLayout, DealsACarveoutToTheMembersItIsFor) {
  StructLayout layout;
  layout.member("epilogue.c", 100, 1).member("mainloop", 50, 1).member("epilogue.d", 30, 1);
  std::vector<CutlassStorage> storage = layout.members();
  reserve_carveout(storage, {"epilogue"}, 110);
  EXPECT_EQ(storage[0].reserved, 100);
  EXPECT_EQ(storage[1].reserved, 0);
  EXPECT_EQ(storage[2].reserved, 10);
  reserve(storage, "ghost", 7);
  EXPECT_EQ(storage.back().name, "ghost");
  EXPECT_EQ(storage.back().bytes, 0);
  EXPECT_EQ(storage.back().offset, 180);
  EXPECT_EQ(reserved_bytes(storage), 117);
}

}  // namespace
}  // namespace tilewright::schedule::cutlass
