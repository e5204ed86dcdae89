#include "tools/tilewright/backend_options.hpp"

#include "tilewright/problem.hpp"
#include "tools/tilewright/problem_options.hpp"

namespace tilewright::cli {

void declare_backend_options(CLI::App& command, BackendOptions& options, const std::string& backend_does,
                             const std::string& group) {
  const auto in_group = [&](CLI::Option* option) {
    if (!group.empty()) option->group(group);
  };
  in_group(
      command.add_option("--backend", options.backend, backend_does + ": cpu (default) or cuda")->option_text("NAME"));
  in_group(command
               .add_option("--arch", options.arch,
                           "On a GPU, whose kernels: sm_90 (w4a16) or sm_120 (w4a4, w4a16); default: the GPU's own")
               ->option_text("ARCH"));
  in_group(command.add_flag("--emulate-mma", options.emulate_mma,
                            "With --arch sm_120 on an SM90 GPU: emulate the FP4 MMA that it lacks (w4a4)"));
}

Result<MoeLayerOptions> layer_options(const BackendOptions& options) {
  MoeLayerOptions how;
  TILEWRIGHT_ASSIGN(how.backend, parse_backend(options.backend));
  if (!options.arch.empty()) {
    TILEWRIGHT_ASSIGN(how.arch, find_arch(options.arch));
  }
  how.emulate_mma = options.emulate_mma;
  return how;
}

Result<std::vector<Precision>> layer_precisions(const std::string& text, const MoeLayerOptions& how) {
  return precisions_of(text, how.arch ? default_precision(*how.arch) : Precision::w4a16);
}

std::string describe(const MoeLayerOptions& how) {
  std::string text = to_string(how.backend);
  if (how.arch) text += std::string(", ") + to_string(*how.arch) + " kernels";
  if (how.emulate_mma) text += ", MMA emulated";
  return text;
}

}  // namespace tilewright::cli
