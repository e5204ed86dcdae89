// tilewright tune: which schedule is the fastest for each token count, measured, and kept in the cache.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "schedule/token_buckets.hpp"
#include "tools/tilewright/answer_file.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/interrupt.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/tune_answer.hpp"
#include "tools/tilewright/verb.hpp"
#include "tune/cuda_gemm_bench.hpp"
#include "tune/routed_work.hpp"
#include "tune/tune_layer.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device = "cuda";
  ProblemOptions problem;
  bool local = false;
  double budget_s = 60.0;
  std::string pin;
  bool unpin = false;
  std::vector<std::string> bans;
  std::vector<std::string> unbans;
  CacheOptions cache;
  std::string out;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright tune --model glm-5 --ep 8\n"
    "  tilewright tune --model qwen3-30b-a3b --tokens 1,8,64,512 --budget 10 --format json\n"
    "  tilewright tune --model glm-5 --ep 8 --tokens 64 --pin 256x24x256/stream_k\n"
    "  tilewright tune --ban 256x8x256/stream_k";

// The layers of every slice that the options multiply out to, tokens aside.
Result<std::vector<LayerProblem>> layers_of(const Options& options) {
  ProblemOptions one = options.problem;
  one.tokens = "1";
  TILEWRIGHT_ASSIGN(std::vector<LayerProblem> layers, layer_problems(one, Precision::w4a16));
  if (!options.local) return layers;
  for (LayerProblem& layer : layers) {
    TILEWRIGHT_TRY(tune::check_split(layer.model, layer.tp, layer.ep));
    layer.model = tune::local_model(layer.model, layer.model.experts / layer.ep);
    layer.ep = 1;
  }
  return layers;
}

Result<std::vector<int>> tokens_of(const Options& options) {
  if (!options.problem.tokens.empty()) return parse_number_list(options.problem.tokens, "--tokens", 1);
  return std::vector<int>(schedule::kTokenBuckets.begin(), schedule::kTokenBuckets.end());
}

Result<std::vector<ScheduleBan>> bans_of(const std::vector<std::string>& texts, const std::string& device) {
  std::vector<ScheduleBan> bans;
  for (const std::string& text : texts) {
    TILEWRIGHT_ASSIGN(const SchedulePattern pattern, parse_schedule_pattern(text));
    bans.push_back({device, pattern});
  }
  return bans;
}

// Entries on their way to the cache: a file is rewritten every few seconds, and at the end.
class Keeper {
 public:
  Keeper(std::string path, bool unpin) : path_(std::move(path)), unpin_(unpin) {}

  Status keep(TuningEntry entry) {
    pending_.push_back(std::move(entry));
    return std::chrono::steady_clock::now() - saved_ < kEvery ? Status() : save();
  }

  Status save() {
    saved_ = std::chrono::steady_clock::now();
    if (pending_.empty()) return {};
    TILEWRIGHT_TRY(update_tuning_cache(path_, [&](TuningCache& cache) {
      for (const TuningEntry& entry : pending_) {
        cache.add(entry);
        if (unpin_) cache.pin(entry.on, entry.problem, std::nullopt);
      }
    }));
    pending_.clear();
    return {};
  }

 private:
  static constexpr std::chrono::seconds kEvery{5};

  std::string path_;
  bool unpin_;
  std::vector<TuningEntry> pending_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

Result<tune::TuneOptions> tune_options(const Options& options, const TuneAnswer& done, Progress& progress) {
  tune::TuneOptions how;
  TILEWRIGHT_ASSIGN(how.tokens, tokens_of(options));
  how.bans = done.bans;
  if (!options.pin.empty()) {
    TILEWRIGHT_ASSIGN(how.pin, parse_schedule_pattern(options.pin));
  }
  how.race.stopped = [] { return Interrupt::asked(); };
  how.progress = [&progress](const tune::TuneProgress& at) {
    progress.show(
        fmt::format("{} of {}: {}, {} left at most", at.done + 1, at.total, at.doing, duration_words(at.left_s)));
  };
  return how;
}

Status tune_all(const Options& options, TuneAnswer& answer) {
  TILEWRIGHT_ASSIGN(const auto layers, layers_of(options));
  TILEWRIGHT_ASSIGN(const Device device, device_of_gpu(answer.on.device, answer.on.arch, answer.on.sm_count));
  TILEWRIGHT_ASSIGN(const auto bench, tune::cuda_gemm_bench());
  const Interrupt interrupt;
  Progress progress;
  TILEWRIGHT_ASSIGN(tune::TuneOptions how, tune_options(options, answer, progress));
  Keeper keeper(answer.cache, options.unpin);
  double left_s = options.budget_s;
  for (std::size_t i = 0; i < layers.size() && !Interrupt::asked(); ++i) {
    how.budget_s = left_s / static_cast<double>(layers.size() - i);
    Result<tune::LayerTuning> tuning = tune::tune_layer(
        device, layers[i], answer.on, how, *bench, [&](TuningEntry entry) { return keeper.keep(std::move(entry)); });
    TILEWRIGHT_TRY(keeper.save());  // also what was measured before an error
    TILEWRIGHT_TRY(tuning);
    left_s -= tuning->seconds;
    answer.layers.push_back({layers[i], std::move(*tuning)});
  }
  return {};
}

Result<Outcome> run(const Options& options) {
  if (options.device != "cuda") {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--device {}: schedules are timed on the GPU of this machine", options.device),
                "use --device cuda");
  }
  const bool edits = !options.bans.empty() || !options.unbans.empty();
  if (options.problem.model.empty() && !edits) {
    return fail(ErrorCode::invalid_argument, "no model is given", "use --model NAME, e.g. --model qwen3-30b-a3b");
  }
  if (!(options.budget_s > 0)) {
    return fail(ErrorCode::invalid_argument, fmt::format("a budget of {} s", options.budget_s), "give more than 0");
  }
  TuneAnswer answer;
  TILEWRIGHT_ASSIGN(answer.cache, cache_path(options.cache));
  TILEWRIGHT_ASSIGN(answer.on, this_gpu());
  TILEWRIGHT_ASSIGN(const auto bans, bans_of(options.bans, answer.on.device));
  TILEWRIGHT_ASSIGN(const auto unbans, bans_of(options.unbans, answer.on.device));
  if (edits) {
    TILEWRIGHT_TRY(update_tuning_cache(answer.cache, [&](TuningCache& cache) {
      for (const ScheduleBan& ban : bans) cache.ban(ban);
      for (const ScheduleBan& ban : unbans) cache.unban(ban);
    }));
  }
  TILEWRIGHT_ASSIGN(const TuningCache before, TuningCache::load(answer.cache));
  answer.bans = before.bans();
  if (!options.problem.model.empty()) TILEWRIGHT_TRY(tune_all(options, answer));
  return cli::answer(render(tune_report(answer), options.format), options.out, exit_of(answer));
}

}  // namespace

Verb add_tune(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "tune", "Measure which schedules are the fastest for a model here, and keep them", kExamples,
                   options->format);
  command->add_option("--device", options->device, "What to measure on: cuda, the GPU of this machine (default)")
      ->option_text("NAME");
  declare_model_options(*command, options->problem);
  const std::string layer = "A layer of a model";
  command
      ->add_option("--rows-from", options->problem.distribution,
                   "How tokens spread over experts: uniform_random (default), balanced or power_law")
      ->option_text("MODEL")
      ->group(layer);
  command
      ->add_flag("--local", options->local,
                 "Tokens choose among this rank's experts alone, as in 'bench --local': T tokens give T * top-k rows")
      ->group(layer);
  command->add_option("--budget", options->budget_s, "Seconds to measure for, at most (default 60)")->option_text("S");
  declare_cache_options(*command, options->cache, "", false);
  const std::string word = "The last word";
  command
      ->add_option("--pin", options->pin,
                   "Take this schedule for these tokens from now on, whatever its time: 256x8x256, 256x8x256/stream_k")
      ->option_text("SCHEDULE")
      ->group(word);
  command->add_flag("--unpin", options->unpin, "Measure these tokens and take the fastest again")->group(word);
  command->add_option("--ban", options->bans, "Never take such a schedule on this GPU; a list, or repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("SCHEDULE")
      ->group(word);
  command->add_option("--unban", options->unbans, "Lift a ban")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("SCHEDULE")
      ->group(word);
  declare_out(*command, options->out);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
