// tilewright run: one expert layer of a checkpoint, on this machine, checked against the reference.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "tools/tilewright/layer_timing.hpp"
#include "tools/tilewright/loaded_layer.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/tensor_io.hpp"
#include "tools/tilewright/verb.hpp"
#include "tools/tilewright/verification.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  LayerSource source;
  std::string tokens;
  std::string precision;
  std::string backend = "cpu";
  CpuOptions cpu;
  bool verify = false;
  std::uint64_t seed = 1;
  double seconds = 0.5;
  std::string input;
  std::string output;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright run --checkpoint demo/qwen3-30b-a3b-nvfp4 --layer 0 --tokens 1,16,256 --verify\n"
    "  tilewright run --checkpoint DIR --layer 3 --tokens 64 --precision w4a4 --ep 8 --ep-rank 2 --format json\n"
    "  tilewright run --checkpoint DIR --input x.safetensors --output y.safetensors";

// One (precision, tokens) of the answer.
struct RunRow {
  Precision precision = Precision::w4a16;
  int tokens = 0;
  LayerTiming timing;
  std::optional<Verification> verification;
};

struct Answer {
  CpuInfo cpu;
  std::string isa;
  int threads = 0;
  std::int64_t packed_bytes = 0;
  double pack_ms = 0;
  std::vector<RunRow> rows;
};

Result<RunRow> run_row(const Options& options, const LoadedLayer& layer, MoeLayer& packed, CpuMeter& meter,
                       int tokens) {
  Result<std::vector<LayerInput>> inputs = options.input.empty() ? random_inputs(layer, tokens, options.seed)
                                                                 : file_input(layer, options.input, options.seed);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  const LayerInput& first = inputs->front();
  RunRow row;
  row.precision = packed.options().precision;
  row.tokens = first.routed.tokens;
  std::vector<float> y;
  TILEWRIGHT_ASSIGN(row.timing, time_layer(packed, layer.weights, *inputs, meter, options.seconds, y));
  if (options.verify) {
    TILEWRIGHT_ASSIGN(const auto reference,
                      reference_output(layer.weights, layer.facts.activation, row.precision, first.x, first.routed));
    row.verification = compare(y, reference, row.tokens, row.precision);
  }
  if (!options.output.empty()) TILEWRIGHT_TRY(write_output(options.output, y, row.tokens));
  return row;
}

Result<Answer> run_all(const Options& options, const LoadedLayer& layer) {
  TILEWRIGHT_ASSIGN(const auto precisions, precisions_of(options.precision, Precision::w4a16));
  std::vector<int> tokens = {1};  // with --input the file says how many
  if (options.input.empty()) {
    TILEWRIGHT_ASSIGN(tokens, parse_number_list(options.tokens.empty() ? "1" : options.tokens, "--tokens", 0));
  }
  if (!options.output.empty() && precisions.size() * tokens.size() > 1) {
    return fail(ErrorCode::invalid_argument, "--output can hold one result", "give one --tokens and one --precision");
  }
  Answer answer{cpu_info(), {}, 0, 0, 0, {}};
  Progress progress;
  for (const Precision precision : precisions) {
    progress.show(fmt::format("packing {} experts for {}", layer.weights.experts.size(), to_string(precision)));
    const auto start = std::chrono::steady_clock::now();
    TILEWRIGHT_ASSIGN(MoeLayer packed,
                      MoeLayer::create(layer.weights, layer.facts.activation, layer.facts.routing,
                                       {precision, Backend::cpu, options.cpu.isa, options.cpu.threads}));
    answer.pack_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    answer.packed_bytes = packed.packed_bytes();
    // Reads the packed weights themselves, so that measuring takes no memory of its own beside a large layer.
    TILEWRIGHT_ASSIGN(CpuMeter meter, CpuMeter::create(options.cpu, packed.packed_memory()));
    answer.isa = meter.isa();
    answer.threads = meter.threads();
    for (const int count : tokens) {
      progress.show(fmt::format("{}, {} tokens", to_string(precision), count));
      TILEWRIGHT_ASSIGN(RunRow row, run_row(options, layer, packed, meter, count));
      answer.rows.push_back(std::move(row));
    }
  }
  return answer;
}

Facts layer_facts(const Options& options, const LoadedLayer& layer, const Answer& answer) {
  const ExpertWeights& weights = layer.weights;
  return {"",
          {{"layer", fmt::format("{} of {}", layer.number, options.source.checkpoint)},
           {"model", fmt::format("{}: hidden {}, inner {}, top-{} of {} experts, {}", layer.facts.name, weights.hidden,
                                 weights.intermediate, layer.facts.routing.top_k, weights.global_experts,
                                 to_string(layer.facts.activation.kind))},
           {"experts here", fmt::format("{} to {}", weights.first_expert,
                                        weights.first_expert + static_cast<int>(weights.experts.size()) - 1)},
           {"router", layer.router ? "the checkpoint's" : "random logits"},
           {"cpu", fmt::format("{}, {} threads, {}", answer.cpu.model, answer.threads, answer.isa)},
           {"packed",
            fmt::format("{} in {:.0f} ms", readable_bytes(static_cast<double>(answer.packed_bytes)), answer.pack_ms)}}};
}

Table rows_table(const Options& options, const Answer& answer) {
  Table table{"",
              {{"precision"},
               {"tokens", true},
               {"rows", true},
               {"experts", true},
               {"us", true},
               {"weights GB/s", true},
               {"machine GB/s", true},
               {"bandwidth %", true},
               {"GFLOP/s", true},
               {"bound"},
               {"roofline %", true}},
              {}};
  if (options.verify) {
    table.columns.push_back({"max rel err", true});
    table.columns.push_back({"verified"});
  }
  for (const RunRow& row : answer.rows) {
    const LayerTiming& timing = row.timing;
    table.rows.push_back(
        {to_string(row.precision), fmt::to_string(row.tokens), fmt::to_string(timing.work.rows),
         fmt::to_string(timing.work.active_experts), significant(timing.us), significant(timing.weight_GBps),
         significant(timing.read_GBps), fmt::format("{:.0f}", 100 * timing.weight_GBps / timing.read_GBps),
         significant(timing.tflops * 1e3), timing.bound, fmt::format("{:.0f}", 100 * timing.bound_share)});
    if (row.verification) {
      table.rows.back().push_back(fmt::format("{:.2e}", row.verification->max_rel_err));
      table.rows.back().push_back(row.verification->passed ? "yes" : "NO");
    }
  }
  return table;
}

constexpr const char* kLegend =
    "Weights are read once for each active expert; the machine's GB/s are measured between the runs. bound: what the\n"
    "roofline says is slower, reading the weights or multiplying (dot); roofline %: its time over the measured one.";

std::string verification_legend(const Answer& answer) {
  std::string text = "max rel err: against the reference in double, over a token's largest output; at most";
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const Precision precision = answer.rows[i].precision;
    if (i > 0 && precision == answer.rows[i - 1].precision) continue;
    text += fmt::format("{} {:.2e} for {}", i == 0 ? "" : ",", verification_tolerance(precision), to_string(precision));
  }
  return text + ".";
}

Json row_json(const RunRow& row) {
  const LayerTiming& timing = row.timing;
  Json json = {{"precision", to_string(row.precision)},
               {"tokens", row.tokens},
               {"rows", timing.work.rows},
               {"active_experts", timing.work.active_experts},
               {"weight_bytes", timing.work.weight_bytes},
               {"us", rounded(timing.us)},
               {"rounds", timing.rounds},
               {"weight_GBps", rounded(timing.weight_GBps)},
               {"tflops", rounded(timing.tflops)},
               {"read_GBps", rounded(timing.read_GBps)},
               {"dot_GMACps", rounded(timing.dot_GMACps)},
               {"bound", timing.bound},
               {"bound_share", rounded(timing.bound_share)}};
  if (row.verification) {
    json["verified"] = row.verification->passed;
    json["max_rel_err"] = row.verification->max_rel_err;
    json["tolerance"] = row.verification->tolerance;
    json["worst_token"] = row.verification->worst_token;
  }
  return json;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back({{"code", finding.code}, {"message", finding.message}});
  return list;
}

// The fields of one result stand at the top as well, so that a script that asks one question need not index.
Json answer_json(const Options& options, const LoadedLayer& layer, const Answer& answer, Json json) {
  json["checkpoint"] = options.source.checkpoint;
  json["layer"] = layer.number;
  json["model"] = layer.facts.name;
  json["backend"] = options.backend;
  json["cpu"] = answer.cpu.model;
  json["isa"] = answer.isa;
  json["threads"] = answer.threads;
  json["packed_bytes"] = answer.packed_bytes;
  json["pack_ms"] = rounded(answer.pack_ms);
  json["router"] = layer.router ? "checkpoint" : "random";
  json["findings"] = findings_json(layer.findings);
  if (answer.rows.size() == 1) json.update(row_json(answer.rows.front()));
  if (options.verify) {
    bool verified = true;
    double error = 0;
    for (const RunRow& row : answer.rows) {
      verified = verified && row.verification->passed;
      error = std::max(error, row.verification->max_rel_err);
    }
    json["verified"] = verified;
    json["max_rel_err"] = error;
  }
  json["results"] = Json::array();
  for (const RunRow& row : answer.rows) json["results"].push_back(row_json(row));
  return json;
}

Result<Outcome> run(const Options& options) {
  if (options.source.checkpoint.empty()) {
    return fail(ErrorCode::invalid_argument, "no checkpoint is given", "use --checkpoint DIR");
  }
  TILEWRIGHT_ASSIGN([[maybe_unused]] const Backend backend, parse_backend(options.backend));
  TILEWRIGHT_ASSIGN(const LoadedLayer layer, load_layer(options.source));
  TILEWRIGHT_ASSIGN(const Answer answer, run_all(options, layer));
  Report report("run");
  report.json = answer_json(options, layer, answer, std::move(report.json));
  report.sections.emplace_back(layer_facts(options, layer, answer));
  report.sections.emplace_back(rows_table(options, answer));
  report.sections.emplace_back(
      Text{options.verify ? std::string(kLegend) + "\n" + verification_legend(answer) : kLegend});
  for (const Finding& finding : layer.findings) report.sections.emplace_back(Text{"note: " + finding.message});
  bool verified = true;
  for (const RunRow& row : answer.rows) verified = verified && (!row.verification || row.verification->passed);
  return Outcome{render(report, options.format), verified ? Exit::ok : Exit::wrong_numbers};
}

void declare_layer_options(CLI::App& command, const std::shared_ptr<Options>& options) {
  LayerSource& source = options->source;
  command.add_option("--checkpoint", source.checkpoint, "A checkpoint folder or a .safetensors file")
      ->option_text("DIR");
  command.add_option("--layer", source.layer, "The layer (default: the first with NVFP4 experts)")->option_text("N");
  command
      .add_option("--model", source.model,
                  "Take activation and routing from this model, not from the checkpoint's config.json")
      ->option_text("MODEL");
  const std::string ranks = "The slice of one rank";
  command.add_option("--tp", source.slice.tp, "Tensor-parallel ranks (default 1)")->option_text("N")->group(ranks);
  command.add_option("--tp-rank", source.slice.tp_rank, "Which of them this is (default 0)")
      ->option_text("N")
      ->group(ranks);
  command.add_option("--ep", source.slice.ep, "Expert-parallel ranks (default 1)")->option_text("N")->group(ranks);
  command.add_option("--ep-rank", source.slice.ep_rank, "Which of them this is (default 0)")
      ->option_text("N")
      ->group(ranks);
  command
      .add_flag_callback(
          "--pad", [options] { options->source.slice.padding = TpPadding::pad_to_blocks; },
          "Let I grow to whole 16-blocks for each rank where --tp would cut one")
      ->group(ranks);
}

}  // namespace

Verb add_run(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = declare_verb(app, "run", "Run one expert layer of a checkpoint here, and check its numbers",
                                   kExamples, options->format);
  declare_layer_options(*command, options);
  const std::string how = "The run";
  command->add_option("--tokens", options->tokens, "Tokens of the batch: 8, 1,8,64, 1..64 or 1..1024x2 (default 1)")
      ->option_text("LIST")
      ->group(how);
  command->add_option("--precision", options->precision, "w4a16 (default), w4a4, or both with a comma")
      ->option_text("LIST")
      ->group(how);
  command->add_option("--backend", options->backend, "Where to run: cpu (default)")->option_text("NAME")->group(how);
  command->add_option("--isa", options->cpu.isa, "CPU kernels to use (default: the best here; see 'tilewright info')")
      ->option_text("TIER")
      ->group(how);
  command->add_option("--threads", options->cpu.threads, "CPU threads (default: one a core)")
      ->option_text("N")
      ->group(how);
  command
      ->add_flag("--verify", options->verify,
                 "Compare with the reference in double; exit with 3 when the numbers do not match")
      ->group(how);
  command->add_option("--seconds", options->seconds, "Measuring time for each row (default 0.5)")
      ->option_text("S")
      ->group(how);
  command->add_option("--seed", options->seed, "Seed of the random inputs (default 1)")->option_text("N")->group(how);
  const std::string files = "Your own numbers";
  command
      ->add_option(
          "--input", options->input,
          "A .safetensors file with x [tokens, hidden], and perhaps router_logits, or topk_ids and topk_weights")
      ->option_text("FILE")
      ->group(files);
  command->add_option("--output", options->output, "Write the output as tensor y to this .safetensors file")
      ->option_text("FILE")
      ->group(files);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
