// Predicted time against tokens, a line a tile; and the terms of the chosen schedules.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "schedule/format.hpp"
#include "schedule/html/line_chart.hpp"
#include "schedule/html/markup.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"

namespace tilewright::html {
namespace {

using schedule::grouped;
using schedule::microseconds;

std::string tile_of(const Schedule& s) { return fmt::format("{}x{}x{}", s.tile_m, s.tile_n, s.tile_k); }

bool tile_before(const Schedule& a, const Schedule& b) {
  return std::tie(a.tile_m, a.tile_n, a.tile_k) < std::tie(b.tile_m, b.tile_n, b.tile_k);
}

bool same_tile(const Schedule& a, const Schedule& b) { return !tile_before(a, b) && !tile_before(b, a); }

// The tile's best candidate; null where it has no legal one.
const Candidate* best_of(const GemmPlan& plan, const Schedule& tile) {
  const auto found = std::find_if(plan.ranked.begin(), plan.ranked.end(),
                                  [&](const Candidate& candidate) { return same_tile(candidate.schedule, tile); });
  return found == plan.ranked.end() ? nullptr : &*found;
}

struct TileLine {
  Schedule tile;
  bool chosen = false;  // for some of the token counts
};

std::vector<TileLine> tiles_of(const GemmGroup& group) {
  std::vector<TileLine> tiles;
  for (const GemmPlan* plan : group.plans) {
    for (const Candidate& candidate : plan->ranked) {
      auto found = std::find_if(tiles.begin(), tiles.end(),
                                [&](const TileLine& line) { return same_tile(line.tile, candidate.schedule); });
      if (found == tiles.end()) found = tiles.insert(tiles.end(), {candidate.schedule, false});
      if (&candidate == plan->chosen()) found->chosen = true;
    }
  }
  std::sort(tiles.begin(), tiles.end(),
            [](const TileLine& a, const TileLine& b) { return tile_before(a.tile, b.tile); });
  return tiles;
}

Series line_of(const GemmGroup& group, const TileLine& line, std::size_t chosen_before) {
  Series series{tile_of(line.tile), colour_of(chosen_before), Stroke::solid, marker_of(chosen_before), false, {}};
  if (!line.chosen) series = {{}, 0, Stroke::solid, Marker::none, false, {}};
  for (const GemmPlan* plan : group.plans) {
    if (const Candidate* best = best_of(*plan, line.tile)) {
      series.points.push_back({static_cast<double>(plan->problem.tokens), best->cost.predicted_us, 0, 0, {}});
    }
  }
  return series;
}

// Faint lines first, so that the others lie on them; one of them stands for all in the legend.
LineChart chart_of(const GemmGroup& group, const std::vector<TileLine>& tiles, const std::string& id) {
  LineChart chart;
  chart.words = {
      id, fmt::format("{}: predicted time by tile", group.name),
      "Time in us against tokens, both logarithmic: each line is the best candidate of one tile. Tiles that are "
      "chosen for some tokens have a colour and a mark."};
  chart.x = {"tokens", true, token_marks(group)};
  chart.y = {"us", true, {}};
  for (const TileLine& line : tiles) {
    if (!line.chosen) chart.series.push_back(line_of(group, line, 0));
  }
  if (!chart.series.empty()) chart.series.front().name = "other tiles";
  std::size_t chosen = 0;
  for (const TileLine& line : tiles) {
    if (line.chosen) chart.series.push_back(line_of(group, line, chosen++));
  }
  Series floor{"floor", 8, Stroke::dashed, Marker::none, false, {}};
  for (const GemmPlan* plan : group.plans) {
    floor.points.push_back({static_cast<double>(plan->problem.tokens), plan->floor.us(), 0, 0, {}});
  }
  chart.series.push_back(std::move(floor));
  return chart;
}

Table table_of(const GemmGroup& group, const std::vector<TileLine>& tiles) {
  Table table{
      fmt::format("{}: predicted us of each tile's best candidate, by tokens; the chosen ones are bold", group.name),
      {{"tile"}},
      {}};
  for (const GemmPlan* plan : group.plans) {
    table.columns.push_back({grouped(plan->problem.tokens), Column::number});
  }
  for (const TileLine& line : tiles) {
    std::vector<TableCell> cells = {{tile_of(line.tile)}};
    for (const GemmPlan* plan : group.plans) {
      const Candidate* best = best_of(*plan, line.tile);
      cells.push_back(best == nullptr ? TableCell{"none"}
                                      : TableCell{microseconds(best->cost.predicted_us), best == plan->chosen()});
    }
    table.add(std::move(cells));
  }
  std::vector<TableCell> floors = {{"floor"}};
  for (const GemmPlan* plan : group.plans) floors.push_back({microseconds(plan->floor.us())});
  table.add(std::move(floors));
  return table;
}

}  // namespace

std::string times_section(const Plan& /*plan*/, const std::vector<GemmGroup>& groups) {
  std::string body;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto tiles = tiles_of(groups[i]);
    if (tiles.empty()) continue;
    const std::string id = fmt::format("times-{}", i + 1);
    // One count makes no line.
    if (token_marks(groups[i]).size() > 1) body += draw(chart_of(groups[i], tiles, id + "-chart"));
    body += render(table_of(groups[i], tiles), id);
  }
  return body;
}

std::string terms_section(const std::vector<GemmGroup>& groups) {
  Table table{"Terms of the chosen schedules, us; terms overlap, docs/schedules.md says how they join",
              {{"GEMM"}, {"tokens", Column::number}},
              {}};
  for (const char* name :
       {"predicted", "dram", "busiest SM or core", "mma", "decode", "smem", "l2", "latency", "barriers", "epilogues",
        "launch and fill", "tail", "tiles", "waves", "waves full %", "token columns filled %"}) {
    table.columns.push_back({name, Column::number});
  }
  for (const GemmGroup& group : groups) {
    for (const GemmPlan* plan : group.plans) {
      if (plan->chosen() == nullptr) continue;
      const Cost& cost = plan->chosen()->cost;
      std::vector<TableCell> cells = {{group.name}, {grouped(plan->problem.tokens)}};
      for (const double us :
           {cost.predicted_us, cost.dram_us, cost.sm_us, cost.mma_us, cost.decode_us, cost.smem_us, cost.l2_us,
            cost.latency_us, cost.overhead_us, cost.epilogue_us, cost.launch_us, cost.tail_us}) {
        cells.push_back({microseconds(us)});
      }
      cells.push_back({grouped(cost.tiles)});
      cells.push_back({fmt::format("{:.2f}", cost.waves)});
      cells.push_back({schedule::percent(cost.wave_efficiency)});
      cells.push_back({schedule::percent(cost.token_fill)});
      table.add(std::move(cells));
    }
  }
  return table.rows.empty() ? std::string() : render(table, "terms-numbers");
}

}  // namespace tilewright::html
