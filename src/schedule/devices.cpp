// The GPUs known by name. Where a source is not repeated beside a number it is this one:
//
//   SM counts, clocks, DRAM, dense TFLOP/s of H100, H200, B200, B300, RTX PRO 6000 Server:
//     https://github.com/ai-dynamo/aiconfigurator/tree/095f58a51c4c/aic-core/src/aiconfigurator_core/systems and
//     https://github.com/stas00/ml-engineering/blob/744d01e1/compute/accelerator/README.md (both cite NVIDIA's data
//     sheets)
//   shared memory a SM and reserved a block, registers, blocks a SM: CUDA 13.0's cuda_occupancy.h
//   shared memory a block: CUTLASS include/cutlass/arch/arch.h
//   FLOP a clock and SM: SM90 4096 bf16, SM100 8192 bf16, SM12x 1024 bf16:
//     https://github.com/NVIDIA/cudnn-frontend/pull/650 (132 x 1.83 GHz x 4096 = 989.5 TFLOP/s); fp8 is twice and
//     SM100's fp4 four times that; SM120's 4096 fp4 measured: https://github.com/Neroued/ninfer/pull/160 (4094.8 to
//     4095.8)
//   L2 bytes a clock: min(64 SMs, 8e6 / 1.3e3) of DeepGEMM's SM90 heuristics; kSm12xL2Rate below for SM12x
#include <algorithm>

#include "tilewright/device.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// A L2 rate for SM12x is published nowhere that was found. 128 x 128 x 128 NVFP4 tiles need 18 B a clock and SM at full
// MMA rate, and 1629 of 1871 TFLOP/s were reached with them (https://github.com/NVIDIA/cutlass/pull/3272), so the L2
// gives at least 15.7; 20 is an estimate above that.
constexpr double kSm12xL2Rate = 20.0;
// 8e6 / 1.3e3 B a clock for 132 SMs: https://github.com/deepseek-ai/DeepGEMM (SM90 heuristics). Carried over to SM10x
// and SM110, whose L2 rates were not found, in proportion to their SMs.
constexpr double kSm90L2Rate = 8e6 / 1.3e3 / 132;
// [measured] on an H200 by `tilewright calibrate`: what all SMs read from the L2 in a clock.
constexpr double kHopperL2BytesPerClk = 4003;
// Share of the specified DRAM bandwidth to expect where nobody published a read rate: the Workstation's 1525 of 1792.
constexpr double kUnmeasuredReadShare = 0.85;

Device gpu(const char* name, const char* title, Arch arch, int sms, int clock_mhz) {
  const bool sm12x = kernel_arch(arch) == Arch::sm_120;
  Device device;
  device.name = name;
  device.title = title;
  device.arch = arch;
  device.sm_count = sms;
  device.clock_mhz = clock_mhz;
  device.smem_per_sm = sm12x ? 102400 : 233472;
  device.smem_per_block = smem_per_block(arch);
  device.smem_reserved = 1024;
  device.registers_per_sm = 65536;
  device.registers_per_thread = 255;
  device.max_blocks_per_sm = sm12x || arch == Arch::sm_110 ? 24 : 32;
  device.l2_bytes_per_clk = sms * (sm12x ? kSm12xL2Rate : kSm90L2Rate);
  return device;
}

void set_memory(Device& device, std::int64_t l2_bytes, double spec_GBps, double read_GBps) {
  device.l2_bytes = l2_bytes;
  device.dram_GBps = spec_GBps;
  device.dram_read_measured = read_GBps > 0;
  device.dram_read_GBps = device.dram_read_measured ? read_GBps : kUnmeasuredReadShare * spec_GBps;
}

void set_tensor_cores(Device& device, TensorRates rates, double mma_share) {
  device.flop_per_clk = rates;
  device.mma_share = mma_share;
}

// Each share below is what the best kernel reached, with the barriers of its k-blocks (cost_constants.hpp) taken out.
// H100 and H200: an RS kernel on an H200 ran at 814 of 989 TFLOP/s with tiles of 128 x 256 x 64 and at 758 with 128 x
// 128 x 64; 0.9 less 220 / sqrt(4) cycles a k-block is both.
std::vector<Device> hopper() {
  Device h100 = gpu("h100", "NVIDIA H100 SXM", Arch::sm_90, 132, 1830);
  set_memory(h100, 50 * kMiB, 3350, 2985);  // 2970 to 3000 read by INT4 Marlin MoE (aiconfigurator)
  set_tensor_cores(h100, {0, 8192, 4096}, 0.90);
  Device h200 = gpu("h200", "NVIDIA H200 SXM", Arch::sm_90, 132, 1830);
  // L2 is 50 MB by data sheet; torch reports 60 MB: https://github.com/deepseek-ai/DeepGEMM/issues/107. The smaller one
  // is safe. 4612 GB/s measured read-only by `tilewright calibrate`; others report 4310 to 4430.
  set_memory(h200, 50 * kMiB, 4800, 4610);
  // Long GEMMs draw so much power that clocks fall: cuBLAS in bf16 on one H200 reaches 770 TFLOP/s at 8192^3, 732 to
  // 743 at 16384 x 4096 x 6144. Those of regret-trials.json (cost_constants.hpp), up to 1 ms, agree with this share.
  set_tensor_cores(h200, {0, 8192, 4096}, 0.90);
  h100.l2_bytes_per_clk = h200.l2_bytes_per_clk = kHopperL2BytesPerClk;
  return {h100, h200};
}

// B200, B300 and Thor: tcgen05.
std::vector<Device> datacenter_blackwell() {
  Device b200 = gpu("b200", "NVIDIA B200 SXM", Arch::sm_100, 148, 1850);
  // L2 126.5 MB, 7680 bit x 3996 MHz: https://github.com/pytorch/ao/pull/4002 (7672; others say 7700 to 8000). 7250 by
  // TRTLLM-gen.
  set_memory(b200, 126 * kMiB + kMiB / 2, 7672, 7250);
  set_tensor_cores(b200, {32768, 16384, 8192}, 0.69);  // 6242 of 9000 TFLOP/s: https://github.com/gau-nernst/gn-kernels
  Device b300 =
      gpu("b300", "NVIDIA B300 SXM", Arch::sm_103, 148, 1920);  // 148: https://github.com/sgl-project/sglang/pull/38215
  set_memory(b300, 126 * kMiB + kMiB / 2, 7750, 7110);          // L2 as the B200's: none was found
  // 14 PFLOP/s is the middle of 12.6, 14 and 15 that are claimed; no published GEMM passes 6.24 PFLOP/s.
  set_tensor_cores(b300, {49152, 16384, 8192}, 0.45);
  Device thor =
      gpu("thor", "NVIDIA Jetson Thor", Arch::sm_110, 20, 1575);  // NVIDIA's product page; 2070 sparse TFLOP/s
  set_memory(thor, 32 * kMiB, 273, 0);
  set_tensor_cores(thor, {32768, 0, 0}, 0.69);  // share as on the B200; fp8 and bf16 were not found
  return {b200, b300, thor};
}

// RTX PRO 6000. 1629 of 1871 TFLOP/s dense on the Server edition (https://github.com/NVIDIA/cutlass/pull/3272), 0.87.
std::vector<Device> rtx_pro_6000() {
  constexpr double kShare = 0.91;
  const TensorRates rates = {4096, 2048, 1024};
  Device server = gpu("rtx-pro-6000-server", "NVIDIA RTX PRO 6000 Blackwell Server Edition", Arch::sm_120, 188, 2430);
  // 1597 (https://github.com/sgl-project/sglang/issues/33711) and not 1792: three kernels flatten at 1512 to 1522.
  set_memory(server, 128 * kMiB, 1597, 1512);
  set_tensor_cores(server, rates, kShare);
  Device workstation =
      gpu("rtx-pro-6000-workstation", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", Arch::sm_120, 188, 2617);
  set_memory(workstation, 128 * kMiB, 1792, 1525);
  set_tensor_cores(workstation, rates, kShare);
  Device max_q =
      gpu("rtx-pro-6000-max-q", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", Arch::sm_120, 188, 2280);
  set_memory(max_q, 128 * kMiB, 1792, 0);  // clock from 3511 sparse TFLOP/s, NVIDIA's product page
  set_tensor_cores(max_q, rates, kShare);
  return {server, workstation, max_q};
}

// GeForce and GB10: fp8 and bf16 run at half rate with fp32 accumulation, fp4 at full rate.
std::vector<Device> other_sm12x() {
  const TensorRates geforce = {4096, 1024, 512};
  Device rtx5090 = gpu("rtx-5090", "NVIDIA GeForce RTX 5090", Arch::sm_120, 170, 2407);
  set_memory(rtx5090, 96 * kMiB, 1792, 1509);  // a copy, read and write: https://github.com/gau-nernst/gn-kernels
  // 1306 of 1676, 0.78: the boost clock is 2407 MHz, and 2.87 to 2.91 GHz are seen in kernels (same source).
  set_tensor_cores(rtx5090, geforce, 0.82);
  Device rtx5080 = gpu("rtx-5080", "NVIDIA GeForce RTX 5080", Arch::sm_120, 84, 2617);  // arXiv 2507.10789
  set_memory(rtx5080, 64 * kMiB, 960, 0);
  set_tensor_cores(rtx5080, geforce, 0.82);
  Device gb10 = gpu("gb10", "NVIDIA GB10 (DGX Spark)", Arch::sm_121, 48, 2540);  // clock from 1 PFLOP/s sparse
  // 273 GB/s; 24 MB of L2 are not verified. 225 to 234 read: https://github.com/flashinfer-ai/flashinfer/issues/4990.
  set_memory(gb10, 24 * kMiB, 273, 227);
  // Share and bf16 as on the 5090, for want of a source; fp8 was not found.
  set_tensor_cores(gb10, {4096, 0, geforce.bf16}, 0.82);
  return {rtx5090, rtx5080, gb10};
}

}  // namespace

const std::vector<Device>& known_devices() {
  static const std::vector<Device> devices = [] {
    std::vector<Device> all;
    for (const auto& group : {hopper(), datacenter_blackwell(), rtx_pro_6000(), other_sm12x()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return devices;
}

}  // namespace tilewright
