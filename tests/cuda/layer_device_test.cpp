// The layer on a GPU against the reference in double. Without a GPU that the kernels are built for, every test is
// skipped and says why.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cpu/reference.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/layer_case.hpp"
#include "cuda/quantize_case.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "cuda/sm90/grouped_gemm.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright::cuda {
namespace {

class LayerOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = cuda_available();
    if (!status) GTEST_SKIP() << status.error().message();
  }
};

/// The layer of the case with these schedules, or its own, against the reference.
void expect_right(const LayerCase& test, const LayerSchedules* schedules = nullptr) {
  const LayerOutcome outcome = run_layer_case(test, schedules);
  EXPECT_LE(outcome.worst, 1.0) << test.name << ": " << outcome.where;
}

TEST_F(LayerOnDevice, AgreesWithTheReferenceWhateverTheShape) {
  for (const LayerCase& test : shape_cases()) expect_right(test);
}

TEST_F(LayerOnDevice, AgreesWithTheReferenceUnderEverySchedule) {
  LayerCase test = shape_cases().front();
  test.tokens = 96;
  for (const sm90::BuiltGemm& gemm1 : sm90::built_gemms()) {
    if (gemm1.schedule.epilogue != Epilogue::gated_bf16) continue;
    for (const sm90::BuiltGemm& gemm2 : sm90::built_gemms()) {
      if (gemm2.schedule.epilogue != Epilogue::finalize) continue;
      const LayerSchedules schedules{gemm1.schedule, gemm2.schedule};
      expect_right(test, &schedules);
    }
  }
}

TEST_F(LayerOnDevice, AgreesWithTheReferenceOnSm120KernelsWhateverTheShape) {
  for (const LayerCase& test : sm120_cases()) expect_right(test);
}

TEST_F(LayerOnDevice, AgreesWithTheReferenceUnderEveryTileOfSm120) {
  for (LayerCase test : sm120_cases()) {
    if (test.name.rfind("plain", 0) != 0) continue;
    test.tokens = 96;
    const Epilogue ending = test.static_scales ? Epilogue::gated_nvfp4 : Epilogue::gated_bf16;
    for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
      if (gemm.policy != sm120::MmaPolicy::emulated || gemm.deepest.epilogue != ending) continue;
      if (gemm.deepest.precision != test.kernels.precision) continue;
      LayerSchedules schedules{gemm.deepest, gemm.deepest};
      schedules.gemm2.epilogue = Epilogue::finalize;
      schedules.gemm2.stages = 2;
      // A gate halves what pingpong groups stage: of one tile of w4a16 nothing else fits.
      if (!sm120::find_gemm(schedules.gemm2, gemm.policy)) schedules.gemm2.roles.consumers = Consumers::cooperative;
      expect_right(test, &schedules);
      schedules.gemm2.split.kind = SplitKind::stream_k;
      schedules.gemm1.split.kind = SplitKind::stream_k;
      if (sm120::takes(gemm, schedules.gemm1)) expect_right(test, &schedules);
    }
  }
}

TEST_F(LayerOnDevice, GivesTheSameBitsInAHundredRunsOfAGraph) {
  for (LayerCase test : {shape_cases().front(), sm120_cases().front(), sm120_cases().back()}) {
    for (const int tokens : {1, 33, 600}) {
      test.tokens = tokens;
      EXPECT_EQ(distinct_outputs_of_graph(test, 100), 1) << test.name << ", " << tokens << " tokens";
    }
  }
}

TEST_F(LayerOnDevice, QuantizesActivationsToTheCpusBits) {
  for (const QuantizeCase& test : quantize_cases()) {
    const QuantizeOutcome outcome = run_quantize_case(test);
    EXPECT_EQ(outcome.other_blocks, 0) << test.name << " of " << outcome.blocks;
    EXPECT_EQ(outcome.other_scales, 0) << test.name;
    EXPECT_EQ(outcome.dirty_padding, 0) << test.name;
  }
}

TEST_F(LayerOnDevice, RoutesAsTheCpuDoesBitForBit) {
  for (const RoutingCase& test : routing_cases()) {
    const RoutingOutcome outcome = run_routing_case(test);
    EXPECT_EQ(outcome.other_ids, 0) << test.name;
    EXPECT_EQ(outcome.other_weights, 0) << test.name;
  }
}

TEST_F(LayerOnDevice, RefusesBatchesThatCannotRunBeforeItStarts) {
  const LayerCase test = shape_cases().front();
  const CudaLayer layer = make_layer(test);
  const DeviceMemory memory(layer.workspace_bytes(4));
  CudaBatch batch;
  EXPECT_TRUE(layer.run(batch, nullptr, nullptr)) << "no tokens are no work";
  batch.tokens = 4;
  EXPECT_EQ(layer.run(batch, memory.as<void>(), nullptr).error().code, ErrorCode::invalid_argument);
  batch.x = batch.y = memory.as<void>();
  EXPECT_EQ(layer.run(batch, memory.as<void>(), nullptr).error().code, ErrorCode::invalid_argument);
  batch.ids = memory.as<std::int32_t>();
  batch.weights = memory.as<float>();
  EXPECT_EQ(layer.run(batch, nullptr, nullptr).error().code, ErrorCode::invalid_argument);
  batch.top_k = 1 << 28;
  EXPECT_EQ(layer.run(batch, memory.as<void>(), nullptr).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright::cuda
