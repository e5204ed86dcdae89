// tilewright plan: which schedule will run a problem on a device, what it will cost, and why not the others.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/plan_render.hpp"
#include "tilewright/planner.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/plan_bottleneck.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device;
  std::string arch;
  ProblemOptions problem;
  std::string gpus;  ///< empty: one rank is planned
  std::string link;
  std::vector<std::string> why_not;
  CacheOptions cache;
  RenderOptions render;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright plan --device rtx-pro-6000-server --model glm-5 --tokens 512 --ep 8\n"
    "  tilewright plan --device gb10 --config path/to/config.json --tokens 1,16,256 --why-not 128x256x128\n"
    "  tilewright plan --device rtx-pro-6000-server --model glm-5 --tokens 512,1024 --gpus 8 --ep 8 --link pcie5\n"
    "  tilewright plan --arch sm_120 --groups 32 --rows 16 --n 4096 --k 6144 --precision w4a4 --format json\n"
    "  tilewright plan --device h200 --model glm-5 --tokens 1..4096x4 --ep 8 --format html > plan.html";

Result<Device> device_of(const Options& options) {
  if (options.device.empty() == options.arch.empty()) {
    return fail(ErrorCode::invalid_argument,
                options.device.empty() ? "no device is given" : "--device and --arch are both given",
                "use --device NAME ('tilewright info --devices' lists them) or --arch sm_120");
  }
  if (options.device == "cpu" || options.arch == "cpu") return this_cpu({});
  if (options.device == "cuda") {
    TILEWRIGHT_ASSIGN(const TunedOn here, this_gpu());
    return device_of_gpu(here.device, here.arch, here.sm_count);
  }
  if (!options.device.empty()) return find_device(options.device);
  TILEWRIGHT_ASSIGN(const Arch arch, find_arch(options.arch));
  return default_device(arch);
}

template <typename Problem>
Result<Plan> plan_all(const Device& device, const std::vector<Problem>& problems, const PlanOptions& options) {
  TILEWRIGHT_ASSIGN(Plan whole, plan(device, problems.front(), options));
  for (std::size_t i = 1; i < problems.size(); ++i) {
    TILEWRIGHT_ASSIGN(Plan next, plan(device, problems[i], options));
    append(whole, std::move(next));
  }
  return whole;
}

// Where the time of a layer over several GPUs goes, in place of the schedules.
Result<Outcome> run_bottlenecks(const Options& options) {
  if (options.problem.model.empty()) {
    return fail(ErrorCode::invalid_argument, "--gpus and --link are of a layer, and no --model is given",
                "give --model");
  }
  TILEWRIGHT_ASSIGN(const Device device, device_of(options));
  if (device.arch == Arch::cpu) {
    return fail(ErrorCode::invalid_argument, "--gpus and --link are of GPUs, and the device is this CPU",
                "name a GPU: 'tilewright info --devices' lists them");
  }
  TILEWRIGHT_ASSIGN(const Link link, options.link.empty() ? Result<Link>(usual_link(device)) : find_link(options.link));
  ProblemOptions layers = options.problem;
  if (layers.tokens.empty()) layers.tokens = "1,32,512,1024,4096,16384";
  TILEWRIGHT_ASSIGN(auto problems, layer_problems(layers, default_precision(device.arch)));
  TILEWRIGHT_ASSIGN(const auto gpus, parse_number_list(options.gpus.empty() ? "0" : options.gpus, "--gpus", 0));
  TILEWRIGHT_TRY(spread_over(problems, gpus.front()));
  TILEWRIGHT_ASSIGN(const Plan whole, plan_all(device, problems, {}));
  TILEWRIGHT_ASSIGN(std::string text, render_bottlenecks(whole, problems, link, options.format));
  return Outcome{std::move(text)};
}

Result<Plan> make_plan(const Options& options) {
  TILEWRIGHT_ASSIGN(const Device device, device_of(options));
  PlanOptions plan_options;
  for (const std::string& text : options.why_not) {
    TILEWRIGHT_ASSIGN(const TileSpec tile, parse_tile(text));
    plan_options.why_not.push_back(tile);
  }
  TILEWRIGHT_ASSIGN(const bool has_model, gives_model(options.problem));
  const Precision precision = default_precision(device.arch);
  if (has_model) {
    TILEWRIGHT_ASSIGN(const auto problems, layer_problems(options.problem, precision));
    return plan_all(device, problems, plan_options);
  }
  TILEWRIGHT_ASSIGN(const auto problems, gemm_problems(options.problem, precision));
  return plan_all(device, problems, plan_options);
}

// What was measured has the last word, where anything was; what is stale is told, and not used.
Status use_cache(Plan& plan, const CacheOptions& options) {
  if (plan.device.arch == Arch::cpu) return {};
  TILEWRIGHT_ASSIGN(const std::optional<TuningCache> cache, read_cache(options));
  if (!cache) return {};
  const std::vector<std::string> stale = use_tuning_cache(plan, *cache, tuned_on(plan.device));
  if (!stale.empty()) {
    fmt::print(stderr,
               "tilewright plan: {} of {} GEMMs have stale entries in the cache, and take the model's choice: {}\n",
               stale.size(), plan.plans.size(), stale.front());
  }
  return {};
}

std::string render_plan(const Plan& plan, const Options& options) {
  switch (options.format) {
    case Format::text: return render_plan_text(plan, options.render);
    case Format::md: return render_plan_markdown(plan, options.render);
    case Format::csv: return render_plan_csv(plan, options.render);
    case Format::html: return render_plan_html(plan, options.render);
    case Format::json: break;
  }
  return render_plan_json(plan, options.render);
}

// A plan in which some GEMM has no schedule is printed, and says by the exit code that it cannot run here.
Result<Outcome> run(const Options& options) {
  if (!options.gpus.empty() || !options.link.empty()) return run_bottlenecks(options);
  TILEWRIGHT_ASSIGN(Plan plan, make_plan(options));
  TILEWRIGHT_TRY(use_cache(plan, options.cache));
  Outcome outcome{render_plan(plan, options)};
  for (const GemmPlan& gemm : plan.plans) {
    if (gemm.chosen() == nullptr) outcome.exit = Exit::not_possible;
  }
  return outcome;
}

}  // namespace

Verb add_plan(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "plan", "Choose the schedule for a problem on a device, and say why not the others", kExamples,
                   options->format);
  command
      ->add_option("--device", options->device,
                   "A known device, e.g. rtx-pro-6000-server, gb10, h200; cuda: the GPU of this machine; or cpu: this "
                   "one, measured")
      ->option_text("NAME");
  command->add_option("--arch", options->arch, "A compute capability instead of a device, e.g. sm_120")
      ->option_text("ARCH");
  declare_model_options(*command, options->problem);
  const std::string layer = "A layer of a model";
  command
      ->add_option("--rows-from", options->problem.distribution,
                   "How tokens spread over experts: uniform_random (default), balanced or power_law")
      ->option_text("MODEL")
      ->group(layer);
  command->add_option("--alpha", options->problem.alpha, "Exponent of power_law (default 1.2)")
      ->option_text("A")
      ->group(layer);
  command->add_option("--expert-rows", options->problem.counts, "Rows of each local expert, instead of a spread")
      ->option_text("LIST")
      ->group(layer);
  command
      ->add_flag("--pad", options->problem.pad_intermediate,
                 "Let I grow to whole 16-blocks for each rank where --tp would cut one")
      ->group(layer);
  command
      ->add_option("--gpus", options->gpus, "Tell where the time of the layer over N GPUs goes, and what would move it")
      ->option_text("N")
      ->group(layer);
  command
      ->add_option("--link", options->link,
                   "What connects the GPUs: pcie5, nvlink4 or nvlink5 (default: the usual one)")
      ->option_text("NAME")
      ->group(layer);
  declare_gemm_options(*command, options->problem);
  command
      ->add_option("--precision", options->problem.precision,
                   "w4a16 or w4a4 (default: w4a4 where the device multiplies FP4)")
      ->option_text("LIST");
  command
      ->add_option("--why-not", options->why_not,
                   "Ask about a tile: 128x256x128, or with stages 128x256x128:3; a list, or repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("TILE");
  declare_cache_options(*command, options->cache, "", true);
  command->add_flag("--all", options->render.all, "List every legal candidate with its predicted time");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
