// The time of a peer's layer against arithmetic and what must hold for any layer.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/cache_reuse.hpp"
#include "tilewright/published.hpp"

namespace tilewright {
namespace {

Device server() { return find_device("rtx-pro-6000-server").value(); }

PublishedLayer glm5(std::int64_t tokens, int tp, int ep, double alpha = 0.0) {
  PublishedLayer layer;
  layer.tokens = tokens;
  layer.hidden = 6144;
  layer.intermediate = 2048;
  layer.top_k = 8;
  layer.experts = 256;
  layer.tp = tp;
  layer.ep = ep;
  layer.alpha = alpha;
  return layer;
}

const PeerStack& flashinfer() { return *find_peer_stack("SGLang", "0.5.14", "sglang_flashinfer_cutlass_moe"); }

TEST(CacheReuse, TakesFromDramWhatTheL2HasLost) {
  const Device device = server();
  const schedule::MemoryPath memory(device);
  const auto l2 = static_cast<double>(device.l2_bytes);
  EXPECT_DOUBLE_EQ(memory.miss_share(0.9 * l2), 0.0);
  EXPECT_NEAR(memory.miss_share(0.9 * 1.2 * l2), 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(memory.miss_share(1.3 * l2), 1.0);
  EXPECT_DOUBLE_EQ(memory.us(1512e3, 1e12), 1.0);              // 1512 GB/s
  EXPECT_NEAR(memory.us(1512e3, 0.0), 1512.0 / 3499.4, 1e-3);  // 0.383 of 20 B a clock and SM
  EXPECT_GT(schedule::MemoryPath(find_device("h200").value()).us(1e6, 0.0), 0.0);
}

TEST(PeerTime, ReadsEveryActiveExpertOnceAtTheMeasuredBandwidth) {
  const PeerTime time = predict_published(server(), flashinfer(), glm5(32, 1, 1));
  // 256 experts of 3 x 6144 x 2048 weights in 4.5 bits.
  EXPECT_EQ(time.weight_bytes, std::int64_t{256} * 3 * 6144 * 2048 * 9 / 16);
  const double weights_us = static_cast<double>(time.weight_bytes) / 1512e3;
  EXPECT_GT(time.gemm1_us + time.gemm2_us, weights_us);
  EXPECT_LT(time.us, 1.1 * weights_us);
}

TEST(PeerTime, IsFasterThanDramWhereAReplayFindsTheWeightsInL2) {
  // One expert: 21 MB. The same bytes do not fit a device without an L2 to speak of.
  const PeerTime warm = predict_published(server(), flashinfer(), glm5(1, 1, 256));
  Device cold_device = server();
  cold_device.l2_bytes = 1;
  const PeerTime cold = predict_published(cold_device, flashinfer(), glm5(1, 1, 256));
  const double saved = static_cast<double>(warm.weight_bytes) * (1 / 1512e3 - 1 / 3499.4e3);
  EXPECT_LE(cold.us - warm.us, saved + 0.1);  // and a little for the token's own bytes
  EXPECT_GE(cold.us - warm.us, 0.7 * saved);  // part of the reading hides behind the tiles
}

TEST(PeerTime, PartsSumToTheWhole) {
  for (const PeerStack& stack : peer_stacks()) {
    const PeerTime t = predict_published(server(), stack, glm5(4096, 2, 4, 1.2));
    EXPECT_NEAR(t.us,
                t.fixed_us + t.routing_us + t.quantize_us + t.gemm1_us + t.activation_us + t.gemm2_us + t.combine_us,
                1e-9 * t.us)
        << stack.kernel;
  }
}

TEST(PeerTime, TakesTheHistogramAndNotTheMean) {
  // The same rows on fewer experts: fewer weights in decode; more tiles that are not full in prefill.
  PeerLayer even{6144, 2048, true, 256, 8, 256, {{{8, 256}}}};
  PeerLayer skewed = even;
  skewed.rows.bins = {{16, 128}, {0, 128}};
  EXPECT_LT(predict_peer(server(), flashinfer(), skewed).us, 0.6 * predict_peer(server(), flashinfer(), even).us);
  PeerLayer full{6144, 2048, true, 16384, 8, 256, {{{512, 256}}}};
  PeerLayer ragged = full;
  ragged.rows.bins = {{895, 128}, {129, 128}};
  EXPECT_GT(predict_peer(server(), flashinfer(), ragged).gemm1_us,
            1.1 * predict_peer(server(), flashinfer(), full).gemm1_us);
}

TEST(PeerTime, GrowsWithTheTokensAndShrinksWithTheEfficiency) {
  EXPECT_TRUE(rc::check("monotone", [] {
    const PeerStack& stack = peer_stacks()[*rc::gen::inRange<std::size_t>(0, peer_stacks().size())];
    const int tp = *rc::gen::element(1, 2, 4, 8);
    const int ep = *rc::gen::element(1, 2, 8, 64);
    const auto tokens = *rc::gen::inRange<std::int64_t>(64, 8192);
    const double us = predict_published(server(), stack, glm5(tokens, tp, ep)).us;
    RC_ASSERT(predict_published(server(), stack, glm5(2 * tokens, tp, ep)).us >= us);
    PeerStack faster = stack;
    faster.efficiency *= 1.25;
    RC_ASSERT(predict_published(server(), faster, glm5(tokens, tp, ep)).us <= us);
  }));
}

}  // namespace
}  // namespace tilewright
