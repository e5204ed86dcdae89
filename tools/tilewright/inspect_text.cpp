// What inspect says of binaries to a reader: a summary first, then what cannot be launched with its bytes and what to
// change, then each kernel where there are few or all are asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tools/tilewright/inspect_binary.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kListedWithoutAsking = 40;  // kernels that fit on a screen
constexpr std::size_t kNamesShown = 3;            // of kernels that share one reason
constexpr std::size_t kNotesShown = 5;

std::string count_of(std::int64_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string kind_words(const BinaryReport& report) {
  switch (report.kind) {
    case BinaryKind::elf_executable: return "executable";
    case BinaryKind::elf_shared: return "shared library";
    case BinaryKind::elf_object: return "object";
    case BinaryKind::archive: return "static library";
    case BinaryKind::fatbin: return "fat binary";
    case BinaryKind::cubin: break;
  }
  return "cubin";
}

Facts file_facts(const InspectedBinary& file, const VerdictOptions& options) {
  const BinaryReport& report = file.report;
  std::string kind = fmt::format("{}, {}", kind_words(report), readable_bytes(static_cast<double>(report.file_bytes)));
  if (report.containers > 0)
    kind += fmt::format(", {} fat binar{}", report.containers, report.containers == 1 ? "y" : "ies");
  Facts facts{"", {{"file", report.path}, {"kind", kind}}};
  if (options.device) {
    facts.values.emplace_back("device",
                              fmt::format("{}: {} B of shared memory and {} registers a block", options.device->name,
                                          options.device->smem_per_block, options.device->registers_per_block));
  } else {
    facts.values.emplace_back("device",
                              "none given (--device-cc, --device): nothing is judged but the shared memory "
                              "of CUTLASS kernels on their own architecture");
  }
  const auto decoded = std::count_if(file.verdict.kernels.begin(), file.verdict.kernels.end(), [&](const auto& kernel) {
    return file.verdict.symbols[kernel.symbol].name.family != KernelFamily::other;
  });
  std::string kernels =
      fmt::format("{}, {} of them CUTLASS 3.x",
                  count_of(static_cast<std::int64_t>(file.verdict.kernels.size()), "kernel"), decoded);
  if (file.left_out > 0) kernels += fmt::format("; {} not asked for", file.left_out);
  facts.values.emplace_back("kernels", kernels);
  return facts;
}

Table image_table(const InspectedBinary& file, const VerdictOptions& options) {
  struct Sum {
    std::int64_t images = 0;
    std::int64_t kernels = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<std::string, ImageKind>, Sum> sums;
  for (const CodeImage& image : file.report.images) {
    Sum& sum = sums[{image_target(image), image.kind}];
    ++sum.images;
    sum.kernels += static_cast<std::int64_t>(image.kernels.size());
    sum.bytes += image.bytes;
  }
  Table table{"Images by target", {{"target"}, {"kind"}, {"images", true}, {"kernels", true}, {"bytes", true}}, {}};
  if (options.device) table.columns.push_back({fmt::format("runs on {}", to_string(options.device->capability))});
  for (const auto& [key, sum] : sums) {
    std::vector<std::string> row = {key.first, to_string(key.second), fmt::to_string(sum.images),
                                    fmt::to_string(sum.kernels), fmt::to_string(sum.bytes)};
    if (options.device) {
      const auto target = find_target(key.first);
      const bool loads =
          target && key.second != ImageKind::lto_ir && loadable(*target, options.device->capability).loads;
      row.emplace_back(loads ? "yes" : "no");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

const char* code_words(VerdictCode code) {
  switch (code) {
    case VerdictCode::ok: return "loads, and all that it asks for fits";
    case VerdictCode::unknown_smem: return "loads; the dynamic shared memory does not stand in a binary";
    case VerdictCode::no_image: return "no image of it runs there";
    case VerdictCode::smem_over: return "asks for more shared memory than a block may have";
    case VerdictCode::registers_over: return "asks for more registers than a block may have";
    case VerdictCode::pdl_without_wait: return "launched with PDL, and never waits";
  }
  return "";
}

Table verdict_table(const BinaryVerdict& verdict) {
  Table table{"Verdicts", {{"verdict"}, {"kernels", true}, {"meaning"}}, {}};
  for (std::size_t code = 0; code < kVerdictCodes; ++code) {
    if (verdict.counts[code] == 0) continue;
    const auto each = static_cast<VerdictCode>(code);
    table.rows.push_back({to_string(each), fmt::to_string(verdict.counts[code]), code_words(each)});
  }
  return table;
}

// Why shared memory is not known, by the number of kernels.
Table unknown_table(const BinaryVerdict& verdict) {
  std::map<std::string, std::int64_t> reasons;
  for (const KernelVerdict& kernel : verdict.kernels) {
    if (kernel.code == VerdictCode::unknown_smem) ++reasons[kernel.dynamic_unknown];
  }
  std::vector<std::pair<std::string, std::int64_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table{"Dynamic shared memory not known", {{"kernels", true}, {"because"}}, {}};
  for (const auto& [reason, kernels] : sorted) table.rows.push_back({fmt::to_string(kernels), reason});
  return table;
}

// Kernels that fail for one reason.
struct Failure {
  const KernelVerdict* first = nullptr;
  std::vector<std::string> names;  // each different one once
  std::int64_t kernels = 0;
};

std::vector<Failure> failures_of(const BinaryVerdict& verdict) {
  std::vector<Failure> failures;
  std::map<std::tuple<VerdictCode, std::string, std::string, std::string>, std::size_t> known;
  for (const KernelVerdict& kernel : verdict.kernels) {
    if (!stops_launch(kernel.code)) continue;
    const std::string words = kernel_words(verdict.symbols[kernel.symbol].name);
    // Bytes over the limit are each kernel's own; the other reasons are shared by many.
    const std::string own = kernel.code == VerdictCode::smem_over ? words : "";
    const auto [entry, added] =
        known.emplace(std::tuple(kernel.code, kernel.message, kernel.remedy, own), failures.size());
    if (added) failures.push_back({&kernel, {}, 0});
    Failure& failure = failures[entry->second];
    ++failure.kernels;
    if (std::find(failure.names.begin(), failure.names.end(), words) == failure.names.end() &&
        failure.names.size() <= kNamesShown) {
      failure.names.push_back(words);
    }
  }
  std::stable_sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) {
    return std::pair(-static_cast<int>(a.first->code == VerdictCode::smem_over), -a.kernels) <
           std::pair(-static_cast<int>(b.first->code == VerdictCode::smem_over), -b.kernels);
  });
  return failures;
}

// Of shared memory each change stands on its own line with its bytes.
std::string remedy_lines(const KernelVerdict& kernel) {
  std::string lines;
  std::size_t width = 0;
  for (const CutlassRemedy& remedy : kernel.remedies) width = std::max(width, remedy.change.size());
  for (const CutlassRemedy& remedy : kernel.remedies) {
    if (!remedy.fits) continue;
    lines += fmt::format("  {:<7}  {:<{}}  {:>6} B  {}\n", lines.empty() ? "remedy" : "or", remedy.change, width,
                         remedy.total, remedy.cost);
  }
  if (lines.empty() && !kernel.remedy.empty()) lines = fmt::format("  remedy   {}\n", kernel.remedy);
  return lines;
}

std::string failure_text(const Failure& failure, const BinaryVerdict& verdict, bool all) {
  const KernelVerdict& first = *failure.first;
  std::string text = fmt::format("{}: {}\n", to_string(first.code),
                                 failure.kernels == 1 ? failure.names.front() : count_of(failure.kernels, "kernel"));
  text += fmt::format("  why      {}\n", first.message);
  text += remedy_lines(first);
  if (first.code == VerdictCode::smem_over && verdict.symbols[first.symbol].name.cutlass) {
    const std::string command = explain_command(*verdict.symbols[first.symbol].name.cutlass);
    if (!command.empty()) text += fmt::format("  explain  {}\n", command);
  }
  if (failure.kernels > 1) {
    const std::size_t shown = std::min(failure.names.size(), kNamesShown);
    for (std::size_t i = 0; i < shown; ++i)
      text += fmt::format("  {}   {}\n", i == 0 ? "kernel" : "      ", failure.names[i]);
    if (failure.names.size() > shown && !all) text += "           ... --all lists each\n";
  }
  text.pop_back();
  return text;
}

std::string optional_number(const std::optional<std::int64_t>& value) { return value ? fmt::to_string(*value) : "-"; }
std::string optional_number(const std::optional<int>& value) { return value ? fmt::to_string(*value) : "-"; }

std::string targets_of(const InspectedBinary& file, const KernelVerdict& kernel) {
  if (kernel.image) return image_target(file.report.images[*kernel.image]);
  std::vector<std::string> names;
  for (const std::size_t i : kernel.images) {
    std::string name = image_target(file.report.images[i]);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::vector<std::string> kernel_row(const InspectedBinary& file, const KernelVerdict& kernel) {
  const KernelInfo* info = judged_kernel(file, kernel);
  const auto of = [&](auto member) { return info == nullptr ? std::string("-") : optional_number(info->*member); };
  std::string spilled = "-";
  if (info != nullptr && info->spill_store_bytes && info->spill_load_bytes) {
    spilled = fmt::format("{}/{}", *info->spill_store_bytes, *info->spill_load_bytes);
  }
  return {to_string(kernel.code),
          targets_of(file, kernel),
          of(&KernelInfo::registers),
          spilled,
          of(&KernelInfo::static_shared_bytes),
          optional_number(kernel.dynamic_shared_bytes),
          of(&KernelInfo::setmaxnreg),
          of(&KernelInfo::griddep_wait),
          kernel_words(file.verdict.symbols[kernel.symbol].name)};
}

const std::vector<Table::Column> kKernelColumns = {{"verdict"},          {"target"},          {"registers", true},
                                                   {"spilled B"},        {"static B", true},  {"dynamic B", true},
                                                   {"setmaxnreg", true}, {"pdl waits", true}, {"kernel"}};

Table kernel_list(const InspectedBinary& file) {
  Table table{"Kernels", kKernelColumns, {}};
  for (const KernelVerdict& kernel : file.verdict.kernels) table.rows.push_back(kernel_row(file, kernel));
  return table;
}

void add_notes(const BinaryReport& report, Report& into) {
  std::vector<std::string> notes = report.notes;
  for (const CodeImage& image : report.images) {
    for (const std::string& note : image.notes) notes.push_back(fmt::format("{} image: {}", image_target(image), note));
  }
  if (notes.empty()) return;
  std::string lines = "Not read:";
  for (std::size_t i = 0; i < std::min(notes.size(), kNotesShown); ++i) lines += "\n  " + notes[i];
  if (notes.size() > kNotesShown)
    lines += fmt::format("\n  and {} more; --format json lists all", notes.size() - kNotesShown);
  into.sections.emplace_back(Text{lines});
}

void add_file(const InspectedBinary& file, const BinaryInspection& inspection, Report& report) {
  report.sections.emplace_back(file_facts(file, inspection.options));
  if (file.report.images.empty()) {
    report.sections.emplace_back(Text{"No GPU code."});
    add_notes(file.report, report);
    return;
  }
  report.sections.emplace_back(image_table(file, inspection.options));
  if (!file.verdict.kernels.empty()) report.sections.emplace_back(verdict_table(file.verdict));
  if (file.verdict.count(VerdictCode::unknown_smem) > 0) report.sections.emplace_back(unknown_table(file.verdict));
  for (const Failure& failure : failures_of(file.verdict)) {
    report.sections.emplace_back(Text{failure_text(failure, file.verdict, inspection.all)});
  }
  if (inspection.all || file.verdict.kernels.size() <= kListedWithoutAsking) {
    if (!file.verdict.kernels.empty()) report.sections.emplace_back(kernel_list(file));
  }
  add_notes(file.report, report);
}

// A symbol is bytes from a file: control characters have no business on a terminal.
std::string printable(std::string symbol) {
  std::replace_if(
      symbol.begin(), symbol.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return symbol;
}

}  // namespace

void add_binary_sections(const BinaryInspection& inspection, Report& report) {
  for (const InspectedBinary& file : inspection.files) add_file(file, inspection, report);
}

void add_kernel_table(const BinaryInspection& inspection, Report& report) {
  Table table{"", {{"file"}}, {}};
  table.columns.insert(table.columns.end(), kKernelColumns.begin(), kKernelColumns.end());
  for (const char* more : {"limit B", "over B", "why", "remedy", "symbol"}) table.columns.push_back({more});
  for (const InspectedBinary& file : inspection.files) {
    for (const KernelVerdict& kernel : file.verdict.kernels) {
      std::vector<std::string> row = kernel_row(file, kernel);
      row.insert(row.begin(), file.report.path);
      row.push_back(fmt::to_string(kernel.shared_limit));
      row.push_back(fmt::to_string(kernel.over_bytes));
      row.push_back(kernel.message);
      row.push_back(kernel.remedy);
      row.push_back(printable(file.verdict.symbols[kernel.symbol].symbol));
      table.rows.push_back(std::move(row));
    }
  }
  report.sections.emplace_back(std::move(table));
}

}  // namespace tilewright::cli
