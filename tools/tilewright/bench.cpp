// tilewright bench: a layer's speed beside what this machine could do.
#include <memory>

#include "tools/tilewright/bench_verb.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kExamples =
    "  tilewright bench --backend cpu --model qwen3-30b-a3b --tokens 1,8,64,512\n"
    "  tilewright bench --model glm-5 --ep 8 --tokens 1..8x2 --precision w4a16,w4a4 --format json\n"
    "  tilewright bench --model qwen3-30b-a3b --tokens 1 --isa avx2 --threads 1\n"
    "  tilewright bench --backend cuda --graph --model glm-5 --ep 8 --local --tokens 1,8,32,64,128,512\n"
    "  tilewright bench --model glm-5 --ep 8 --tokens 1..512x4 --format html > bench.html";

Result<BenchPlan> bench_plan(const BenchOptions& options) {
  if (options.problem.model.empty()) {
    return fail(ErrorCode::invalid_argument, "no model is given", "use --model NAME, e.g. --model qwen3-30b-a3b");
  }
  BenchPlan plan;
  TILEWRIGHT_ASSIGN(plan.model, model_named(options.problem.model));
  TILEWRIGHT_ASSIGN(
      plan.tokens,
      parse_number_list(options.problem.tokens.empty() ? "1,8,64,512" : options.problem.tokens, "--tokens", 1));
  TILEWRIGHT_ASSIGN(plan.how, layer_options(options.backend));
  plan.how.isa = options.cpu.isa;
  plan.how.threads = options.cpu.threads;
  TILEWRIGHT_ASSIGN(plan.precisions, layer_precisions(options.problem.precision, plan.how));
  TILEWRIGHT_ASSIGN(plan.tps, parse_number_list(options.problem.tp, "--tp", 1));
  TILEWRIGHT_ASSIGN(plan.eps, parse_number_list(options.problem.ep, "--ep", 1));
  return plan;
}

Result<Outcome> run(const BenchOptions& options) {
  TILEWRIGHT_ASSIGN(const BenchPlan plan, bench_plan(options));
  for (const Precision precision : plan.precisions) {
    MoeLayerOptions how = plan.how;
    how.precision = precision;
    TILEWRIGHT_TRY(check_options(how));
  }
  Report report("bench");
  report.json["version"] = TILEWRIGHT_VERSION;
  report.json["backend"] = to_string(plan.how.backend);
  TILEWRIGHT_TRY(plan.how.backend == Backend::cuda ? add_cuda_bench(options, plan, report)
                                                   : add_cpu_bench(options, plan, report));
  return Outcome{render(report, options.format)};
}

}  // namespace

Verb add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      declare_verb(app, "bench", "Time an expert layer with random weights beside this machine's limits", kExamples,
                   options->format);
  declare_model_options(*command, options->problem);
  command
      ->add_option("--precision", options->problem.precision,
                   "w4a16 (default), w4a4 (default with --arch sm_120), or both with a comma")
      ->option_text("LIST");
  command
      ->add_option("--spread", options->spread,
                   "How tokens choose experts: balanced (default on the CPU), uniform (default on a GPU), skewed by a "
                   "power law, or single: all the same")
      ->option_text("HOW");
  declare_backend_options(*command, options->backend, "Where to run", "");
  const std::string cpu = "On the CPU";
  command->add_option("--isa", options->cpu.isa, "CPU kernels to use (default: the best here; see 'tilewright info')")
      ->option_text("TIER")
      ->group(cpu);
  command->add_option("--threads", options->cpu.threads, "CPU threads (default: one a core)")
      ->option_text("N")
      ->group(cpu);
  command->add_option("--seconds", options->seconds, "Measuring time for each row (default 2)")
      ->option_text("S")
      ->group(cpu);
  const std::string gpu = "On a GPU";
  command
      ->add_flag("--graph", options->graph, "Replay CUDA graphs of layers, as serving engines do, not single launches")
      ->group(gpu);
  command
      ->add_flag("--local", options->local,
                 "Tokens choose among this rank's experts alone: T tokens give T * top-k rows")
      ->group(gpu);
  declare_cache_options(*command, options->cache, gpu, true);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
