// CSV -> published layers. Nothing in the text is believed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "schedule/published/csv_lines.hpp"
#include "tilewright/published.hpp"

namespace tilewright {
namespace {

using schedule::CsvLine;
using schedule::kLargestPublishedSize;
using schedule::kMostPublishedExperts;
using schedule::kMostPublishedTokens;
using schedule::cutlass::CsvRecord;
using Columns = std::vector<const char*>;

// Splits and sizes that have to fit together.
Status check_split(const CsvLine& line, std::size_t column, const PublishedLayer& layer) {
  if (layer.intermediate % layer.tp != 0) return line.refuse(column, "tp has to divide the intermediate size");
  if (layer.experts % layer.ep != 0) return line.refuse(column, "ep has to divide the experts");
  if (layer.top_k > layer.experts) return line.refuse(column, "there are fewer experts than a token takes");
  return {};
}

// A file of layers.
enum LayerColumn : std::size_t {
  kFramework,
  kVersion,
  kKernel,
  kTokens,
  kHidden,
  kInter,
  kTopK,
  kExperts,
  kTp,
  kEp,
  kDistribution,
  kLatency
};
const Columns& layer_columns() {
  static const Columns columns = {"framework", "version", "kernel", "tokens", "hidden",       "inter",
                                  "topk",      "experts", "tp",     "ep",     "distribution", "latency_us"};
  return columns;
}

// "balanced" is 0.
Result<double> alpha_of(const CsvLine& line) {
  constexpr std::string_view kPowerLaw = "power_law_";
  const std::string& name = line.text(kDistribution);
  if (name == "balanced") return 0.0;
  if (name.rfind(kPowerLaw, 0) != 0) return line.refuse(kDistribution, "known: balanced, power_law_ALPHA");
  TILEWRIGHT_ASSIGN(const double alpha, line.positive(kDistribution, std::string_view(name).substr(kPowerLaw.size())));
  // The collector's draw divides by 1 - alpha.
  if (alpha > 8.0 || std::abs(alpha - 1.0) < 0.01) {
    return line.refuse(kDistribution, "give an alpha up to 8 that is not 1");
  }
  return alpha;
}

Result<PublishedLayer> layer_of(const CsvLine& line) {
  PublishedLayer layer;
  layer.framework = line.text(kFramework);
  layer.version = line.text(kVersion);
  layer.kernel = line.text(kKernel);
  TILEWRIGHT_ASSIGN(layer.tokens, line.integer(kTokens, kMostPublishedTokens));
  TILEWRIGHT_ASSIGN(layer.hidden, line.integer(kHidden, kLargestPublishedSize));
  TILEWRIGHT_ASSIGN(layer.intermediate, line.integer(kInter, kLargestPublishedSize));
  TILEWRIGHT_ASSIGN(layer.experts, line.small(kExperts, kMostPublishedExperts));
  TILEWRIGHT_ASSIGN(layer.top_k, line.small(kTopK, kMostPublishedExperts));
  TILEWRIGHT_ASSIGN(layer.tp, line.small(kTp, kLargestPublishedSize));
  TILEWRIGHT_ASSIGN(layer.ep, line.small(kEp, kMostPublishedExperts));
  TILEWRIGHT_TRY(check_split(line, layer.intermediate % layer.tp != 0 ? kTp : kEp, layer));
  TILEWRIGHT_ASSIGN(layer.alpha, alpha_of(line));
  TILEWRIGHT_ASSIGN(layer.us, line.positive(kLatency));
  return layer;
}

// A file of measurements of many kinds.
enum MeasurementColumn : std::size_t {
  kCategory,
  kSm,
  kLibrary,
  kDtype,
  kGroups,
  kMeasuredTopK,
  kM,
  kN,
  kK,
  kTime,
  kEvidence
};
const Columns& measurement_columns() {
  static const Columns columns = {"category", "sm", "library_kernel", "dtype",   "E_or_groups", "topk", "M",
                                  "N",        "K",  "time_us",        "evidence"};
  return columns;
}

// Why a measurement is no layer that can be compared; nothing where it is one.
std::optional<std::string> other_than_a_layer(const CsvLine& line) {
  if (line.text(kSm) != "sm120") return "another architecture than sm120";
  if (line.text(kEvidence) != "local data file parsed") return "read in a text, not in a data file";
  if (line.text(kCategory) != "moe-layer") return "no expert layer";
  if (line.text(kDtype) != "nvfp4" && line.text(kDtype) != "fp8") return line.text(kDtype) + " is not described";
  return std::nullopt;
}

// The text after `prefix`, to the next slash.
std::string_view part_after(std::string_view text, std::string_view prefix) {
  const std::size_t at = text.find(prefix);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + prefix.size());
  return text.substr(0, text.find('/'));
}

// "moe_torch_flow_cutlass TRTLLM1.3.0rc20": kernel, then framework and version in one.
void set_stack(PublishedLayer& layer, std::string_view library) {
  const std::size_t space = library.find(' ');
  layer.kernel = library.substr(0, space);
  if (space == std::string_view::npos) return;
  library.remove_prefix(space + 1);
  for (const std::string_view framework : {std::string_view("TRTLLM"), std::string_view("SGLang")}) {
    if (library.substr(0, framework.size()) != framework) continue;
    layer.framework = framework;
    layer.version = library.substr(framework.size());
  }
}

Result<PublishedLayer> measured_layer(const CsvLine& line) {
  PublishedLayer layer;
  set_stack(layer, line.text(kLibrary));
  layer.format = line.text(kDtype) == "fp8" ? PeerFormat::fp8 : PeerFormat::nvfp4;
  const std::string_view groups = line.text(kGroups);
  TILEWRIGHT_ASSIGN(layer.experts, line.small(kGroups, groups.substr(0, groups.find('/')), kMostPublishedExperts));
  TILEWRIGHT_ASSIGN(layer.ep, line.small(kGroups, part_after(groups, "/ep"), kMostPublishedExperts));
  TILEWRIGHT_ASSIGN(layer.tp, line.small(kGroups, part_after(groups, "/tp"), kLargestPublishedSize));
  TILEWRIGHT_ASSIGN(layer.top_k, line.small(kMeasuredTopK, kMostPublishedExperts));
  TILEWRIGHT_ASSIGN(layer.tokens, line.integer(kM, kMostPublishedTokens));
  TILEWRIGHT_ASSIGN(layer.intermediate, line.integer(kN, part_after(line.text(kN), "I="), kLargestPublishedSize));
  TILEWRIGHT_ASSIGN(layer.hidden, line.integer(kK, part_after(line.text(kK), "H="), kLargestPublishedSize));
  TILEWRIGHT_TRY(check_split(line, kGroups, layer));
  TILEWRIGHT_ASSIGN(layer.us, line.positive(kTime));
  return layer;
}

// Calls `take(line)` for each line after the header.
template <typename Take>
Status each_line(const std::vector<CsvRecord>& records, const Columns& columns, const Take& take) {
  TILEWRIGHT_ASSIGN(const std::vector<std::size_t> places, schedule::column_places(records.front(), columns));
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].fields.size() != records.front().fields.size()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("line {}: {} fields, and the first line has {}", records[i].line,
                              records[i].fields.size(), records.front().fields.size()));
    }
    TILEWRIGHT_TRY(take(CsvLine(records[i], columns, places)));
  }
  return {};
}

}  // namespace

Result<PublishedFile> parse_published(std::string_view csv) {
  TILEWRIGHT_ASSIGN(const std::vector<CsvRecord> records, schedule::cutlass::read_csv(csv));
  if (records.empty())
    return fail(ErrorCode::invalid_argument, "the file is empty", "the first line names the columns");
  const std::vector<std::string>& header = records.front().fields;
  PublishedFile file;
  if (std::find(header.begin(), header.end(), "library_kernel") == header.end()) {
    TILEWRIGHT_TRY(each_line(records, layer_columns(), [&](const CsvLine& line) -> Status {
      TILEWRIGHT_ASSIGN(PublishedLayer layer, layer_of(line));
      file.layers.push_back(std::move(layer));
      return {};
    }));
    return file;
  }
  std::map<std::string, std::int64_t> left_out;
  TILEWRIGHT_TRY(each_line(records, measurement_columns(), [&](const CsvLine& line) -> Status {
    if (const auto reason = other_than_a_layer(line)) {
      ++left_out[*reason];
      return {};
    }
    TILEWRIGHT_ASSIGN(PublishedLayer layer, measured_layer(line));
    file.layers.push_back(std::move(layer));
    return {};
  }));
  for (const auto& [reason, rows] : left_out) file.left_out.push_back({reason, rows});
  return file;
}

}  // namespace tilewright
