// tilewright validate: how well the cost model predicts published layer times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "core/mapped_file.hpp"
#include "tilewright/device.hpp"
#include "tilewright/published.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string file;
  std::string device = "rtx-pro-6000-server";
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright validate published_layers.csv\n"
    "  tilewright validate published_layers.csv --device rtx-pro-6000-server --format json";

std::string percent(double share) { return fmt::format("{:.2f}", 100.0 * share); }

std::string name_of(const PeerStack& stack) {
  return fmt::format("{} {} {} {}", stack.framework, stack.version, stack.kernel, to_string(stack.format));
}

Json error_json(const PredictionError& error) {
  return {{"group", error.group},
          {"rows", error.rows},
          {"mape", rounded(error.mean, 4)},
          {"p90", rounded(error.p90, 4)},
          {"worst", rounded(error.worst, 4)},
          {"bias", rounded(error.bias, 4)}};
}

Json list_json(const std::vector<PredictionError>& errors) {
  Json list = Json::array();
  for (const PredictionError& error : errors) list.push_back(error_json(error));
  return list;
}

void add_row(Table& table, const std::string& stack, const PredictionError& error) {
  table.rows.push_back({stack, error.group, fmt::format("{}", error.rows), percent(error.mean), percent(error.p90),
                        percent(error.worst), percent(error.bias)});
}

Json stack_json(const StackValidation& validation) {
  const PeerStack& stack = *validation.stack;
  return {{"framework", stack.framework},
          {"version", stack.version},
          {"kernel", stack.kernel},
          {"format", to_string(stack.format)},
          {"efficiency", rounded(stack.efficiency, 4)},
          {"fitted_efficiency", rounded(validation.fitted_efficiency, 4)},
          {"fitting", error_json(validation.fitting)},
          {"held_out", error_json(validation.held_out)},
          {"by_distribution", list_json(validation.by_distribution)},
          {"by_tokens", list_json(validation.by_tokens)},
          {"by_parallelism", list_json(validation.by_parallelism)}};
}

Table error_table(const PublishedValidation& validation) {
  Table table{"Error of predictions, percent of the measured time",
              {{"stack"}, {"rows of"}, {"rows", true}, {"mean", true}, {"p90", true}, {"worst", true}, {"bias", true}},
              {}};
  for (const StackValidation& stack : validation.stacks) {
    const std::string name = name_of(*stack.stack);
    add_row(table, name, stack.fitting);
    add_row(table, name, stack.held_out);
    for (const auto* groups : {&stack.by_distribution, &stack.by_tokens, &stack.by_parallelism}) {
      for (const PredictionError& error : *groups) add_row(table, name, error);
    }
  }
  add_row(table, "all", validation.held_out);
  return table;
}

Report report_of(const PublishedValidation& validation) {
  Report report("validate");
  report.json["device"] = validation.device;
  report.json["rows"] = validation.rows;
  report.json["fitting_shapes"] = validation.fitting_shapes;
  report.json["held_out_shapes"] = validation.held_out_shapes;
  report.json["left_out"] = Json::array();
  Facts facts{"",
              {{"device", validation.device},
               {"rows", fmt::format("{}", validation.rows)},
               {"fitting half", fmt::format("{}", fmt::join(validation.fitting_shapes, "; "))},
               {"held-out half", fmt::format("{}", fmt::join(validation.held_out_shapes, "; "))}}};
  for (const LeftOut& left_out : validation.left_out) {
    report.json["left_out"].push_back({{"reason", left_out.reason}, {"rows", left_out.rows}});
    facts.values.emplace_back("left out", fmt::format("{} rows: {}", left_out.rows, left_out.reason));
  }
  report.json["stacks"] = Json::array();
  for (const StackValidation& stack : validation.stacks) {
    report.json["stacks"].push_back(stack_json(stack));
    facts.values.emplace_back(
        "efficiency", fmt::format("{}: {} is used, this file's fitting half asks for {:.3f}", name_of(*stack.stack),
                                  significant(stack.stack->efficiency), stack.fitted_efficiency));
  }
  report.json["held_out"] = error_json(validation.held_out);
  report.sections.emplace_back(facts);
  report.sections.emplace_back(error_table(validation));
  return report;
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_ASSIGN(const Device device, find_device(options.device));
  TILEWRIGHT_ASSIGN(const MappedFile mapped, MappedFile::open(options.file));
  const auto bytes = mapped.bytes();
  const Result<PublishedFile> file = parse_published({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  // The command line is in order; what stands in the file is not.
  if (!file) return fail(ErrorCode::corrupt, options.file + ": " + file.error().cause, file.error().remedy);
  TILEWRIGHT_ASSIGN(const PublishedValidation validation, validate_published(device, *file));
  return Outcome{render(report_of(validation), options.format)};
}

}  // namespace

Verb add_validate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = declare_verb(app, "validate", "Compare predicted layer times of other stacks with published ones",
                                   kExamples, options->format);
  command->add_option("file", options->file, "Published times: CSV (docs/model.md)")->required()->option_text("FILE");
  command->add_option("--device", options->device, "What they were timed on (default rtx-pro-6000-server)")
      ->option_text("NAME");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
