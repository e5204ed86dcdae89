// tilewright targets: which code a device loads, and which instructions a code target may hold.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "tilewright/device.hpp"
#include "tilewright/targets.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device_cc;
  std::string device;
  std::string instruction;
  std::string target;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright targets --device-cc 12.0\n"
    "  tilewright targets --device gb10 --format json\n"
    "  tilewright targets --instr mma.block_scale --target sm_120\n"
    "  tilewright targets";

std::string or_list(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "no target" : names.front();
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

Json instruction_json(const TargetInstruction& instruction) {
  return {{"name", instruction.name},
          {"ptx", instruction.ptx},
          {"use", instruction.use},
          {"targets", short_names(targets_with(instruction))}};
}

Json instructions_of(const CodeTarget& target) {
  Json names = Json::array();
  for (const TargetInstruction& instruction : known_instructions()) {
    if (accepts(target, instruction)) names.push_back(instruction.name);
  }
  return names;
}

// FP4 products that the tensor cores take with their block scales.
bool native_fp4(const CodeTarget& target) {
  for (const TargetInstruction& instruction : known_instructions()) {
    if ((instruction.name == "mma.block_scale" || instruction.name == "tcgen05") && accepts(target, instruction)) {
      return true;
    }
  }
  return false;
}

// What runs on one device.
Outcome device_targets(ComputeCapability capability, Format format) {
  Report report("targets");
  Table table{fmt::format("Machine code that compute capability {} loads", to_string(capability)),
              {{"target"}, {"block-scaled FP4"}, {"why"}, {"nvcc"}},
              {}};
  Json list = Json::array();
  std::vector<std::string> native;
  for (const CodeTarget& target : known_targets()) {
    const Loadable verdict = loadable(target, capability);
    list.push_back({{"target", to_string(target)},
                    {"loads", verdict.loads},
                    {"native_fp4", native_fp4(target)},
                    {"reason", verdict.reason},
                    {"nvcc", nvcc_flags(target)},
                    {"instructions", instructions_of(target)}});
    if (!verdict.loads) continue;
    if (native_fp4(target)) native.push_back(short_name(target));
    table.rows.push_back({to_string(target), native_fp4(target) ? "yes" : "no", verdict.reason, nvcc_flags(target)});
  }
  const CodeTarget recommended = recommended_target(capability);
  report.json["device_cc"] = to_string(capability);
  report.json["recommended"] = to_string(recommended);
  report.json["native_fp4"] = native;
  report.json["targets"] = list;
  report.sections.emplace_back(table);
  report.sections.emplace_back(Text{fmt::format(
      "PTX of a base target runs too where it is not newer than {0}: the driver compiles it, without the features of\n"
      "'a' and 'f'. {1}\nBuild for {2}: {3}",
      to_string(capability),
      native.empty() ? fmt::format("No target of {} has block-scaled FP4 products.", to_string(capability))
                     : fmt::format("For block-scaled FP4 products it takes {}.", or_list(native)),
      to_string(recommended), nvcc_flags(recommended))});
  return {render(report, format)};
}

// Whether one target may hold one instruction.
Result<Outcome> instruction_on_target(const TargetInstruction& instruction, const std::string& name, Format format) {
  const Result<CodeTarget> target = find_target(name);
  if (!target) return tl::unexpected(target.error());
  const bool ok = accepts(*target, instruction);
  const std::vector<std::string> with = short_names(targets_with(instruction));
  std::vector<std::string> here;  // of these, what loads where the refused target would
  for (const CodeTarget& other : targets_with(instruction)) {
    if (loadable(other, {target->major, target->minor}).loads) here.push_back(short_name(other));
  }
  const std::string verdict = ok ? fmt::format("{} may hold {}", to_string(*target), instruction.name)
                                 : fmt::format("{} cannot hold {}: it needs {}", to_string(*target), instruction.name,
                                               or_list(here.empty() ? with : here));
  Report report("targets");
  report.json["instruction"] = instruction_json(instruction);
  report.json["target"] = to_string(*target);
  report.json["accepted"] = ok;
  report.json["message"] = verdict;
  report.sections.emplace_back(Facts{"",
                                     {{"verdict", verdict},
                                      {"instruction", instruction.ptx},
                                      {"used for", instruction.use},
                                      {"targets that have it", fmt::format("{}", fmt::join(with, ", "))}}});
  return Outcome{render(report, format), ok ? Exit::ok : Exit::not_possible};
}

// The whole table, or one instruction's row.
Outcome instruction_table(const std::vector<TargetInstruction>& instructions, Format format) {
  Report report("targets");
  Table table{"Instructions and the code targets that may hold them", {{"instruction"}, {"targets"}, {"for"}}, {}};
  Json list = Json::array();
  for (const TargetInstruction& instruction : instructions) {
    list.push_back(instruction_json(instruction));
    const std::string from = instruction.base_from == 0
                                 ? fmt::format("{}", fmt::join(short_names(targets_with(instruction)), " "))
                                 : fmt::format("every target from {} on", instruction.base_from);
    table.rows.push_back({instruction.name, from, instruction.use});
  }
  report.json["instructions"] = list;
  report.sections.emplace_back(table);
  return {render(report, format)};
}

Result<ComputeCapability> capability_of(const Options& options) {
  if (!options.device_cc.empty()) return find_compute_capability(options.device_cc);
  const Result<Device> device = find_device(options.device);
  if (!device) return tl::unexpected(device.error());
  return find_compute_capability(to_string(device->arch));
}

Result<Outcome> run(const Options& options) {
  const bool has_device = !options.device_cc.empty() || !options.device.empty();
  if (!options.instruction.empty()) {
    const Result<TargetInstruction> instruction = find_instruction(options.instruction);
    if (!instruction) return tl::unexpected(instruction.error());
    if (!options.target.empty()) return instruction_on_target(*instruction, options.target, options.format);
    if (!has_device) return instruction_table({*instruction}, options.format);
    const Result<ComputeCapability> capability = capability_of(options);
    if (!capability) return tl::unexpected(capability.error());
    return instruction_on_target(*instruction, to_string(recommended_target(*capability)), options.format);
  }
  if (!has_device) return instruction_table(known_instructions(), options.format);
  const Result<ComputeCapability> capability = capability_of(options);
  if (!capability) return tl::unexpected(capability.error());
  return device_targets(*capability, options.format);
}

}  // namespace

Verb add_targets(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "targets", "Tell which code targets run on a device, and which instructions a target may hold",
                   kExamples, options->format);
  CLI::Option* capability = command->add_option("--device-cc", options->device_cc, "Compute capability: 12.0");
  command->add_option("--device", options->device, "Device by name, as 'info --devices' lists them")
      ->excludes(capability);
  CLI::Option* instruction =
      command->add_option("--instr", options->instruction, "An instruction of the table: mma.block_scale");
  command->add_option("--target", options->target, "With --instr, a code target: sm_120f")->needs(instruction);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
