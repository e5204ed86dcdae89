// Slices of a layer: whatever the degrees, the ranks together hold the whole.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "checkpoint/layer_fixture.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

Checkpoint open_set(const TensorSet& set, const TemporaryDirectory& directory) {
  const Status written = write_safetensors(directory.file("model.safetensors"), set.tensors());
  if (!written) throw std::runtime_error(written.error().message());
  auto checkpoint = Checkpoint::open(directory.path().string());
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message());
  return *checkpoint;
}

Checkpoint write_layer(const LayerBytes& layer, const TemporaryDirectory& directory) {
  TensorSet set;
  add_single(set, layer, "model.layers.0.mlp.experts", Dialect::modelopt);
  return open_set(set, directory);
}

/// Rows of a matrix as ranks hand them out: codes and scales, a vector a row.
struct Rows {
  std::vector<std::vector<std::uint8_t>> codes;
  std::vector<std::vector<std::uint8_t>> scales;
};

Rows read_all(const Nvfp4Matrix& matrix) {
  Rows rows;
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    rows.codes.emplace_back(static_cast<std::size_t>(matrix.cols / 2), std::uint8_t{0xEE});
    rows.scales.emplace_back(static_cast<std::size_t>(matrix.cols / 16), std::uint8_t{0xEE});
    matrix.read_row(r, rows.codes.back().data(), rows.scales.back().data());
  }
  return rows;
}

void stack_rows(Rows& whole, const Rows& part) {
  whole.codes.insert(whole.codes.end(), part.codes.begin(), part.codes.end());
  whole.scales.insert(whole.scales.end(), part.scales.begin(), part.scales.end());
}

void join_columns(Rows& whole, const Rows& part) {
  if (whole.codes.empty())
    whole = Rows{std::vector<std::vector<std::uint8_t>>(part.codes.size()),
                 std::vector<std::vector<std::uint8_t>>(part.codes.size())};
  for (std::size_t r = 0; r < part.codes.size(); ++r) {
    whole.codes[r].insert(whole.codes[r].end(), part.codes[r].begin(), part.codes[r].end());
    whole.scales[r].insert(whole.scales[r].end(), part.scales[r].begin(), part.scales[r].end());
  }
}

/// `whole` is `expected` with padding of zeros after its rows (or columns).
bool equals_padded(const Rows& whole, const MatrixBytes& expected) {
  const auto matches = [](const std::vector<std::vector<std::uint8_t>>& rows, const std::vector<std::uint8_t>& bytes,
                          std::size_t valid_rows) {
    const std::size_t width = bytes.size() / valid_rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) {
        const bool valid = r < valid_rows && c < width;
        if (rows[r][c] != (valid ? bytes[r * width + c] : 0)) return false;
      }
    }
    return rows.size() >= valid_rows && rows.front().size() >= width;
  };
  const auto rows = static_cast<std::size_t>(expected.rows);
  return matches(whole.codes, expected.codes, rows) && matches(whole.scales, expected.scales, rows);
}

/// How the layer of a property stands in its file.
enum class Layout { single, stacked, transposed, interleaved, interleaved_transposed };

Checkpoint write_layout(const LayerBytes& layer, Layout layout, const TemporaryDirectory& directory) {
  if (layout == Layout::single) return write_layer(layer, directory);
  const bool interleaved = layout == Layout::interleaved || layout == Layout::interleaved_transposed;
  const bool transposed = layout == Layout::transposed || layout == Layout::interleaved_transposed;
  TensorSet set;
  add_stacked(set, layer, "model.layers.0.mlp.experts", interleaved ? RowOrder::interleaved : RowOrder::gate_then_up,
              transposed ? Order::transposed : Order::plain);
  if (interleaved) {
    static_cast<void>(directory.write(
        "config.json", R"({"model_type": "gpt_oss", "num_experts_per_tok": 1, "swiglu_limit": 7.0, "hidden_size": )" +
                           std::to_string(layer.hidden) +
                           ", \"intermediate_size\": " + std::to_string(layer.intermediate) +
                           ", \"num_local_experts\": " + std::to_string(layer.experts.size()) + "}"));
  }
  return open_set(set, directory);
}

/// The ranks' parts of one expert, joined, are the expert.
bool joined_equals(const std::vector<ExpertWeights>& ranks, std::size_t local, const ExpertBytes& expected,
                   bool gated) {
  Rows gate;
  Rows up;
  Rows down;
  for (const ExpertWeights& rank : ranks) {
    if (gated) stack_rows(gate, read_all(rank.experts[local].gate));
    stack_rows(up, read_all(rank.experts[local].up));
    join_columns(down, read_all(rank.experts[local].down));
  }
  return (!gated || equals_padded(gate, expected.gate)) && equals_padded(up, expected.up) &&
         equals_padded(down, expected.down);
}

std::vector<ExpertWeights> load_tensor_ranks(const Checkpoint& checkpoint, int tp, int ep, int ep_rank) {
  std::vector<ExpertWeights> ranks;
  for (int tp_rank = 0; tp_rank < tp; ++tp_rank) {
    const auto weights = checkpoint.load_layer(0, Slice{tp, tp_rank, ep, ep_rank, TpPadding::pad_to_blocks});
    RC_ASSERT(weights.has_value());
    ranks.push_back(*weights);
  }
  return ranks;
}

TEST(Slicing, RanksTogetherHoldTheWholeLayer) {
  EXPECT_TRUE(rc::check([] {
    const auto layout = *rc::gen::element(Layout::single, Layout::stacked, Layout::transposed, Layout::interleaved,
                                          Layout::interleaved_transposed);
    const bool gated = layout != Layout::single || *rc::gen::arbitrary<bool>();
    const int experts = *rc::gen::inRange(2, 8);
    const std::int64_t intermediate = 16 * *rc::gen::inRange(1, 9);
    const int ep = *rc::gen::inRange(1, experts + 1);
    const int tp = *rc::gen::inRange(1, 7);
    const LayerBytes layer = random_layer(experts, 32, intermediate, gated, *rc::gen::arbitrary<unsigned>());
    const TemporaryDirectory directory;
    const Checkpoint checkpoint = write_layout(layer, layout, directory);

    int next_expert = 0;
    for (int ep_rank = 0; ep_rank < ep; ++ep_rank) {
      const std::vector<ExpertWeights> ranks = load_tensor_ranks(checkpoint, tp, ep, ep_rank);
      const auto local = ranks.front().experts.size();
      RC_ASSERT(local == static_cast<std::size_t>(experts / ep + (ep_rank < experts % ep ? 1 : 0)));
      for (const ExpertWeights& rank : ranks) {
        RC_ASSERT(rank.first_expert == next_expert);
        RC_ASSERT(rank.global_experts == experts);
        RC_ASSERT(rank.intermediate == (intermediate + 16 * tp - 1) / (16 * tp) * 16);
      }
      for (std::size_t e = 0; e < local; ++e, ++next_expert) {
        RC_ASSERT(joined_equals(ranks, e, layer.experts[static_cast<std::size_t>(next_expert)], gated));
      }
    }
    RC_ASSERT(next_expert == experts);
  }));
}

TEST(Slicing, RefusesToCutABlockAndNamesIt) {
  // Nemotron-3-Nano's 1856 over 8 ranks is 232 = 14.5 blocks.
  const TemporaryDirectory directory;
  const Checkpoint checkpoint = write_layer(random_layer(1, 16, 1856, false, 3), directory);
  const auto refused = checkpoint.load_layer(0, Slice{8, 0, 1, 0, TpPadding::refuse});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  for (const char* part : {"layer 0", "1856", "8 tensor-parallel", "232", "channels 224 to 239"}) {
    EXPECT_NE(refused.error().cause.find(part), std::string::npos) << part << " in: " << refused.error().message();
  }
  EXPECT_NE(refused.error().remedy.find("240"), std::string::npos) << refused.error().message();

  const auto padded = checkpoint.load_layer(0, Slice{8, 7, 1, 0, TpPadding::pad_to_blocks});
  ASSERT_TRUE(padded) << padded.error().message();
  EXPECT_EQ(padded->intermediate, 240);
  EXPECT_EQ(padded->experts[0].up.valid_rows, 1856 - 7 * 240);
  EXPECT_EQ(padded->experts[0].down.valid_cols, 1856 - 7 * 240);
}

TEST(Slicing, SplitsOnBlockBoundariesWithoutPadding) {
  // Gemma-4's 704 over 4 ranks is 176 = 11 blocks.
  const TemporaryDirectory directory;
  const Checkpoint checkpoint = write_layer(random_layer(1, 16, 704, true, 4), directory);
  const auto weights = checkpoint.load_layer(0, Slice{4, 3});
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_EQ(weights->intermediate, 176);
  EXPECT_EQ(weights->experts[0].gate.valid_rows, 176);
}

TEST(Slicing, NamesARankOrDegreeThatDoesNotExist) {
  const TemporaryDirectory directory;
  const Checkpoint checkpoint = write_layer(random_layer(3, 16, 32, true, 5), directory);
  for (const Slice& slice : {Slice{2, 2}, Slice{0, 0}, Slice{1, 0, 2, -1}, Slice{1, 0, 4, 0}}) {
    const auto weights = checkpoint.load_layer(0, slice);
    ASSERT_FALSE(weights);
    EXPECT_EQ(weights.error().code, ErrorCode::invalid_argument) << weights.error().message();
  }
}

/// What every rank of `ep` says that the layer's input scale is.
std::vector<std::optional<float>> layer_input_scales(const Checkpoint& checkpoint, int ep) {
  std::vector<std::optional<float>> scales;
  for (int rank = 0; rank < ep; ++rank) {
    const auto weights = checkpoint.load_layer(0, Slice{1, 0, ep, rank});
    EXPECT_TRUE(weights) << weights.error().message();
    scales.push_back(weights ? weights->layer_input_scale : std::nullopt);
  }
  return scales;
}

TEST(Slicing, EveryRankKnowsTheLargestInputScaleOfTheLayer) {
  for (const bool gated : {true, false}) {
    LayerBytes layer = random_layer(6, 32, 32, gated, 7);  // input scales of 2^-6 and less
    layer.experts[4].up.input_scale = 0.5F;
    layer.experts[1].down.input_scale = 2.0F;  // not of GEMM1
    for (const auto dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
      TensorSet set;
      add_single(set, layer, "model.layers.0.mlp.experts", dialect);
      const TemporaryDirectory directory;
      const Checkpoint checkpoint = open_set(set, directory);
      for (const int ep : {1, 3}) {
        EXPECT_EQ(layer_input_scales(checkpoint, ep), std::vector<std::optional<float>>(ep, 0.5F));
      }
    }
  }
}

TEST(Slicing, NoRankHasALayerInputScaleWhereNoExpertHasOne) {
  LayerBytes layer = random_layer(4, 32, 32, true, 8);
  for (ExpertBytes& expert : layer.experts) {
    for (MatrixBytes* matrix : {&expert.gate, &expert.up}) matrix->input_scale.reset();
  }
  const TemporaryDirectory directory;
  EXPECT_EQ(layer_input_scales(write_layer(layer, directory), 2), std::vector<std::optional<float>>(2));
}

TEST(Slicing, CountsRowsOfAnErrorAsTheFileDoes) {
  const LayerBytes layer = random_layer(1, 16, 64, true, 6);
  TensorSet set;
  add_single(set, layer, "model.layers.0.mlp.experts", Dialect::modelopt);
  set.change("model.layers.0.mlp.experts.0.up_proj.weight_scale", [](auto& bytes) { bytes[40] = 0x7F; });
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_safetensors(directory.file("model.safetensors"), set.tensors()));
  const auto checkpoint = Checkpoint::open(directory.path().string());
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->load_layer(0, Slice{2, 0}));  // rows 0 to 31 are sound
  const auto weights = checkpoint->load_layer(0, Slice{2, 1});
  ASSERT_FALSE(weights);
  EXPECT_NE(weights.error().cause.find("row 40"), std::string::npos) << weights.error().message();
}

}  // namespace
}  // namespace tilewright::testing
