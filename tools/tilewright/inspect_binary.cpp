#include "tools/tilewright/inspect_binary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "tools/tilewright/progress.hpp"

namespace tilewright::cli {
namespace {

// Which kernels are judged.
class Choice {
 public:
  static Result<Choice> of(const BinaryOptions& options) {
    Choice choice;
    if (!options.only.empty() && options.only != "cutlass") {
      return fail(ErrorCode::invalid_argument, fmt::format("--only '{}' is not understood", options.only),
                  "known: cutlass");
    }
    choice.cutlass_ = !options.only.empty();
    if (options.kernels.empty()) return choice;
    try {
      choice.pattern_ = std::regex(options.kernels, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error&) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--kernels '{}' is not a regular expression", options.kernels),
                  "ECMAScript's grammar: 'GemmUniversal|finalize'");
    }
    return choice;
  }

  // Names are shortened before they are matched: the library's matcher recurses with the length of a text.
  [[nodiscard]] bool takes(const KernelName& name) const {
    if (cutlass_ && name.family == KernelFamily::other) return false;
    return !pattern_ || std::regex_search(name.text, *pattern_) || std::regex_search(kernel_words(name), *pattern_);
  }

 private:
  bool cutlass_ = false;
  std::optional<std::regex> pattern_;
};

Result<VerdictOptions> verdict_options(const BinaryOptions& options) {
  VerdictOptions verdict;
  verdict.pdl = options.pdl;
  if (!options.device.empty() && !options.device_cc.empty()) {
    return fail(ErrorCode::invalid_argument, "--device and --device-cc are both given", "give one of them");
  }
  if (!options.device.empty()) {
    TILEWRIGHT_ASSIGN(verdict.device, verdict_device(options.device));
  } else if (!options.device_cc.empty()) {
    TILEWRIGHT_ASSIGN(const ComputeCapability capability, find_compute_capability(options.device_cc));
    TILEWRIGHT_ASSIGN(verdict.device, verdict_device(capability));
  }
  return verdict;
}

// Takes out the kernels that were not asked for, and counts again.
void narrow(InspectedBinary& file, const Choice& choice) {
  BinaryVerdict& verdict = file.verdict;
  std::vector<bool> taken;
  for (const BinarySymbol& symbol : verdict.symbols) taken.push_back(choice.takes(symbol.name));
  const auto kept = std::remove_if(verdict.kernels.begin(), verdict.kernels.end(),
                                   [&](const KernelVerdict& kernel) { return !taken[kernel.symbol]; });
  file.left_out = verdict.kernels.end() - kept;
  verdict.kernels.erase(kept, verdict.kernels.end());
  verdict.counts = {};
  for (const KernelVerdict& kernel : verdict.kernels) ++verdict.counts[static_cast<std::size_t>(kernel.code)];
}

}  // namespace

void declare_binary_options(CLI::App& command, BinaryOptions& options) {
  const auto text = [&](const char* name, std::string& into, const char* help, const char* value) {
    command.add_option(name, into, help)->option_text(value)->group("A binary");
  };
  text("--device-cc", options.device_cc, "Judge every kernel for a compute capability: 12.1", "X.Y");
  text("--device", options.device, "The same for a known device: gb10 ('tilewright info --devices' lists them)",
       "NAME");
  text("--kernels", options.kernels, "Kernels whose function or configuration matches a regular expression", "REGEX");
  text("--only", options.only, "cutlass: CUTLASS 3.x GEMMs alone", "WHAT");
  command.add_flag("--pdl", options.pdl, "The kernels are launched with programmatic dependent launch: each must wait")
      ->group("A binary");
  command.add_flag("--all", options.all, "List every kernel, not only those that cannot be launched")
      ->group("A binary");
}

const KernelInfo* judged_kernel(const InspectedBinary& file, const KernelVerdict& verdict) {
  return verdict.image ? &file.report.images[*verdict.image].kernels[verdict.kernel] : nullptr;
}

std::string image_target(const CodeImage& image) { return to_string(image.target, image.kind); }

Result<Outcome> inspect_binaries(const std::vector<std::string>& paths, const BinaryOptions& options, Format format) {
  TILEWRIGHT_ASSIGN(const Choice choice, Choice::of(options));
  BinaryInspection inspection;
  inspection.all = options.all;
  TILEWRIGHT_ASSIGN(inspection.options, verdict_options(options));
  bool stopped = false;
  Progress progress;
  for (const std::string& path : paths) {
    progress.show(path);
    InspectedBinary file;
    TILEWRIGHT_ASSIGN(file.report, read_binary(path));
    file.verdict = judge_binary(file.report, inspection.options);
    narrow(file, choice);
    stopped = stopped || file.verdict.stopped();
    inspection.files.push_back(std::move(file));
  }
  progress.clear();
  Report report("inspect");
  if (format == Format::json) {
    add_binary_json(inspection, report);
  } else if (format == Format::csv) {
    add_kernel_table(inspection, report);
  } else {
    add_binary_sections(inspection, report);
  }
  const bool fails = stopped && inspection.options.device.has_value();
  return Outcome{render(report, format), fails ? Exit::wrong_numbers : Exit::ok};
}

}  // namespace tilewright::cli
