// Published files: what is read, what is left out, what is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tilewright/published.hpp"

namespace tilewright {
namespace {

constexpr const char* kHeader =
    "framework,version,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution,latency_us\n";

Result<PublishedFile> parse_row(const std::string& row) { return parse_published(kHeader + row + "\n"); }

TEST(PublishedCsv, ReadsALayerWhateverTheOrderOfItsColumns) {
  const auto file = parse_published(
      "latency_us,note,framework,version,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution\n"
      "526.4,x,TRTLLM,1.3.0rc20,moe_torch_flow_cutlass,32,6144,2048,8,256,1,8,power_law_1.2\n");
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->layers.size(), 1U);
  const PublishedLayer& layer = file->layers.front();
  EXPECT_EQ(layer.kernel, "moe_torch_flow_cutlass");
  EXPECT_EQ(layer.tokens, 32);
  EXPECT_EQ(layer.hidden, 6144);
  EXPECT_EQ(layer.intermediate, 2048);
  EXPECT_EQ(layer.ep, 8);
  EXPECT_DOUBLE_EQ(layer.alpha, 1.2);
  EXPECT_DOUBLE_EQ(layer.us, 526.4);
  EXPECT_EQ(layer.format, PeerFormat::nvfp4);
}

TEST(PublishedCsv, RefusesALineWithItsNumberAndTheField) {
  const struct {
    const char* row;
    const char* message;
  } cases[] = {
      {"A,1,k,0,64,64,1,4,1,1,balanced,5", "line 2: tokens is \"0\""},
      {"A,1,k,3,64,64,1,4,1,1,balanced,fast", "line 2: latency_us is \"fast\""},
      {"A,1,k,3,64,64,1,4,1,1,balanced,-5", "line 2: latency_us is \"-5\""},
      {"A,1,k,3,64,64,1,4,1,3,balanced,5", "line 2: ep is \"3\""},
      {"A,1,k,3,64,65,1,4,2,1,balanced,5", "line 2: tp is \"2\""},
      {"A,1,k,3,64,64,5,4,1,1,balanced,5", "fewer experts than a token takes"},
      {"A,1,k,3,64,64,1,4,1,1,zipf,5", "line 2: distribution is \"zipf\""},
      {"A,1,k,3,64,64,1,4,1,1,power_law_1.0,5", "line 2: distribution is \"power_law_1.0\""},
      {"A,1,k,3,64,64,1,4,1,1,balanced", "line 2: 11 fields, and the first line has 12"},
  };
  for (const auto& c : cases) {
    const auto file = parse_row(c.row);
    ASSERT_FALSE(file) << c.row;
    EXPECT_EQ(file.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(file.error().message().find(c.message), std::string::npos) << file.error().message();
  }
  EXPECT_FALSE(parse_published(""));
  EXPECT_NE(parse_published("framework,version\n").error().message().find("no column \"kernel\""), std::string::npos);
}

TEST(PublishedCsv, TakesTheLayersOutOfAFileOfMeasurementsAndCountsTheRest) {
  std::ifstream in(std::string(TILEWRIGHT_TEST_DATA) + "/published/measurements.csv", std::ios::binary);
  const auto file = parse_published(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(file) << file.error().message();
  std::int64_t fp8 = 0;
  for (const PublishedLayer& layer : file->layers) {
    EXPECT_EQ(layer.hidden, 6144);
    EXPECT_EQ(layer.intermediate, 2048);
    EXPECT_NE(find_peer_stack(layer.framework, layer.version, layer.kernel, layer.format), nullptr) << layer.kernel;
    fp8 += layer.format == PeerFormat::fp8 ? 1 : 0;
  }
  EXPECT_EQ(file->layers.size(), 56U);
  EXPECT_EQ(fp8, 14);
  std::int64_t left_out = 0;
  for (const LeftOut& other : file->left_out) left_out += other.rows;
  EXPECT_EQ(left_out, 28);  // 21 of 16-bit activations, 3 dense, 2 of another architecture, 2 read in a text
}

}  // namespace
}  // namespace tilewright
