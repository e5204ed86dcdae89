// Rows of requests and answers: the columns of cutlass_oracle.csv.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "schedule/cutlass/csv.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"
#include "tilewright/cutlass_rows.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;

constexpr std::size_t kAsking = 13;
constexpr std::array<const char*, 24> kColumns = {"arch",
                                                  "kind",
                                                  "dtypeA",
                                                  "dtypeB",
                                                  "sf",
                                                  "dtypeC",
                                                  "dtypeD",
                                                  "tileM",
                                                  "tileN",
                                                  "tileK",
                                                  "clusterM",
                                                  "clusterN",
                                                  "requested_schedule",
                                                  "resolved_policy",
                                                  "stages",
                                                  "epi_tile",
                                                  "epi_stagesC",
                                                  "epi_stagesD",
                                                  "smem_mainloop",
                                                  "smem_epilogue",
                                                  "smem_total",
                                                  "smem_limit",
                                                  "fits",
                                                  "compile_status"};

tl::unexpected<Error> not_modelled(const char* column, const std::string& value) {
  return fail(ErrorCode::unsupported, fmt::format("{} '{}' is not modelled", column, value));
}

tl::unexpected<Error> malformed(const std::string& what) { return fail(ErrorCode::invalid_argument, what); }

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Result<int> extent(const char* column, const std::string& text) {
  const auto value = whole_number(text);
  if (!value || *value < 1 || *value > 65536) {
    return malformed(fmt::format("{} '{}' is not a number from 1 to 65536", column, text));
  }
  return static_cast<int>(*value);
}

Result<int> cluster_extent(const char* column, const std::string& text) {
  return text == "dyn" ? Result<int>(0) : extent(column, text);
}

Result<Arch> arch_of_row(const std::string& text) {
  const auto arch = find_arch(text);
  if (!arch || *arch == Arch::cpu) return not_modelled("arch", text);
  return *arch;
}

std::string scale_column(CutlassOperand operand) {
  switch (cutlass::scale_vector(operand)) {
    case 16: return "ue4m3/16";
    case 32: return "ue8m0/32";
    default: return "-";
  }
}

// "AutoCarveout<18432>" -> 18432, given "AutoCarveout".
std::optional<std::int64_t> template_number(std::string_view text, std::string_view name) {
  if (text.size() < name.size() + 3 || text.substr(0, name.size()) != name || text[name.size()] != '<' ||
      text.back() != '>') {
    return std::nullopt;
  }
  return whole_number(text.substr(name.size() + 1, text.size() - name.size() - 2));
}

Result<CutlassStages> parse_stages(const std::string& text) {
  CutlassStages stages;
  if (text == "StageCountAuto") {
    stages.rule = CutlassStageRule::automatic;
    return stages;
  }
  if (const auto count = template_number(text, "StageCount"); count && *count <= 1024) {
    stages.rule = CutlassStageRule::explicit_count;
    stages.count = static_cast<int>(*count);
    return stages;
  }
  for (const char* name : {"AutoCarveout", "StageCountAutoCarveout"}) {
    if (const auto bytes = template_number(text, name)) {
      stages.carveout_bytes = *bytes;
      return stages;
    }
  }
  return malformed(fmt::format("stages '{}' is none of StageCountAuto, StageCount<N>, AutoCarveout<N>", text));
}

Status parse_epilogue_tile(const std::string& text, CutlassRequest& request) {
  const std::size_t times = text.find('x');
  if (times == std::string::npos) return malformed(fmt::format("epiTile '{}' is not MxN", text));
  TILEWRIGHT_ASSIGN(request.epilogue_tile_m, extent("epiTile", text.substr(0, times)));
  TILEWRIGHT_ASSIGN(request.epilogue_tile_n, extent("epiTile", text.substr(times + 1)));
  return {};
}

// A tag by its name or short name; the tables also have short names with the architecture, and a note in parentheses.
Result<CutlassSchedule> parse_schedule(const std::string& text) {
  const std::string name = text.substr(0, text.find('('));
  auto schedule = cutlass::parse_schedule_tag(name);
  for (const std::string_view suffix : {"Sm100", "Sm103"}) {
    const bool ends =
        name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
    if (!schedule && ends) schedule = cutlass::parse_schedule_tag(name.substr(0, name.size() - suffix.size()));
  }
  if (!schedule) return not_modelled("schedule", text);
  return schedule;
}

void apply_words(std::string_view words, CutlassRequest& request) {
  const auto says = [&](std::string_view word) { return words.find(word) != std::string_view::npos; };
  if (says("FINALIZE")) request.fusion = CutlassFusion::finalize;
  if (says("SFD")) request.fusion = CutlassFusion::scale_factor_d;
  if (says("swapAB")) request.swap_ab = true;
}

Status apply_part(const std::string& part, CutlassRequest& request) {
  const auto value_of = [&](std::string_view key) -> std::optional<std::string> {
    if (part.compare(0, key.size(), key) != 0) return std::nullopt;
    return part.substr(key.size());
  };
  if (const auto stages = value_of("stages=")) {
    TILEWRIGHT_ASSIGN(request.stages, parse_stages(*stages));
  } else if (const auto tag = value_of("epi=")) {
    const auto schedule = cutlass::parse_epilogue_tag(*tag);
    if (!schedule) return not_modelled("epilogue schedule", *tag);
    request.epilogue_schedule = *schedule;
  } else if (const auto tile = value_of("epiTile=")) {
    return parse_epilogue_tile(*tile, request);
  } else {
    apply_words(part, request);
  }
  return {};
}

Status apply_schedule(const std::string& column, CutlassRequest& request) {
  std::size_t start = 0;
  bool first = true;
  while (start <= column.size()) {
    const std::size_t end = std::min(column.find('|', start), column.size());
    const std::string part = column.substr(start, end - start);
    if (first) {
      TILEWRIGHT_ASSIGN(request.schedule, parse_schedule(part));
      first = false;
    } else {
      TILEWRIGHT_TRY(apply_part(part, request));
    }
    start = end + 1;
  }
  return {};
}

Status apply_types(const std::vector<std::string>& fields, CutlassRequest& request) {
  const auto a = parse_cutlass_operand(fields[2]);
  if (!a) return not_modelled("dtypeA", fields[2]);
  const auto b = parse_cutlass_operand(fields[3]);
  if (!b) return not_modelled("dtypeB", fields[3]);
  const auto c = parse_cutlass_element(fields[5]);
  if (!c) return not_modelled("dtypeC", fields[5]);
  const auto d = parse_cutlass_element(fields[6]);
  if (!d) return not_modelled("dtypeD", fields[6]);
  request.a = *a;
  request.b = *b;
  request.c = *c;
  request.d = *d;
  if (fields[4] != scale_column(request.a)) {
    return fail(ErrorCode::unsupported, fmt::format("{} with scales '{}' is not modelled", fields[2], fields[4]),
                "its scales are " + scale_column(request.a));
  }
  return {};
}

std::vector<std::string> no_answer(const std::string& limit, const std::string& status) {
  return {"-", "-", "-", "-", "-", "-", "-", "-", limit, "false", status};
}

// The limit of the row's architecture, where it is one.
std::string limit_of(const std::string& arch_name) {
  const auto arch = find_arch(arch_name);
  return arch && *arch != Arch::cpu ? std::to_string(smem_per_block(*arch)) : "-";
}

std::string stages_words(const CutlassKernel& kernel) {
  return kernel.scale_stages > 0 ? fmt::format("{}(+SF {})", kernel.stages, kernel.scale_stages)
                                 : std::to_string(kernel.stages);
}

Result<std::string> answer_record(const cutlass::CsvRecord& record, CutlassVersion version) {
  auto row = parse_cutlass_row(record.fields, version);
  if (!row && row.error().code != ErrorCode::unsupported) {
    return malformed(fmt::format("line {}: {}", record.line, row.error().message()));
  }
  std::vector<std::string> fields(record.fields.begin(), record.fields.begin() + kAsking);
  Result<CutlassKernel> kernel = row ? resolve_cutlass(row->request) : tl::unexpected<Error>(row.error());
  if (!kernel && kernel.error().code != ErrorCode::unsupported) {
    return malformed(fmt::format("line {}: {}", record.line, kernel.error().message()));
  }
  for (std::string& field : cutlass_row_answer({fields, {}}, kernel)) fields.push_back(std::move(field));
  return cutlass::csv_line(fields) + "\n";
}

}  // namespace

std::string cutlass_row_header() { return cutlass::csv_line({kColumns.begin(), kColumns.end()}); }

Result<CutlassRow> parse_cutlass_row(const std::vector<std::string>& fields, CutlassVersion version) {
  if (fields.size() < kAsking) {
    return malformed(fmt::format("a row of {} columns; the first {} ask", fields.size(), kAsking));
  }
  CutlassRow row;
  row.fields.assign(fields.begin(), fields.begin() + kAsking);
  CutlassRequest& request = row.request;
  request.version = version;
  if (fields[1] != "grouped" && fields[1] != "dense") {
    return malformed(fmt::format("kind '{}' is neither dense nor grouped", fields[1]));
  }
  request.grouped = fields[1] == "grouped";
  TILEWRIGHT_ASSIGN(request.tile.m, extent(kColumns[7], fields[7]));
  TILEWRIGHT_ASSIGN(request.tile.n, extent(kColumns[8], fields[8]));
  TILEWRIGHT_ASSIGN(request.tile.k, extent(kColumns[9], fields[9]));
  TILEWRIGHT_ASSIGN(request.cluster_m, cluster_extent(kColumns[10], fields[10]));
  TILEWRIGHT_ASSIGN(request.cluster_n, cluster_extent(kColumns[11], fields[11]));
  TILEWRIGHT_ASSIGN(request.arch, arch_of_row(fields[0]));
  TILEWRIGHT_TRY(apply_types(fields, request));
  TILEWRIGHT_TRY(apply_schedule(fields[12], request));
  return row;
}

std::vector<std::string> cutlass_row_answer(const CutlassRow& row, const Result<CutlassKernel>& kernel) {
  if (!kernel) return no_answer(row.fields.empty() ? "-" : limit_of(row.fields[0]), "unsupported");
  const std::string status = kernel->error ? "error: " + kernel->error->rule : "ok";
  if (kernel->error && !kernel->error->in_kernel_body) return no_answer(std::to_string(kernel->limit), status);
  const bool smem_epilogue = kernel->epilogue_tile_m > 0;
  return {kernel->policy,
          stages_words(*kernel),
          smem_epilogue ? fmt::format("{}x{}", kernel->epilogue_tile_m, kernel->epilogue_tile_n) : "none",
          std::to_string(smem_epilogue ? kernel->stages_c : -1),
          std::to_string(smem_epilogue ? kernel->stages_d : -1),
          std::to_string(kernel->mainloop_bytes),
          std::to_string(kernel->epilogue_bytes),
          std::to_string(kernel->total),
          std::to_string(kernel->limit),
          kernel->fits() ? "true" : "false",
          status};
}

Result<std::string> answer_cutlass_rows(std::string_view csv, CutlassVersion version) {
  TILEWRIGHT_ASSIGN(const std::vector<cutlass::CsvRecord> records, cutlass::read_csv(csv));
  std::string text = cutlass_row_header() + "\n";
  for (const cutlass::CsvRecord& record : records) {
    const bool header = &record == records.data() && record.fields.front() == kColumns[0];
    if (header) continue;
    TILEWRIGHT_ASSIGN(const std::string line, answer_record(record, version));
    text += line;
  }
  return text;
}

}  // namespace tilewright
