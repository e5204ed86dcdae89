#include "tilewright/safetensors.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/safetensors_bytes.hpp"

namespace tilewright {
namespace {

using testing::Bytes;
using testing::file_with;

const std::string kTwoTensors =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b.weight":{"dtype":"U8","shape":[2,3],"data_offsets":[8,14]}})";

// Parses and expects a refusal of one line that names the file and holds `part`.
void expect_refused(const Bytes& file, const std::string& part) {
  const auto result = TensorFiles::parse(file, "bad.safetensors");
  ASSERT_FALSE(result) << part;
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  const std::string message = result.error().message();
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.rfind("bad.safetensors: ", 0), 0U) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

void expect_tensor_refused(const std::string& fields, std::size_t data_bytes, const std::string& part) {
  SCOPED_TRACE(fields);
  expect_refused(file_with(R"({"w":{)" + fields + "}}", data_bytes), part);
}

// Reads the first and last byte of every tensor: under AddressSanitizer a view outside the file fails here.
unsigned touch(const TensorFiles& files) {
  unsigned sum = 0;
  for (const auto& [name, tensor] : files.tensors()) {
    if (!tensor.bytes.empty()) sum += tensor.bytes.front() + tensor.bytes.back();
    sum += static_cast<unsigned>(tensor.elements());
  }
  return sum;
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const Bytes file = file_with(kTwoTensors, 14);
  const auto files = TensorFiles::parse(file, "two");
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->tensors().size(), 2U);
  const TensorView* a = files->find("a");
  const TensorView* b = files->find("b.weight");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->dtype, DType::f32);
  EXPECT_EQ(a->elements(), 2);
  EXPECT_EQ(a->bytes[7], 7);
  EXPECT_EQ(b->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(b->bytes.data(), file.data() + file.size() - 6);
  EXPECT_EQ(files->find("c"), nullptr);
  EXPECT_EQ(files->metadata().at("format"), "pt");
  EXPECT_EQ(files->paths(), std::vector<std::string>{"two"});
}

TEST(Safetensors, TakesScalarsEmptyTensorsAndAHeaderPaddedWithSpaces) {
  const auto file = file_with(
      R"({"e":{"dtype":"F16","shape":[0,4],"data_offsets":[4,4]},"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      4);
  const auto files = TensorFiles::parse(file, "scalar");
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(files->find("s")->elements(), 1);
  EXPECT_EQ(files->find("e")->elements(), 0);
  EXPECT_TRUE(files->find("e")->bytes.empty());
}

TEST(Safetensors, TakesAFileWithoutTensors) {
  EXPECT_TRUE(TensorFiles::parse(file_with("{}", 0), "none"));
  EXPECT_TRUE(TensorFiles::parse(file_with(R"({"__metadata__":null})", 0), "none"));
}

TEST(Safetensors, GivesAnUnknownDtypeItsBytesAndStillChecksTheirRange) {
  const std::string fields = R"("dtype":"F4","shape":[5,2],"data_offsets":[0,5])";
  const auto files = TensorFiles::parse(file_with(R"({"w":{)" + fields + "}}", 5), "f4");
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(files->find("w")->dtype, DType::other);
  EXPECT_EQ(files->find("w")->bytes.size(), 5U);
  expect_tensor_refused(fields, 4, "'w' ends at byte 5, 1 past the data's 4 bytes");
}

TEST(Safetensors, NamesEveryDtypeAsTheFormatDoes) {
  for (const auto& [dtype, name, size] :
       {std::tuple(DType::f64, "F64", 8), std::tuple(DType::f32, "F32", 4), std::tuple(DType::f16, "F16", 2),
        std::tuple(DType::bf16, "BF16", 2), std::tuple(DType::i64, "I64", 8), std::tuple(DType::i32, "I32", 4),
        std::tuple(DType::i16, "I16", 2), std::tuple(DType::i8, "I8", 1), std::tuple(DType::u8, "U8", 1),
        std::tuple(DType::u16, "U16", 2), std::tuple(DType::u32, "U32", 4), std::tuple(DType::u64, "U64", 8),
        std::tuple(DType::boolean, "BOOL", 1), std::tuple(DType::f8_e4m3, "F8_E4M3", 1),
        std::tuple(DType::f8_e5m2, "F8_E5M2", 1), std::tuple(DType::f8_e8m0, "F8_E8M0", 1)}) {
    EXPECT_STREQ(to_string(dtype), name);
    EXPECT_EQ(size_of(dtype), size);
    const auto file = file_with(
        std::string(R"({"w":{"dtype":")") + name + R"(","shape":[1],"data_offsets":[0,)" + std::to_string(size) + "]}}",
        static_cast<std::size_t>(size));
    const auto files = TensorFiles::parse(file, name);
    ASSERT_TRUE(files) << files.error().message();
    EXPECT_EQ(files->find("w")->dtype, dtype);
  }
}

TEST(Safetensors, RefusesAFileTooShortForTheHeaderLength) {
  expect_refused({}, "0 bytes, too few");
  expect_refused(Bytes(7, 0), "7 bytes, too few");
}

TEST(Safetensors, RefusesAHeaderLongerThanTheFile) {
  Bytes file = file_with("{}", 0);
  file[0] = 3;
  expect_refused(file, "a header of 3 bytes, and only 2 behind its length");
}

TEST(Safetensors, RefusesAHeaderAboveTheLimitOfTheFormat) {
  Bytes file = file_with("{}", 0);
  std::fill_n(file.begin(), 8, std::uint8_t{0xFF});
  expect_refused(file, "above the format's limit of 100000000");
}

TEST(Safetensors, RefusesAHeaderThatIsNotJson) {
  expect_refused(file_with("", 0), "does not begin with {");
  expect_refused(file_with("[]", 0), "does not begin with {");
  expect_refused(file_with(" {}", 0), "does not begin with {");
  expect_refused(file_with("{", 0), "not JSON at byte");
  expect_refused(file_with("{}x", 0), "not JSON at byte 3");
  expect_refused(file_with(std::string("{}\0{", 4), 0), "not JSON at byte 2");
  expect_refused(file_with("{\"\xFF\":1}", 0), "not JSON at byte");
  expect_refused(file_with(std::string(100000, '{'), 0), "not JSON at byte");
}

TEST(Safetensors, RefusesANestingThatTheFormatDoesNotHave) {
  expect_refused(file_with(R"({"w":)" + std::string(100000, '['), 0), "'w': is not an object with dtype");
  expect_refused(file_with(R"({"w":[1]})", 0), "'w': is not an object with dtype");
  expect_refused(file_with(R"({"w":null})", 0), "'w': is not an object with dtype");
}

TEST(Safetensors, RefusesANameThatIsThereTwice) {
  const std::string entry = R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_refused(file_with("{" + entry + "," + entry + "}", 0), "tensor 'w' is there twice");
  expect_tensor_refused(R"("dtype":"U8","dtype":"U8")", 0, "'w': dtype is there twice");
  expect_refused(file_with(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ is there twice");
  expect_refused(file_with(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "metadata key 'k' is there twice");
}

TEST(Safetensors, RefusesMissingAndUnknownFields) {
  expect_tensor_refused(R"("shape":[0],"data_offsets":[0,0])", 0, "'w' has no dtype");
  expect_tensor_refused(R"("dtype":"U8","data_offsets":[0,0])", 0, "'w' has no shape");
  expect_tensor_refused(R"("dtype":"U8","shape":[0])", 0, "'w' has no data_offsets");
  expect_tensor_refused(R"("dtype":"U8","shape":[0],"strides":[1],"data_offsets":[0,0])", 0, "unknown field 'strides'");
}

TEST(Safetensors, RefusesFieldsOfTheWrongKind) {
  expect_tensor_refused(R"("dtype":8)", 0, "dtype is not a string");
  for (const char* shape : {"4", "[-1]", "[1.5]", "[\"4\"]", "[[4]]", "[true]", "[9223372036854775808]",
                            "[18446744073709551616]", "[1e3]", "null", "{}"}) {
    expect_tensor_refused(std::string(R"("dtype":"U8","shape":)") + shape, 0, "shape is not an array of whole numbers");
  }
  for (const char* offsets :
       {"0", "[]", "[0]", "[0,1,2]", "[-1,0]", "[0,1.0]", "[0,\"1\"]", "[0,18446744073709551615]"}) {
    expect_tensor_refused(std::string(R"("dtype":"U8","shape":[1],"data_offsets":)") + offsets, 1,
                          "data_offsets is not an array of two whole numbers");
  }
}

TEST(Safetensors, RefusesOddMetadata) {
  expect_refused(file_with(R"({"__metadata__":"pt"})", 0), "metadata are not an object");
  expect_refused(file_with(R"({"__metadata__":{"format":1}})", 0), "metadata key 'format' is not a string");
  expect_refused(file_with(R"({"__metadata__":{"format":{}}})", 0), "metadata key 'format' is not a string");
}

TEST(Safetensors, RefusesARangeThatEndsBeforeItBegins) {
  expect_tensor_refused(R"("dtype":"U8","shape":[0],"data_offsets":[4,0])", 4,
                        "begins at byte 4 and ends before it, at 0");
}

TEST(Safetensors, RefusesARangeThatDoesNotFitDtypeAndShape) {
  expect_tensor_refused(R"("dtype":"F32","shape":[2,4],"data_offsets":[0,24])", 24,
                        "'w' has 24 bytes, which do not fit F32 [2, 4]: 8 elements of 4");
  expect_tensor_refused(R"("dtype":"F32","shape":[1],"data_offsets":[0,5])", 5, "5 bytes, which do not fit F32 [1]");
  // 2^62 * 4 bytes is 2^64: it must not wrap to 0.
  expect_tensor_refused(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])", 0, "do not fit");
}

TEST(Safetensors, RefusesAShapeWhoseElementsOverflow) {
  expect_tensor_refused(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])", 0, "pass 2^63 - 1");
  expect_tensor_refused(R"("dtype":"F4","shape":[4294967296,4294967296,0],"data_offsets":[0,0])", 0, "pass 2^63 - 1");
}

TEST(Safetensors, RefusesTensorsThatOverlap) {
  expect_refused(file_with(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                           6),
                 "tensors 'a' and 'b' overlap by 2 bytes");
  expect_refused(file_with(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                           4),
                 "tensors 'a' and 'b' overlap by 4 bytes");
}

TEST(Safetensors, RefusesBytesThatBelongToNoTensor) {
  expect_tensor_refused(R"("dtype":"U8","shape":[2],"data_offsets":[2,4])", 4,
                        "2 bytes before tensor 'w' belong to no tensor");
  expect_tensor_refused(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])", 5, "the last 3 bytes belong to no tensor");
  expect_refused(file_with("{}", 1), "the last 1 bytes belong to no tensor");
}

TEST(Safetensors, KeepsALongOrUnprintableNameOnOneShortLine) {
  const std::string name = R"(bell\u0007line\nend)" + std::string(100000, 'x');
  const auto files = TensorFiles::parse(file_with(R"({")" + name + R"(":1})", 0), "odd");
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().cause.find(R"(bell\x07line\x0aend)"), std::string::npos);
  EXPECT_LT(files.error().message().size(), 500U);
}

TEST(Safetensors, RefusesEveryTruncationOfAFile) {
  const Bytes file = file_with(kTwoTensors, 14);
  ASSERT_TRUE(TensorFiles::parse(file, "whole"));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(TensorFiles::parse(cut, "cut")) << size;
  }
}

TEST(Safetensors, StaysInsideTheFileForEveryCorruptionOfOneHeaderByte) {
  const Bytes whole = file_with(kTwoTensors, 14);
  std::size_t refused = 0;
  for (std::size_t position = 0; position < whole.size() - 14; ++position) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes file = whole;
      file[position] = static_cast<std::uint8_t>(value);
      const auto files = TensorFiles::parse(file, "corrupt");
      if (!files) {
        ++refused;
        EXPECT_EQ(files.error().cause.find('\n'), std::string::npos);
      } else {
        touch(*files);
      }
    }
  }
  EXPECT_GT(refused, (whole.size() - 14) * 128);
}

}  // namespace
}  // namespace tilewright
