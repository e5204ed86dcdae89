#include "tilewright/safetensors.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace tilewright {
namespace {

using testing::TemporaryDirectory;
using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(SafetensorsWriter, WritesWhatItReadsBack) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.safetensors");
  const Bytes codes = {1, 2, 3};
  const Bytes scale = {0, 0, 0x80, 0x3F};
  const Bytes half = {4, 5, 6, 7};
  const std::vector<TensorData> tensors = {{"codes \"q\"", DType::u8, {3}, codes},
                                           {"half", DType::bf16, {1, 2}, half},
                                           {"scale", DType::f32, {}, scale},
                                           {"empty", DType::i64, {0, 7}, {}}};
  const auto status = write_safetensors(path, tensors, {{"format", "pt"}, {"producer", "tilewright"}});
  ASSERT_TRUE(status) << status.error().message();
  const auto files = TensorFiles::open(path);
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->tensors().size(), tensors.size());
  for (const TensorData& tensor : tensors) {
    const TensorView* view = files->find(tensor.name);
    ASSERT_NE(view, nullptr) << tensor.name;
    EXPECT_EQ(view->dtype, tensor.dtype);
    EXPECT_EQ(view->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(view->bytes, tensor.bytes));
  }
  EXPECT_EQ(files->metadata().at("producer"), "tilewright");
}

TEST(SafetensorsWriter, AlignsEveryTensorToItsElement) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.safetensors");
  const Bytes data(24, 1);
  const auto first = [&](std::size_t size) { return std::span(data).first(size); };
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde"}) {  // headers of different lengths
    ASSERT_TRUE(write_safetensors(path, {{name + "1", DType::u8, {3}, first(3)},
                                         {name + "2", DType::f16, {5}, first(10)},
                                         {name + "4", DType::f32, {1}, first(4)},
                                         {name + "8", DType::i64, {3}, first(24)}}));
    const Bytes file = read_file(path);
    const auto files = TensorFiles::parse(file, path);
    ASSERT_TRUE(files) << files.error().message();
    for (const auto& [tensor, view] : files->tensors()) {
      const auto offset = static_cast<std::size_t>(view.bytes.data() - file.data());
      EXPECT_EQ(offset % static_cast<std::size_t>(size_of(view.dtype)), 0U) << tensor;
    }
    EXPECT_EQ(static_cast<std::size_t>(files->find(name + "8")->bytes.data() - file.data()) % 8, 0U);
  }
}

TEST(SafetensorsWriter, RefusesToWriteTensorsThatDoNotAddUp) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.safetensors");
  const Bytes data(8, 0);
  const auto refusal = [&](const std::vector<TensorData>& tensors) {
    const auto status = write_safetensors(path, tensors);
    EXPECT_FALSE(status);
    if (status) return std::string();
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
    return status.error().message();
  };
  EXPECT_NE(refusal({{"w", DType::f32, {3}, data}}).find("8 bytes, which do not fit F32 [3]"), std::string::npos);
  EXPECT_NE(refusal({{"w", DType::u8, {-8}, data}}).find("impossible shape"), std::string::npos);
  EXPECT_NE(refusal({{"w", DType::other, {8}, data}}).find("no dtype"), std::string::npos);
  EXPECT_NE(refusal({{"__metadata__", DType::u8, {8}, data}}).find("name of the metadata"), std::string::npos);
  EXPECT_NE(refusal({{"w", DType::u8, {8}, data}, {"w", DType::u8, {8}, data}}).find("twice"), std::string::npos);
  EXPECT_NE(refusal({{"\xFF", DType::u8, {8}, data}}).find("not UTF-8"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(SafetensorsWriter, LeavesNothingBehindWhenTheFileCannotBeWritten) {
  const TemporaryDirectory directory;
  const auto no_directory = write_safetensors(directory.file("absent/out.safetensors"), {});
  ASSERT_FALSE(no_directory);
  EXPECT_EQ(no_directory.error().code, ErrorCode::not_found);
  std::filesystem::create_directory(directory.path() / "taken");
  const auto taken = write_safetensors(directory.file("taken"), {});  // rename onto a directory
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().cause.find("Is a directory"), std::string::npos) << taken.error().cause;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(SafetensorsWriter, ReplacesAFileWhole) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("out.safetensors", "what was there before, longer than the new file" + std::string(200, '.'));
  const Bytes data = {42};
  ASSERT_TRUE(write_safetensors(path, {{"w", DType::u8, {1}, data}}));
  const auto files = TensorFiles::open(path);
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(files->find("w")->bytes[0], 42);
}

}  // namespace
}  // namespace tilewright
