// Everything that is known of binaries, as JSON: schema tilewright.inspect/1.
#include "schedule/cutlass/tags.hpp"
#include "tools/tilewright/inspect_binary.hpp"

namespace tilewright::cli {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json block_json(const std::optional<BlockShape>& block) {
  return block ? Json::array({block->x, block->y, block->z}) : Json(nullptr);
}

Json image_json(const CodeImage& image, const VerdictOptions& options) {
  Json json = {{"target", image_target(image)},
               {"kind", to_string(image.kind)},
               {"member", image.member},
               {"container", image.container},
               {"file_offset", image.file_offset},
               {"stored_bytes", image.stored_bytes},
               {"bytes", image.bytes},
               {"compression", image.compression},
               {"identifier", image.identifier},
               {"version", image.version},
               {"relocatable", image.relocatable},
               {"debug", image.debug},
               {"kernels", image.kernels.size()},
               {"notes", image.notes}};
  if (options.device) {
    const auto target = find_target(image_target(image));
    json["loads"] = target && image.kind != ImageKind::lto_ir && loadable(*target, options.device->capability).loads;
  }
  return json;
}

Json config_json(const CutlassKernelName& name) {
  return {{"arch", to_string(name.arch)},
          {"grouped", name.grouped},
          {"a", name.a},
          {"b", name.b},
          {"c", name.c},
          {"d", name.d},
          {"tile", {name.tile.m, name.tile.n, name.tile.k}},
          {"cluster", {name.cluster_m, name.cluster_n}},
          {"policy", name.policy},
          {"schedule", name.schedule},
          {"warps", to_string(name.warps)},
          {"stages", name.stages},
          {"scale_stages", name.scale_stages},
          {"scheduler_stages", name.scheduler_stages},
          {"accumulator_stages", name.accumulator_stages},
          {"epilogue", name.epilogue},
          {"epilogue_tile", {name.epilogue_tile_m, name.epilogue_tile_n}},
          {"stages_c", name.stages_c},
          {"stages_d", name.stages_d},
          {"fusion", name.fusion},
          {"finalize", name.finalize},
          {"swap_ab", name.swap_ab},
          {"scheduler", name.scheduler}};
}

Json resources_json(const KernelInfo& kernel) {
  return {{"registers", or_null(kernel.registers)},
          {"required_block", block_json(kernel.required_block)},
          {"max_block", block_json(kernel.max_block)},
          {"min_blocks_per_sm", or_null(kernel.min_blocks_per_sm)},
          {"barriers", or_null(kernel.barriers)},
          {"static_shared_bytes", or_null(kernel.static_shared_bytes)},
          {"stack_bytes", or_null(kernel.stack_bytes)},
          {"spill_store_bytes", or_null(kernel.spill_store_bytes)},
          {"spill_load_bytes", or_null(kernel.spill_load_bytes)},
          {"constant_bytes", or_null(kernel.constant_bytes)},
          {"parameter_bytes", or_null(kernel.parameter_bytes)},
          {"code_bytes", kernel.code_bytes},
          {"setmaxnreg", or_null(kernel.setmaxnreg)},
          {"griddepcontrol_wait", or_null(kernel.griddep_wait)},
          {"griddepcontrol_launch", or_null(kernel.griddep_launch)},
          {"local_memory_loads", or_null(kernel.local_memory_loads)},
          {"local_memory_stores", or_null(kernel.local_memory_stores)},
          {"shared_memory_loads", or_null(kernel.shared_memory_loads)},
          {"half_mma", or_null(kernel.half_mma)},
          {"fp4_mma", or_null(kernel.fp4_mma)}};
}

Json remedies_json(const std::vector<CutlassRemedy>& remedies) {
  Json list = Json::array();
  for (const CutlassRemedy& remedy : remedies) {
    list.push_back({{"change", remedy.change}, {"total", remedy.total}, {"fits", remedy.fits}, {"cost", remedy.cost}});
  }
  return list;
}

Json kernel_json(const InspectedBinary& file, const KernelVerdict& kernel) {
  const BinarySymbol& symbol = file.verdict.symbols[kernel.symbol];
  Json json = {{"symbol", symbol.symbol},
               {"function", symbol.name.text},
               {"family", to_string(symbol.name.family)},
               {"member", kernel.member},
               {"images", kernel.images},
               {"image", or_null(kernel.image)},
               {"verdict", to_string(kernel.code)},
               {"message", kernel.message},
               {"remedy", kernel.remedy},
               {"dynamic_shared_bytes", or_null(kernel.dynamic_shared_bytes)},
               {"dynamic_unknown", kernel.dynamic_unknown},
               {"shared_limit", kernel.shared_limit},
               {"over_bytes", kernel.over_bytes},
               {"remedies", remedies_json(kernel.remedies)}};
  if (!symbol.name.note.empty()) json["note"] = symbol.name.note;
  if (symbol.name.cutlass) json["cutlass"] = config_json(*symbol.name.cutlass);
  if (kernel.code == VerdictCode::smem_over && symbol.name.cutlass) {
    json["explain"] = explain_command(*symbol.name.cutlass);
  }
  const KernelInfo* info = judged_kernel(file, kernel);
  json["resources"] = info == nullptr ? Json(nullptr) : resources_json(*info);
  return json;
}

Json counts_json(const BinaryVerdict& verdict) {
  Json counts = Json::object();
  for (std::size_t code = 0; code < kVerdictCodes; ++code) {
    counts[to_string(static_cast<VerdictCode>(code))] = verdict.counts[code];
  }
  return counts;
}

Json file_json(const InspectedBinary& file, const VerdictOptions& options) {
  Json json = {{"path", file.report.path},        {"kind", to_string(file.report.kind)},
               {"bytes", file.report.file_bytes}, {"containers", file.report.containers},
               {"notes", file.report.notes},      {"counts", counts_json(file.verdict)},
               {"left_out", file.left_out},       {"images", Json::array()},
               {"kernels", Json::array()}};
  for (const CodeImage& image : file.report.images) json["images"].push_back(image_json(image, options));
  for (const KernelVerdict& kernel : file.verdict.kernels) json["kernels"].push_back(kernel_json(file, kernel));
  return json;
}

}  // namespace

void add_binary_json(const BinaryInspection& inspection, Report& report) {
  const VerdictOptions& options = inspection.options;
  report.json["device"] = nullptr;
  if (options.device) {
    report.json["device"] = {{"name", options.device->name},
                             {"compute_capability", to_string(options.device->capability)},
                             {"smem_per_block", options.device->smem_per_block},
                             {"registers_per_block", options.device->registers_per_block},
                             {"registers_per_thread", options.device->registers_per_thread}};
  }
  report.json["pdl"] = options.pdl;
  report.json["files"] = Json::array();
  for (const InspectedBinary& file : inspection.files) report.json["files"].push_back(file_json(file, options));
}

}  // namespace tilewright::cli
