// Which PTX instructions a target may contain. Asked of ptxas 13.0.88, target by target
// (tests/schedule/ptxas_test.cpp asks again); NVIDIA documents no such table in one place.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/targets.hpp"

namespace tilewright {
namespace {

std::vector<int> blackwell() { return {100, 103, 110, 120, 121}; }
std::vector<int> tensor_memory_archs() { return {100, 103, 110}; }
std::vector<int> sm12x() { return {120, 121}; }
std::vector<int> hopper_and_blackwell() { return {90, 100, 103, 110, 120, 121}; }

std::vector<TargetInstruction> make_instructions() {
  return {
      {"mma.block_scale",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
       "native NVFP4 products on SM12x", 0, sm12x()},
      {"mma.block_scale.mxf8f6f4",
       "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
       "native MXFP8 products on SM12x", 0, sm12x()},
      {"mma.f8f6f4", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
       "FP4 and FP6 products without block scales on SM12x", 0, sm12x()},
      {"mma.fp8", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "FP8 products by mma.sync", 89, {}},
      {"mma.bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16 products by mma.sync", 80, {}},
      {"wgmma", "wgmma.fence.sync.aligned", "Hopper's warpgroup products", 0, {90}, true},
      {"tcgen05", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
       "tensor memory and the products that use it, on SM10x and SM110", 0, tensor_memory_archs()},
      {"cvt.e2m1x2", "cvt.rn.satfinite.e2m1x2.f32", "rounding activations to FP4", 0, blackwell()},
      {"cvt.rs.e2m1x4", "cvt.rs.satfinite.e2m1x4.f32", "stochastic rounding to FP4", 0, {100, 103}, true},
      {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32", "registers moved from producer to consumer warps", 0,
       hopper_and_blackwell()},
      {"griddepcontrol", "griddepcontrol.wait", "programmatic dependent launch", 90, {}},
      {"cp.async", "cp.async.cg.shared.global", "copies to shared memory past the registers", 80, {}},
      {"cp.async.bulk",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
       "bulk copies without a tensor map",
       90,
       {}},
      {"cp.async.bulk.multicast",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
       "one copy into several blocks of a cluster (assembles on SM12x; CUTLASS does not use it there)",
       90,
       {}},
      {"cp.async.bulk.tensor",
       "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
       "TMA tiles",
       90,
       {}},
      {"cp.async.bulk.tensor.gather4",
       "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
       "four gathered rows a copy",
       100,
       {}},
      {"cp.async.bulk.tensor.scatter4", "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group",
       "four scattered rows a store", 0, tensor_memory_archs()},
      {"tensormap.replace", "tensormap.replace.tile.global_address.global.b1024.b64",
       "tensor maps edited on the device, as grouped TMA kernels do", 0, hopper_and_blackwell()},
      {"clusterlaunchcontrol",
       "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128",
       "work stealing by hardware (CUTLASS's CLC scheduler)",
       100,
       {}},
      {"ldmatrix.b4x16", "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64",
       "FP4 widened to bytes while it is loaded", 0, blackwell()},
      {"stmatrix", "stmatrix.sync.aligned.m8n8.x4.shared.b16", "fragments stored as rows", 90, {}},
  };
}

}  // namespace

const std::vector<TargetInstruction>& known_instructions() {
  static const std::vector<TargetInstruction> instructions = make_instructions();
  return instructions;
}

Result<TargetInstruction> find_instruction(const std::string& name) {
  std::string known;
  for (const TargetInstruction& instruction : known_instructions()) {
    if (instruction.name == name) return instruction;
    known += (known.empty() ? "" : ", ") + instruction.name;
  }
  if (name.find('.') != std::string::npos) {
    for (const TargetInstruction& instruction : known_instructions()) {
      if (instruction.ptx.compare(0, name.size(), name) == 0) return instruction;
    }
  }
  return fail(ErrorCode::not_found, fmt::format("instruction \"{}\" is not in the table", name), "known: " + known);
}

bool accepts(const CodeTarget& target, const TargetInstruction& instruction) {
  const int number = target.major * 10 + target.minor;
  if (instruction.base_from != 0 && number >= instruction.base_from) return true;
  const bool listed =
      std::find(instruction.feature_sm.begin(), instruction.feature_sm.end(), number) != instruction.feature_sm.end();
  return listed && (target.features == TargetFeatures::architecture ||
                    (target.features == TargetFeatures::family && !instruction.architecture_only));
}

std::vector<CodeTarget> targets_with(const TargetInstruction& instruction) {
  std::vector<CodeTarget> list;
  for (const CodeTarget& target : known_targets()) {
    if (accepts(target, instruction)) list.push_back(target);
  }
  return list;
}

}  // namespace tilewright
