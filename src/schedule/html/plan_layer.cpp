// The steps of a layer and how much of its time each takes.
#include <fmt/format.h>

#include <algorithm>

#include "schedule/format.hpp"
#include "schedule/html/bar_chart.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

using schedule::microseconds;

std::vector<std::string> step_names(const std::vector<LayerTime>& layers) {
  std::vector<std::string> names;
  for (const LayerTime& layer : layers) {
    for (const LayerStep& step : layer.steps) {
      if (std::find(names.begin(), names.end(), step.name) == names.end()) names.push_back(step.name);
    }
  }
  return names;
}

// Which of several problems each layer is of: "w4a4". A layer's first GEMM says it; it has two.
std::vector<std::string> variants_of(const Plan& plan, const std::vector<GemmGroup>& groups) {
  std::vector<std::string> variants(plan.layers.size());
  if (plan.plans.size() != 2 * plan.layers.size()) return variants;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const GemmGroup& g) {
      return std::find(g.plans.begin(), g.plans.end(), &plan.plans[2 * i]) != g.plans.end();
    });
    if (group != groups.end()) variants[i] = group->variant;
  }
  return variants;
}

Table table_of(const std::vector<LayerTime>& layers, const std::vector<std::string>& names,
               const std::vector<std::string>& variants) {
  Table table{"Predicted time of the layer on this rank and of its steps, us",
              {{"tokens", Column::number},
               {"predicted", Column::number},
               {"floor", Column::number},
               {"% of the floor's speed", Column::number}},
              {}};
  for (const std::string& name : names) {
    table.columns.push_back({name, Column::number});
    table.columns.push_back({name + " moves", Column::number});
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerTime& layer = layers[i];
    if (!variants[i].empty() && (i == 0 || variants[i] != variants[i - 1])) table.add_heading(variants[i]);
    const bool runs = layer.predicted_us > 0;
    std::vector<TableCell> cells = {{schedule::grouped(layer.tokens)},
                                    {runs ? microseconds(layer.predicted_us) : "none"},
                                    {microseconds(layer.floor_us)},
                                    {runs ? schedule::percent(layer.floor_us / layer.predicted_us) : ""}};
    for (const std::string& name : names) {
      const auto step =
          std::find_if(layer.steps.begin(), layer.steps.end(), [&](const LayerStep& s) { return s.name == name; });
      const bool has = runs && step != layer.steps.end();
      cells.push_back({has ? microseconds(step->us) : std::string()});
      cells.push_back({has ? schedule::bytes(step->bytes) : std::string()});
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string layer_section(const Plan& plan, const std::vector<GemmGroup>& groups) {
  if (plan.layers.empty()) return {};
  BarChart chart;
  chart.words = {"layer-chart", "Share of each step in the predicted time",
                 "Each bar is the predicted time of the layer for one token count, divided into its steps."};
  chart.order = step_names(plan.layers);
  const auto variants = variants_of(plan, groups);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const LayerTime& layer = plan.layers[i];
    if (layer.predicted_us <= 0) continue;
    Bar bar{schedule::tokens_words(layer.tokens) + (variants[i].empty() ? "" : ", " + variants[i]),
            fmt::format("{} us", microseconds(layer.predicted_us)),
            {}};
    for (const LayerStep& step : layer.steps) bar.parts.push_back({step.name, step.us});
    chart.bars.push_back(std::move(bar));
  }
  return (chart.bars.empty() ? std::string() : draw(chart)) +
         render(table_of(plan.layers, chart.order, variants), "layer-steps");
}

}  // namespace tilewright::html
