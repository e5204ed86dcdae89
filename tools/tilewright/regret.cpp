// tilewright regret: how far the planner's choices are from the fastest kernels, measured over many layers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "core/mapped_file.hpp"
#include "core/pending_file.hpp"
#include "tilewright/model.hpp"
#include "tools/tilewright/answer_file.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/interrupt.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/regret_answer.hpp"
#include "tools/tilewright/verb.hpp"
#include "tune/cuda_gemm_bench.hpp"
#include "tune/regret_run.hpp"
#include "tune/regret_trials.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device = "cuda";
  std::vector<std::string> models;
  double budget_s = 240.0;
  bool all = false;
  std::string record;
  std::string replay;
  std::string out;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright regret --device cuda\n"
    "  tilewright regret --model glm-5,gpt-oss-120b --budget 60 --all --format json --out regret.json\n"
    "  tilewright regret --format html --out regret.html\n"
    "  tilewright regret --replay bench/results/h200/regret-trials.json";

// A few rounds of every schedule, more of those that are close: the fastest has to be known, not to be chosen from.
RaceOptions race_options() {
  RaceOptions race;
  race.budget_s = 3.0;
  race.least_rounds = 3;
  race.most_rounds = 8;
  race.stopped = [] { return Interrupt::asked(); };
  return race;
}

// Times that were recorded, with what this build's model says of them.
Result<Outcome> replay(const Options& options) {
  TILEWRIGHT_ASSIGN(const auto shapes, tune::regret_shapes(options.models, &find_model));
  TILEWRIGHT_ASSIGN(const MappedFile file, MappedFile::open(options.replay));
  const auto bytes = file.bytes();
  auto trials = tune::parse_regret_trials({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!trials) {
    return fail(trials.error().code, fmt::format("{}: {}", options.replay, trials.error().cause),
                trials.error().remedy);
  }
  if (!options.models.empty()) {
    std::erase_if(trials->gemms, [&](const tune::RecordedGemm& gemm) {
      return std::find(options.models.begin(), options.models.end(), gemm.model) == options.models.end();
    });
  }
  RegretAnswer answer;
  answer.on = trials->on;
  answer.timing = trials->timing;
  answer.predicted_by = TILEWRIGHT_VERSION;
  answer.all = options.all;
  TILEWRIGHT_ASSIGN(answer.device, device_of_gpu(answer.on.device, answer.on.arch, answer.on.sm_count));
  TILEWRIGHT_ASSIGN(answer.run, tune::replay_regret(answer.device, shapes, *trials));
  return cli::answer(render(regret_report(answer, options.format), options.format), options.out, Exit::ok);
}

Status write_record(const RegretAnswer& answer, const std::string& path) {
  PendingFile file(path);
  TILEWRIGHT_TRY(file.create());
  TILEWRIGHT_TRY(file.write(tune::text(tune::recorded(answer.run, answer.on, answer.timing))));
  return file.commit();
}

Result<Outcome> run(const Options& options) {
  if (!options.replay.empty()) return replay(options);
  if (options.device != "cuda") {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--device {}: schedules are timed on the GPU of this machine", options.device),
                "use --device cuda");
  }
  TILEWRIGHT_ASSIGN(const auto shapes, tune::regret_shapes(options.models, &find_model));
  RegretAnswer answer;
  TILEWRIGHT_ASSIGN(answer.on, this_gpu());
  TILEWRIGHT_ASSIGN(answer.device, device_of_gpu(answer.on.device, answer.on.arch, answer.on.sm_count));
  TILEWRIGHT_ASSIGN(const auto bench, tune::cuda_gemm_bench());
  answer.all = options.all;
  answer.timing = kRegretTiming;
  const Interrupt interrupt;
  Progress progress;
  tune::RegretOptions how;
  how.budget_s = options.budget_s;
  how.race = race_options();
  how.progress = [&progress](const tune::RegretProgress& at) {
    progress.show(
        fmt::format("{} of {}: {}, {} left at most", at.done + 1, at.total, at.doing, duration_words(at.left_s)));
  };
  TILEWRIGHT_ASSIGN(answer.run, tune::measure_regret(answer.device, shapes, how, *bench));
  progress.clear();
  if (!options.record.empty()) TILEWRIGHT_TRY(write_record(answer, options.record));
  const Exit exit = !answer.run.errors().empty() ? Exit::wrong_numbers : answer.run.stopped ? Exit::failed : Exit::ok;
  return cli::answer(render(regret_report(answer, options.format), options.format), options.out, exit);
}

}  // namespace

Verb add_regret(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "regret", "Measure how far the planner's choices and times are from the fastest kernels here",
                   kExamples, options->format);
  command->add_option("--device", options->device, "What to measure on: cuda, the GPU of this machine (default)")
      ->option_text("NAME");
  command->add_option("--model", options->models, "Only these models of the set; a list, or repeated (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("LIST");
  command->add_option("--budget", options->budget_s, "Seconds to measure for, at most (default 240)")->option_text("S");
  command->add_flag("--all", options->all, "In JSON, every schedule of each problem with its time and prediction");
  command->add_option("--record", options->record, "Write the times to this file, for --replay")->option_text("FILE");
  command
      ->add_option("--replay", options->replay,
                   "Measure nothing: what this build's model says of the times in this file")
      ->excludes("--record")
      ->option_text("FILE");
  declare_out(*command, options->out);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
