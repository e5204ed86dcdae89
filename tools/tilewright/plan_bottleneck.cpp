#include "tools/tilewright/plan_bottleneck.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "schedule/html/line_chart.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright::cli {
namespace {

// The answer in one sentence.
std::string finding(const LayerBottleneck& layer) {
  std::string text = fmt::format(
      "{} token{}, {:.1f} rows an expert: bound by {}; exchanges take {:.0f}% of the time; {:.1f}% of the dense peak",
      layer.tokens, layer.tokens == 1 ? "" : "s", layer.rows_per_expert, to_string(layer.bound),
      100.0 * layer.communication_us / layer.total_us, 100.0 * layer.peak_share);
  if (!layer.changes.empty() && layer.changes.front().throughput > 1.0) {
    const LayerChange& best = layer.changes.front();
    text += fmt::format("; {} would bring {:.0f}% more tokens a second", best.words, 100.0 * (best.throughput - 1.0));
  }
  return text;
}

Json json_of(const LayerBottleneck& layer) {
  Json parts;
  for (const LayerPartTime& part : layer.parts) parts[fmt::format("{}_us", to_string(part.part))] = rounded(part.us);
  Json exchanged = Json::array();
  for (const Exchange& exchange : layer.exchanges) {
    exchanged.push_back({{"name", exchange.name}, {"bytes", exchange.bytes}, {"us", rounded(exchange.us)}});
  }
  Json changes = Json::array();
  for (const LayerChange& change : layer.changes) {
    changes.push_back({{"change", change.name},
                       {"what", change.words},
                       {"us", rounded(change.us)},
                       {"throughput", rounded(change.throughput, 4)}});
  }
  return {{"tokens", layer.tokens},
          {"tp", layer.tp},
          {"ep", layer.ep},
          {"link", layer.link},
          {"rows_per_expert", rounded(layer.rows_per_expert, 4)},
          {"active_experts", layer.active_experts},
          {"parts", std::move(parts)},
          {"bound", to_string(layer.bound)},
          {"finding", finding(layer)},
          {"exchanges", std::move(exchanged)},
          {"experts_us", rounded(layer.experts_us)},
          {"communication_us", rounded(layer.communication_us)},
          {"total_us", rounded(layer.total_us)},
          {"communication_share", rounded(layer.communication_us / layer.total_us, 4)},
          {"floor_us", rounded(layer.floor_us)},
          {"floor_share", rounded(layer.floor_us / layer.total_us, 4)},
          {"tflops", rounded(layer.tflops, 4)},
          {"peak_share", rounded(layer.peak_share, 4)},
          {"usual_stack_us", layer.usual_stack_us > 0 ? Json(rounded(layer.usual_stack_us)) : Json()},
          {"changes", std::move(changes)}};
}

std::string us(double value) { return fmt::format("{:.1f}", value); }
std::string percent(double share) { return fmt::format("{:.1f}", 100.0 * share); }

Table parts_table(const std::vector<LayerBottleneck>& layers) {
  Table table{"Where the time goes, us: each part alone; within a GEMM the first three overlap",
              {{"tokens", true}, {"tp", true}, {"ep", true}, {"rows an expert", true}},
              {}};
  for (const LayerPartTime& part : layers.front().parts) table.columns.push_back({to_string(part.part), true});
  table.columns.push_back({"bound by"});
  for (const LayerBottleneck& layer : layers) {
    std::vector<std::string> row = {fmt::format("{}", layer.tokens), fmt::format("{}", layer.tp),
                                    fmt::format("{}", layer.ep), fmt::format("{:.1f}", layer.rows_per_expert)};
    for (const LayerPartTime& part : layer.parts) row.push_back(us(part.us));
    row.emplace_back(to_string(layer.bound));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table totals_table(const std::vector<LayerBottleneck>& layers) {
  Table table{"The layer on one GPU, its exchanges, and how far both are from the floor of one fused kernel",
              {{"tokens", true},
               {"tp", true},
               {"ep", true},
               {"experts us", true},
               {"exchanges us", true},
               {"total us", true},
               {"exchanges %", true},
               {"floor us", true},
               {"% of the floor's speed", true},
               {"TFLOP/s", true},
               {"% of peak", true},
               {"usual stack us, no exchanges", true}},
              {}};
  for (const LayerBottleneck& layer : layers) {
    table.rows.push_back({fmt::format("{}", layer.tokens), fmt::format("{}", layer.tp), fmt::format("{}", layer.ep),
                          us(layer.experts_us), us(layer.communication_us), us(layer.total_us),
                          percent(layer.communication_us / layer.total_us), us(layer.floor_us),
                          percent(layer.floor_us / layer.total_us), significant(layer.tflops),
                          percent(layer.peak_share), layer.usual_stack_us > 0 ? us(layer.usual_stack_us) : ""});
  }
  return table;
}

Table changes_table(const std::vector<LayerBottleneck>& layers) {
  Table table{"One change, the best first",
              {{"tokens", true}, {"tp", true}, {"ep", true}, {"change"}, {"what"}, {"us", true}, {"tokens/s %", true}},
              {}};
  for (const LayerBottleneck& layer : layers) {
    for (const LayerChange& change : layer.changes) {
      table.rows.push_back({fmt::format("{}", layer.tokens), fmt::format("{}", layer.tp), fmt::format("{}", layer.ep),
                            change.name, change.words, us(change.us),
                            fmt::format("{:+.1f}", 100.0 * (change.throughput - 1.0))});
    }
  }
  return table;
}

// The total of each split of the layer over the GPUs, its exchanges, and the floor, which all of them have in common.
std::string times_chart(const std::vector<LayerBottleneck>& layers) {
  html::LineChart chart;
  chart.words = {
      "times-chart", "Predicted time of the layer over the GPUs",
      "Time in us against tokens, both logarithmic: the layer with its exchanges, the exchanges alone, and the "
      "floor of one fused kernel."};
  chart.x = {"tokens", true, {}};
  chart.y = {"us", true, {}};
  for (const LayerBottleneck& layer : layers) {
    const std::string split = fmt::format("tp {}, ep {}", layer.tp, layer.ep);
    const auto i = std::find_if(chart.series.begin(), chart.series.end(),
                                [&](const html::Series& s) { return s.name == split + ", total"; }) -
                   chart.series.begin();
    const auto first = static_cast<std::size_t>(i);
    if (first == chart.series.size()) {
      const std::size_t n = first / 3;
      const int colour = html::colour_of(n);
      const html::Marker marker = html::marker_of(n);
      chart.series.push_back({split + ", total", colour, html::Stroke::solid, marker, false, {}});
      chart.series.push_back({split + ", exchanges", colour, html::Stroke::dotted, marker, true, {}});
      chart.series.push_back({split + ", floor", colour, html::Stroke::dashed, html::Marker::none, false, {}});
    }
    const auto x = static_cast<double>(layer.tokens);
    chart.series[first].points.push_back({x, layer.total_us, 0, 0});
    chart.series[first + 1].points.push_back({x, layer.communication_us, 0, 0});
    chart.series[first + 2].points.push_back({x, layer.floor_us, 0, 0});
    if (std::find(chart.x.marks.begin(), chart.x.marks.end(), x) == chart.x.marks.end()) chart.x.marks.push_back(x);
  }
  std::sort(chart.x.marks.begin(), chart.x.marks.end());
  return html::draw(chart);
}

// A paragraph a finding on a page, a line a finding elsewhere.
void add_findings(Report& report, const std::vector<LayerBottleneck>& layers, Format format) {
  std::vector<std::string> findings;
  for (const LayerBottleneck& layer : layers) findings.push_back(finding(layer));
  if (format != Format::html) {
    report.sections.emplace_back(Text{fmt::format("{}", fmt::join(findings, "\n"))});
    return;
  }
  for (std::string& words : findings) report.sections.emplace_back(Text{std::move(words)});
}

}  // namespace

Status spread_over(std::vector<LayerProblem>& problems, int gpus) {
  for (LayerProblem& problem : problems) {
    if (problem.tp == 1 && problem.ep == 1 && gpus > 0) problem.ep = gpus;
    if (gpus > 0 && problem.tp * problem.ep != gpus) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("tp {} and ep {} take {} GPUs, not {}", problem.tp, problem.ep, problem.tp * problem.ep, gpus),
          "give --tp and --ep whose product is --gpus");
    }
  }
  return {};
}

Result<std::string> render_bottlenecks(const Plan& plan, const std::vector<LayerProblem>& problems, const Link& link,
                                       Format format) {
  std::vector<LayerBottleneck> layers;
  for (const LayerProblem& problem : problems) {
    TILEWRIGHT_ASSIGN(LayerBottleneck layer, find_bottleneck(plan.device, problem, link));
    layers.push_back(std::move(layer));
  }
  Report report("plan");
  report.title = fmt::format("{} on {}, over several GPUs", plan.subject, plan.device.name);
  if (format == Format::json) report.json = Json::parse(render_plan_json(plan));
  report.json["link"] = {{"name", link.name},
                         {"title", link.title},
                         {"GBps", rounded(link.GBps, 4)},
                         {"latency_us", rounded(link.latency_us, 4)}};
  report.json["bottlenecks"] = Json::array();
  for (const LayerBottleneck& layer : layers) report.json["bottlenecks"].push_back(json_of(layer));
  report.sections.emplace_back(
      Facts{"",
            {{"layer", plan.subject},
             {"device", plan.device.title},
             {"link", fmt::format("{}, {:.1f} GB/s from each GPU, {} us an exchange", link.title, link.GBps,
                                  significant(link.latency_us))},
             {"note", "times are predicted; exchanges are counted in full, none hides behind the experts"}}});
  add_findings(report, layers, format);
  report.sections.emplace_back(parts_table(layers));
  report.sections.emplace_back(totals_table(layers));
  if (format == Format::html) report.sections.emplace_back(Figure{times_chart(layers)});
  report.sections.emplace_back(changes_table(layers));
  return render(report, format);
}

}  // namespace tilewright::cli
