#include "schedule/schedule_json.hpp"

#include "schedule/size_limits.hpp"

namespace tilewright::schedule {
namespace {

Result<RowsHistogram> read_rows(const Fields& fields) {
  RowsHistogram histogram;
  std::int64_t experts = 0;
  std::int64_t rows = 0;
  TILEWRIGHT_TRY(fields.each("rows", [&](const Fields& entry) -> Status {
    RowsHistogram::Bin bin;
    TILEWRIGHT_ASSIGN(bin.experts, entry.integer("experts", 1, kMostExperts - experts));
    TILEWRIGHT_ASSIGN(bin.rows, entry.integer("rows", 0, (kMostRows - rows) / bin.experts));
    if (!histogram.bins.empty() && histogram.bins.back().rows <= bin.rows) {
      return fail(ErrorCode::corrupt, entry.path() + " is not below the one before");
    }
    experts += bin.experts;
    rows += bin.rows * bin.experts;
    histogram.bins.push_back(bin);
    return {};
  }));
  if (rows == 0) return fail(ErrorCode::corrupt, fields.path() + ".rows has no row");
  return histogram;
}

Result<GemmId> parse_gemm(const std::string& name) {
  for (const GemmId gemm : {GemmId::gemm1, GemmId::gemm2}) {
    if (name == to_string(gemm)) return gemm;
  }
  return fail(ErrorCode::invalid_argument, "\"" + name + "\" is no GEMM", "known: gemm1, gemm2");
}

}  // namespace

nlohmann::ordered_json schedule_json(const Schedule& s) {
  return {{"arch", to_string(s.arch)},
          {"precision", to_string(s.precision)},
          {"mma", to_string(s.mma)},
          {"tile_m", s.tile_m},
          {"tile_n", s.tile_n},
          {"tile_k", s.tile_k},
          {"stages", s.stages},
          {"producer_warps", s.roles.producer_warps},
          {"consumer_warps", s.roles.consumer_warps},
          {"consumers", to_string(s.roles.consumers)},
          {"cluster", s.cluster},
          {"ctas_per_sm", s.ctas_per_sm},
          {"swap_ab", s.swap_ab},
          {"split", to_string(s.split.kind)},
          {"split_parts", s.split.parts},
          {"token_load", to_string(s.token_load)},
          {"epilogue", to_string(s.epilogue)}};
}

Result<Schedule> read_schedule(const Fields& fields) {
  Schedule s;
  TILEWRIGHT_ASSIGN(s.arch, fields.name<Arch>("arch", find_arch));
  TILEWRIGHT_ASSIGN(s.precision, fields.name<Precision>("precision", parse_precision));
  TILEWRIGHT_ASSIGN(s.mma, fields.name<Mma>("mma", parse_mma));
  TILEWRIGHT_ASSIGN(s.tile_m, fields.small("tile_m", 1, kLargestTile));
  TILEWRIGHT_ASSIGN(s.tile_n, fields.small("tile_n", 1, kLargestTile));
  TILEWRIGHT_ASSIGN(s.tile_k, fields.small("tile_k", 1, kLargestTile));
  TILEWRIGHT_ASSIGN(s.stages, fields.small("stages", 1, kLargestTile));
  TILEWRIGHT_ASSIGN(s.roles.producer_warps, fields.small("producer_warps", 0, 32));
  TILEWRIGHT_ASSIGN(s.roles.consumer_warps, fields.small("consumer_warps", 0, 32));
  TILEWRIGHT_ASSIGN(s.roles.consumers, fields.name<Consumers>("consumers", parse_consumers));
  TILEWRIGHT_ASSIGN(s.cluster, fields.small("cluster", 1, 16));
  TILEWRIGHT_ASSIGN(s.ctas_per_sm, fields.small("ctas_per_sm", 1, 32));
  TILEWRIGHT_ASSIGN(s.swap_ab, fields.boolean("swap_ab"));
  TILEWRIGHT_ASSIGN(s.split.kind, fields.name<SplitKind>("split", parse_split));
  TILEWRIGHT_ASSIGN(s.split.parts, fields.small("split_parts", 1, kLargestTile));
  TILEWRIGHT_ASSIGN(s.token_load, fields.name<TokenLoad>("token_load", parse_token_load));
  TILEWRIGHT_ASSIGN(s.epilogue, fields.name<Epilogue>("epilogue", parse_epilogue));
  return s;
}

nlohmann::ordered_json rows_json(const RowsHistogram& rows) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& bin : rows.bins) json.push_back({{"rows", bin.rows}, {"experts", bin.experts}});
  return json;
}

Result<GemmProblem> read_problem(const Fields& fields) {
  GemmProblem problem;
  TILEWRIGHT_ASSIGN(problem.gemm, fields.name<GemmId>("gemm", parse_gemm));
  TILEWRIGHT_ASSIGN(problem.tokens, fields.integer("tokens", 1, kMostRows));
  TILEWRIGHT_ASSIGN(problem.n, fields.integer("n", 1, kLargestMatrix));
  TILEWRIGHT_ASSIGN(problem.k, fields.integer("k", 1, kLargestMatrix));
  TILEWRIGHT_ASSIGN(problem.precision, fields.name<Precision>("precision", parse_precision));
  TILEWRIGHT_ASSIGN(problem.epilogue, fields.name<Epilogue>("epilogue", parse_epilogue));
  TILEWRIGHT_ASSIGN(problem.rows, read_rows(fields));
  return problem;
}

}  // namespace tilewright::schedule
