#include "tilewright/safetensors.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/safetensors_bytes.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright {
namespace {

using testing::Bytes;
using testing::file_with;
using testing::TemporaryDirectory;

// A checkpoint of two shards, "a" in the first and "b" in the second.
void write_shards(const TemporaryDirectory& directory) {
  const Bytes data = {1, 2};
  ASSERT_TRUE(write_safetensors(directory.file("model-00001-of-00002.safetensors"), {{"a", DType::u8, {2}, data}}));
  ASSERT_TRUE(write_safetensors(directory.file("model-00002-of-00002.safetensors"), {{"b", DType::u8, {2}, data}}));
}

TEST(Shards, AreReadAsOneCheckpointWithoutAnIndex) {
  const TemporaryDirectory directory;
  write_shards(directory);
  (void)directory.write("README.md", "not a shard");
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->paths().size(), 2U);
  EXPECT_EQ(files->find("a")->file, 0);
  EXPECT_EQ(files->find("b")->file, 1);
}

TEST(Shards, HoldTensorsThatTheIndexLeavesOut) {
  const TemporaryDirectory directory;
  write_shards(directory);
  (void)directory.write("model.safetensors.index.json", R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})");
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_NE(files->find("b"), nullptr);
}

TEST(Shards, AMissingOneIsNamedTogetherWithATensorThatItHolds) {
  const TemporaryDirectory directory;
  write_shards(directory);
  (void)directory.write("model.safetensors.index.json", R"({"weight_map":{"c":"model-00003-of-00003.safetensors"}})");
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::not_found);
  EXPECT_NE(files.error().cause.find("'model-00003-of-00003.safetensors' is missing"), std::string::npos);
  EXPECT_NE(files.error().cause.find("'c'"), std::string::npos);
}

TEST(Shards, ABrokenIndexIsNamed) {
  for (const char* index : {"", "{", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})"}) {
    const TemporaryDirectory directory;
    write_shards(directory);
    const std::string path = directory.write("model.safetensors.index.json", index);
    const auto files = TensorFiles::open(directory.path().string());
    ASSERT_FALSE(files) << index;
    EXPECT_EQ(files.error().code, ErrorCode::corrupt);
    EXPECT_EQ(files.error().cause.rfind(path, 0), 0U) << files.error().cause;
  }
}

TEST(Shards, ATensorInTwoOfThemNamesBoth) {
  const TemporaryDirectory directory;
  write_shards(directory);
  std::filesystem::copy(directory.file("model-00001-of-00002.safetensors"), directory.file("old.safetensors"));
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::mismatch);
  EXPECT_NE(files.error().cause.find("tensor 'a' is in"), std::string::npos);
  EXPECT_NE(files.error().cause.find("model-00001-of-00002.safetensors"), std::string::npos);
  EXPECT_NE(files.error().cause.find("old.safetensors"), std::string::npos);
}

TEST(Shards, ABrokenOneIsNamed) {
  const TemporaryDirectory directory;
  write_shards(directory);
  const Bytes whole = file_with("{}", 1);
  const std::string path = directory.write("model-00003.safetensors", std::string(whole.begin(), whole.end()));
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().cause.rfind(path, 0), 0U) << files.error().cause;
}

TEST(Shards, ADanglingLinkIsAnErrorAndNotSkipped) {
  const TemporaryDirectory directory;
  write_shards(directory);
  std::filesystem::create_symlink("gone", directory.file("model-00003.safetensors"));
  const auto files = TensorFiles::open(directory.path().string());
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::not_found);
}

TEST(Shards, AnEmptyDirectoryAndAMissingPathAreNotFound) {
  const TemporaryDirectory directory;
  const auto empty = TensorFiles::open(directory.path().string());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::not_found);
  const auto absent = TensorFiles::open(directory.file("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
}

TEST(TensorFiles, KeepTheirBytesThroughAReleaseAndAsLongAsTheStorageLives) {
  const TemporaryDirectory directory;
  const Bytes data(100000, 7);
  const std::string path = directory.file("out.safetensors");
  ASSERT_TRUE(write_safetensors(path, {{"w", DType::u8, {100000}, data}}));
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> storage;
  {
    const auto files = TensorFiles::open(path);
    ASSERT_TRUE(files) << files.error().message();
    bytes = files->find("w")->bytes;
    storage = files->storage();
    files->release(bytes);
    files->release(data);  // not of a mapped file: nothing happens
  }
  EXPECT_TRUE(std::ranges::equal(bytes, data));
}

}  // namespace
}  // namespace tilewright
