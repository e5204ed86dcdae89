// tilewright calibrate: the constants of the cost model, measured here, beside those that the model uses.
#include <fmt/format.h>

#include <memory>

#include "cuda/meter/calibration.hpp"
#include "tools/tilewright/answer_file.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/calibrate_answer.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device = "cuda";
  std::string out;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright calibrate --device cuda\n"
    "  tilewright calibrate --format json --out h200.json";

Result<Outcome> run(const Options& options) {
  if (options.device != "cuda") {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--device {}: constants are measured on the GPU of this machine", options.device),
                "use --device cuda");
  }
  CalibrateAnswer answer;
  TILEWRIGHT_ASSIGN(answer.on, this_gpu());
  TILEWRIGHT_ASSIGN(answer.device, device_of_gpu(answer.on.device, answer.on.arch, answer.on.sm_count));
  TILEWRIGHT_ASSIGN(const cuda::Calibration measured, cuda::calibrate());
  answer.constants = constants_of(measured, answer.device);
  return cli::answer(render(calibrate_report(answer), options.format), options.out, Exit::ok);
}

}  // namespace

Verb add_calibrate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "calibrate", "Measure the constants of the cost model on this GPU", kExamples, options->format);
  command->add_option("--device", options->device, "What to measure: cuda, the GPU of this machine (default)")
      ->option_text("NAME");
  declare_out(*command, options->out);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
