// tilewright run: one expert layer of a checkpoint, on this machine, checked against the reference.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>

#include "tools/tilewright/cuda_layer_timing.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/run_answer.hpp"
#include "tools/tilewright/tensor_io.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kExamples =
    "  tilewright run --checkpoint demo/qwen3-30b-a3b-nvfp4 --layer 0 --tokens 1,16,256 --verify\n"
    "  tilewright run --checkpoint DIR --layer 3 --tokens 64 --precision w4a4 --ep 8 --ep-rank 2 --format json\n"
    "  tilewright run --checkpoint DIR --backend cuda --tokens 1,64,1024 --verify\n"
    "  tilewright run --checkpoint DIR --backend cuda --arch sm_120 --emulate-mma --tokens 1,64 --verify\n"
    "  tilewright run --checkpoint DIR --input x.safetensors --output y.safetensors";

// Times a layer on one input after the other; `y` receives the output of the first.
using Timer = std::function<Result<LayerTiming>(const std::vector<LayerInput>& inputs, std::vector<float>& y)>;

Result<RunRow> run_row(const RunOptions& options, const LoadedLayer& layer, const MoeLayerOptions& how,
                       const Timer& time, int tokens) {
  Result<std::vector<LayerInput>> inputs = options.input.empty() ? random_inputs(layer, tokens, options.seed)
                                                                 : file_input(layer, options.input, options.seed);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  const LayerInput& first = inputs->front();
  RunRow row;
  row.precision = how.precision;
  row.tokens = first.routed.tokens;
  std::vector<float> y;
  TILEWRIGHT_ASSIGN(row.timing, time(*inputs, y));
  if (options.verify) {
    TILEWRIGHT_ASSIGN(const auto reference,
                      reference_output(layer.weights, layer.facts.activation, row.precision, first.x, first.routed));
    row.verification = compare(y, reference, row.tokens, row.precision, how.backend);
  }
  if (!options.output.empty()) TILEWRIGHT_TRY(write_output(options.output, y, row.tokens));
  return row;
}

// The backend's way to time a packed layer; it and `packed` live as long as the rows of one precision take.
Result<Timer> cpu_timer(const RunOptions& options, const LoadedLayer& layer, MoeLayer& packed, RunAnswer& answer) {
  // Reads the packed weights themselves, so that measuring takes no memory of its own beside a large layer.
  TILEWRIGHT_ASSIGN(CpuMeter created, CpuMeter::create(options.cpu, packed.packed_memory()));
  const auto meter = std::make_shared<CpuMeter>(std::move(created));
  answer.machine = cpu_info().model;
  answer.isa = meter->isa();
  answer.threads = meter->threads();
  return Timer([&options, &layer, &packed, meter](const std::vector<LayerInput>& inputs, std::vector<float>& y) {
    return time_layer(packed, layer.weights, inputs, *meter, options.seconds, y);
  });
}

// Measured schedules, where the cache has some of this layer on this GPU.
Status use_tuned_schedules(const RunOptions& options, const LoadedLayer& layer, MoeLayer& packed) {
  TILEWRIGHT_ASSIGN(const std::optional<TuningCache> cache, read_cache(options.cache));
  if (!cache) return {};
  TILEWRIGHT_ASSIGN(const TunedOn here, this_gpu());
  LayerProblem problem;
  problem.model = layer.facts;
  problem.tp = options.source.slice.tp;
  problem.ep = options.source.slice.ep;
  problem.precision = packed.options().precision;
  problem.pad_intermediate = options.source.slice.padding == TpPadding::pad_to_blocks;
  const Arch kernels = packed.cuda()->info().arch;
  return packed.cuda()->use_schedules(tuned_rungs(*cache, here, problem, kernels));
}

Result<Timer> cuda_timer(const RunOptions& options, const LoadedLayer& layer, MoeLayer& packed, RunAnswer& answer) {
  TILEWRIGHT_TRY(use_tuned_schedules(options, layer, packed));
  TILEWRIGHT_ASSIGN(const cuda::GpuLimits limits, cuda::measure_gpu(answer.how.precision));
  answer.machine = limits.device;
  answer.sm_count = limits.sm_count;
  return Timer([&layer, &packed, limits](const std::vector<LayerInput>& inputs, std::vector<float>& y) {
    return time_cuda_layer(packed, layer.weights, inputs, limits, y);
  });
}

Result<RunAnswer> run_all(const RunOptions& options, const MoeLayerOptions& how,
                          const std::vector<Precision>& precisions, const LoadedLayer& layer) {
  std::vector<int> tokens = {1};  // with --input the file says how many
  if (options.input.empty()) {
    TILEWRIGHT_ASSIGN(tokens, parse_number_list(options.tokens.empty() ? "1" : options.tokens, "--tokens", 0));
  }
  if (!options.output.empty() && precisions.size() * tokens.size() > 1) {
    return fail(ErrorCode::invalid_argument, "--output can hold one result", "give one --tokens and one --precision");
  }
  RunAnswer answer;
  answer.how = how;
  Progress progress;
  for (const Precision precision : precisions) {
    progress.show(fmt::format("packing {} experts for {}", layer.weights.experts.size(), to_string(precision)));
    const auto start = std::chrono::steady_clock::now();
    answer.how.precision = precision;
    TILEWRIGHT_ASSIGN(MoeLayer packed,
                      MoeLayer::create(layer.weights, layer.facts.activation, layer.facts.routing, answer.how));
    answer.pack_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    answer.packed_bytes = packed.packed_bytes();
    if (const CudaLayer* on_gpu = packed.cuda()) {
      answer.how.arch = on_gpu->info().arch;
      answer.how.emulate_mma = on_gpu->info().emulated_mma;
    }
    TILEWRIGHT_ASSIGN(const Timer time, how.backend == Backend::cuda ? cuda_timer(options, layer, packed, answer)
                                                                     : cpu_timer(options, layer, packed, answer));
    for (const int count : tokens) {
      progress.show(fmt::format("{}, {} tokens", to_string(precision), count));
      TILEWRIGHT_ASSIGN(RunRow row, run_row(options, layer, answer.how, time, count));
      answer.rows.push_back(std::move(row));
    }
  }
  return answer;
}

Result<Outcome> run(const RunOptions& options) {
  if (options.source.checkpoint.empty()) {
    return fail(ErrorCode::invalid_argument, "no checkpoint is given", "use --checkpoint DIR");
  }
  TILEWRIGHT_ASSIGN(MoeLayerOptions how, layer_options(options.backend));
  how.isa = options.cpu.isa;
  how.threads = options.cpu.threads;
  TILEWRIGHT_ASSIGN(const auto precisions, layer_precisions(options.precision, how));
  for (const Precision precision : precisions) {
    how.precision = precision;
    TILEWRIGHT_TRY(check_options(how));
  }
  TILEWRIGHT_ASSIGN(const LoadedLayer layer, load_layer(options.source));
  TILEWRIGHT_ASSIGN(const RunAnswer answer, run_all(options, how, precisions, layer));
  return Outcome{render(run_report(options, layer, answer), options.format),
                 answer.verified() ? Exit::ok : Exit::wrong_numbers};
}

void declare_layer_options(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
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
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = declare_verb(app, "run", "Run one expert layer of a checkpoint here, and check its numbers",
                                   kExamples, options->format);
  declare_layer_options(*command, options);
  const std::string how = "The run";
  command->add_option("--tokens", options->tokens, "Tokens of the batch: 8, 1,8,64, 1..64 or 1..1024x2 (default 1)")
      ->option_text("LIST")
      ->group(how);
  command
      ->add_option("--precision", options->precision,
                   "w4a16 (default), w4a4 (default with --arch sm_120), or both with a comma")
      ->option_text("LIST")
      ->group(how);
  declare_backend_options(*command, options->backend, "Where to run", how);
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
  declare_cache_options(*command, options->cache, how, true);
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
