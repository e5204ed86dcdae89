// tilewright inspect: what is in a file, a checkpoint or a binary with GPU code. Its bytes decide which it is.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "tilewright/binary_images.hpp"
#include "tools/tilewright/inspect_binary.hpp"
#include "tools/tilewright/inspect_checkpoint.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string layers;
  BinaryOptions binary;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright inspect path/to/checkpoint --layers 3,20..24\n"
    "  tilewright inspect path/to/model.safetensors --format json\n"
    "  tilewright inspect libkernels.so --device-cc 12.1\n"
    "  tilewright inspect fused_moe.o --device gb10 --only cutlass --all\n"
    "  tilewright inspect *.cubin --device-cc 9.0 --pdl --kernels 'GemmUniversal'";

// An option that only the other kind of file has.
Status check_options(const Options& options, bool binary) {
  if (binary && !options.layers.empty()) {
    return fail(ErrorCode::invalid_argument, "--layers is for a checkpoint, and this is a binary",
                "--kernels and --only choose kernels");
  }
  if (!binary && options.binary.given()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is not a binary; --device, --device-cc, --pdl, --kernels, --only and --all are for one",
                    options.paths.front()),
        "--layers chooses layers of a checkpoint");
  }
  return {};
}

Status check_paths(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      return fail(ErrorCode::not_found, fmt::format("'{}' does not exist", path));
    }
  }
  return {};
}

// A file that is no binary was read as a checkpoint; where its bytes are none of that either, say both.
Result<Outcome> as_checkpoint(const Options& options) {
  auto outcome = inspect_checkpoint({options.paths.front(), options.layers, options.format});
  std::error_code ignored;
  if (outcome || outcome.error().code != ErrorCode::corrupt ||
      !std::filesystem::is_regular_file(options.paths.front(), ignored)) {
    return outcome;
  }
  return fail(ErrorCode::corrupt, outcome.error().cause,
              "as .safetensors; it does not begin as an executable, library, object, fat binary or cubin either "
              "(unpack a wheel first)");
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_TRY(check_paths(options.paths));
  const auto binaries = std::count_if(options.paths.begin(), options.paths.end(), looks_like_binary);
  const bool binary = binaries > 0;
  if (binary && binaries < static_cast<std::ptrdiff_t>(options.paths.size())) {
    const auto other = std::find_if_not(options.paths.begin(), options.paths.end(), looks_like_binary);
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a binary with GPU code, and others here are", *other),
                "inspect checkpoints and binaries one after the other");
  }
  TILEWRIGHT_TRY(check_options(options, binary));
  if (binary) return inspect_binaries(options.paths, options.binary, options.format);
  if (options.paths.size() > 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} paths are given, and none is a binary", options.paths.size()),
                "give one checkpoint folder or .safetensors file");
  }
  return as_checkpoint(options);
}

}  // namespace

Verb add_inspect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = declare_verb(
      app, "inspect",
      "Tell what a checkpoint's experts look like, or which kernels of a binary a device can launch; the file decides",
      kExamples, options->format);
  command
      ->add_option("path", options->paths,
                   "A checkpoint folder or .safetensors file; or executables, libraries, objects, fat binaries, cubins")
      ->required();
  command->add_option("--layers", options->layers, "Layers to read (default: every layer with routed experts)")
      ->option_text("LIST")
      ->group("A checkpoint");
  declare_binary_options(*command, options->binary);
  command->footer(command->get_footer() +
                  "\n\nExits with 1 when a layer could not be loaded, and still prints what was read; with 3 when a "
                  "kernel cannot\nbe launched on the device that is given.");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
