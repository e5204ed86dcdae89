// The constants of the cost model that do not belong to a device, each with where it comes from. [measured]: by this
// project or in a public report; [derived]: from measured numbers by the arithmetic given; [calibrated]:
// chosen so that predictions fit measured layers, the set is named; [assumed]: none of these.
#pragma once

namespace tilewright::schedule {

// DRAM latency under load, ns. [assumed]; the same for all GPUs.
inline constexpr double kDramLatencyNs = 750.0;

// Shared memory: bytes a clock and SM, all SM90 to SM12x (CUDA C++ Programming Guide: 32 banks of 4 bytes).
inline constexpr double kSmemBytesPerClk = 128.0;

// Weights a clock and SM that an RS kernel's decoder turns into bf16: the 1,024 of an m64k16 step in 24 cycles.
// [measured] on an H200 with kDecodeOverlapOrder: a step of 8, 16, 32, 64 and 128 columns takes 26.6, 28.5, 32.9, 40.2
// and 67 cycles (docs/kernels/sm90.md), the norm of 24 and of the wgmma's 13, 13, 16, 32 and 64.
inline constexpr double kDecodedWeightsPerClk = 1024.0 / 24.0;

// Share of that rate that a whole kernel keeps, whose consumers also wait for stages and hand them back. [calibrated]
// on the fitting half of bench/results/h200/regret-trials.json, as are kEpilogueCyclesSm90, kStagedGroupCycles,
// kStreamKHandoverUs, kPartialTileUs, kArrangeLaunchUs and kArrangeShare: 30 cycles an m64k16 step.
inline constexpr double kDecodeShare = 0.80;

// The same of an mma.sync kernel on SM12x, for each column of warps that decodes them. [derived] from its machine code:
// 64 codes of a lane take 168 instructions (8 registers of 7 shifts, 8 logic operations and 4 products, 4 pairs of
// scales of 4), and a SM issues 128 lanes a clock (docs/kernels/sm120.md).
inline constexpr double kDecodedWeightsPerClkSm12x = 128.0 * 64.0 / 168.0;

// Columns whose wgmma takes as long as the shortest one: 13 cycles an m64k16 step, at the share of the peak that power
// leaves to long ones. [measured] likewise
inline constexpr double kLeastWgmmaColumns = 20.0;

// What a k-block costs a consumer besides its operands: waiting at barriers, draining the MMA pipe. Cycles, divided by
// the square root of the stages. SM12x: https://github.com/deepseek-ai/DeepGEMM, branch nv_dev, SM120 cycle model. SM90
// [derived]: K steps of 128 instead of 512 cost 15 % of the 4,190 cycles that 256 x 512 weights take an H200 at two
// stages.
inline constexpr double kBlockOverheadSm12x = 120.0;
inline constexpr double kBlockOverheadSm90 = 220.0;

// Fixed part of an epilogue: named barriers and address arithmetic, cycles. [derived]: the 2,000 cycles of the same
// SM120 model for 128 x 128 tiles, less the bytes that are counted here.
inline constexpr double kEpilogueCycles = 500.0;

// The same of SM90's kernels, with the next tile's slot, whose first fragments nothing hides; and for each group of
// tokens that goes through the staging buffer between two barriers. [calibrated] as kDecodeShare
inline constexpr double kEpilogueCyclesSm90 = 1150.0;
inline constexpr double kStagedGroupCycles = 165.0;
inline constexpr int kStagedTokens = 32;  // of a group (src/cuda/sm90/gemm_shape.cuh)

// Putting GEMM1's tokens into tile order before it: the kernel's launch, us, and the share of the read bandwidth that
// its copies reach. [calibrated] likewise
inline constexpr double kArrangeLaunchUs = 1.0;
inline constexpr double kArrangeShare = 0.83;

// Launch of a kernel inside a CUDA graph, us. [derived]: the best whole layers start at 20 us for one token (INT4
// Marlin on an RTX PRO 6000) with five kernels a layer.
inline constexpr double kLaunchUs = 4.0;

// The same for a kernel that is launched before the one ahead of it has drained, and loads weights meanwhile: the SM90
// kernels of a layer. [measured] on an H200 by `tilewright calibrate`, empty kernels.
inline constexpr double kDependentLaunchUs = 0.49;

// What SM90 stream-K costs at the end of a GEMM, whether or not a tile is divided, us: blocks that begin anywhere in K
// start later, and meet at a flag. [calibrated] as kDecodeShare
inline constexpr double kStreamKHandoverUs = 3.05;
// What each part of a divided tile adds besides its bytes, us: a flag is seen, a barrier passed. [calibrated] likewise
inline constexpr double kPartialTileUs = 0.085;

// How DRAM time and SM time join: the norm of this order. 1 would be no overlap, infinity a perfect one. [assumed]
inline constexpr double kOverlapOrder = 4.0;

// How decoding and multiplying of a k-block join: as above. [measured] on SM90, with kDecodedWeightsPerClk
inline constexpr double kDecodeOverlapOrder = 2.0;

// L2 as the streams of small kernels see it. [calibrated] with the three constants of kernels below on the fitting half
// of the published SM120 layers (docs/model.md), where tensors of one replay are found again in the next.
// Share of the L2 that a stream can count on.
inline constexpr double kUsableL2Share = 0.9;
// The reuse distance, in usable L2s beyond the first, over which hits turn into misses.
inline constexpr double kL2FadeShare = 0.4;
// Share of the L2's rate that such streams reach, reads and writes together: 3.5 of 9.1 TB/s on an RTX PRO 6000 Server.
inline constexpr double kL2StreamShare = 0.383;

// A kernel among others in one CUDA graph, us: launch and drain of a peer's small kernels.
inline constexpr double kGraphKernelUs = 1.6;
// Finding a row its place in expert order, and its source and weight again in the combine, us a routed local row.
inline constexpr double kRowUs = 0.002;
// Preparing one expert's GEMM, done in turn, us.
inline constexpr double kExpertSetupUs = 0.04;
// What a tile of a CUTLASS grouped GEMM costs besides its k-blocks: the expert's descriptors, the first loads and the
// epilogue, cycles. [calibrated] as above; 512 experts of one row and 128 of K show 3 us.
inline constexpr double kGroupedTileCycles = 7000.0;

// CPU. A decoded weight costs what four multiply-adds of the dot product cost: one vector of weights takes four
// instructions (load, mask, shift, table look-up), where the dot product takes one. [derived]
inline constexpr double kCpuMacsPerDecodedWeight = 4.0;
// Expanding into a panel stores it and reads it again. [assumed]
inline constexpr double kCpuMacsPerExpandedWeight = 8.0;
// Share of the measured peak that a dot-product loop keeps: loads of activations and scales. [assumed]
inline constexpr double kCpuDotShare = 0.8;
// Loading and storing the accumulators of a row and strip once a panel, in multiply-adds: four vector instructions.
inline constexpr double kCpuMacsPerAccumulatorPass = 256.0;
// Waking the threads for one parallel loop, us. [assumed]
inline constexpr double kCpuLaunchUs = 5.0;

}  // namespace tilewright::schedule
