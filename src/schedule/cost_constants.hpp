// The constants of the cost model that do not belong to a device, each with where it comes from. [measured]: by this
// project or in a public report; [derived]: from measured numbers by the arithmetic given; [calibrated]:
// chosen so that predictions fit measured layers, the set is named; [assumed]: none of these.
#pragma once

namespace tilewright::schedule {

// DRAM latency under load, ns. [assumed]; the same for all GPUs.
inline constexpr double kDramLatencyNs = 750.0;

// Shared memory: bytes a clock and SM, all SM90 to SM12x (CUDA C++ Programming Guide: 32 banks of 4 bytes).
inline constexpr double kSmemBytesPerClk = 128.0;

// Weights a clock and SM that an RS kernel's decoder turns into bf16. [derived] on an H200: 10 ALU operations a warp
// and m64k16 step (256 weights), each of which holds its sub-core's port for 2 cycles, on 4 sub-cores: 51; 0.85 of it,
// since a decoder of 20 operations, whose bound is 3.5 TB/s, was measured at 2.8 to 3.1 TB/s.
inline constexpr double kDecodedWeightsPerClk = 0.85 * 4.0 * 256.0 / (10.0 * 2.0);

// What a k-block costs a consumer besides its operands: waiting at barriers, draining the MMA pipe. Cycles, divided by
// the square root of the stages. SM12x: https://github.com/deepseek-ai/DeepGEMM, branch nv_dev, SM120 cycle model. SM90
// [derived]: K steps of 128 instead of 512 cost 15 % of the 4,190 cycles that 256 x 512 weights take an H200 at two
// stages.
inline constexpr double kBlockOverheadSm12x = 120.0;
inline constexpr double kBlockOverheadSm90 = 220.0;

// Fixed part of an epilogue: named barriers and address arithmetic, cycles. [derived]: the 2,000 cycles of the same
// SM120 model for 128 x 128 tiles, less the bytes that are counted here.
inline constexpr double kEpilogueCycles = 500.0;

// Launch of a kernel inside a CUDA graph, us. [derived]: the best whole layers start at 20 us for one token (INT4
// Marlin on an RTX PRO 6000) with five kernels a layer.
inline constexpr double kLaunchUs = 4.0;

// How DRAM time and SM time join: the norm of this order. 1 would be no overlap, infinity a perfect one. [assumed]
inline constexpr double kOverlapOrder = 4.0;

// How decoding and multiplying of a k-block join on SM90: as above. A kernel that drains its MMA at each stage's end
// fits a plain sum (118.8, 131, 143, 190 and 298 us measured for 8 to 128 tokens against 119, 128, 149, 201 and 318),
// one that decodes between MMAs comes close to the larger one (758 TFLOP/s for 128 tokens). [assumed] between the two.
inline constexpr double kDecodeOverlapOrder = 3.0;

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
