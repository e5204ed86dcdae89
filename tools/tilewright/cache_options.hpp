// The tuning cache as verbs use it: where it is, what this machine is called in it, and whether it is wanted.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tilewright/device.hpp"
#include "tilewright/tuning_cache.hpp"

namespace tilewright::cli {

struct CacheOptions {
  std::string path;  ///< empty: default_cache_path()
  bool off = false;
};

/// --cache FILE and, for verbs that only read it, --no-cache.
void declare_cache_options(CLI::App& command, CacheOptions& options, const std::string& group, bool reads);

/// tuning.json in $TILEWRIGHT_CACHE_DIR, $XDG_CACHE_HOME/tilewright or $HOME/.cache/tilewright: the first that is set.
Result<std::string> default_cache_path();

/// The file that the options name, or the default.
Result<std::string> cache_path(const CacheOptions& options);

/// The cache of the options; none with --no-cache, where no place for one is known, and where it has no entries. A file
/// that was named has to be there.
Result<std::optional<TuningCache>> read_cache(const CacheOptions& options);

/// The GPU that kernels run on, as entries name it: the driver's first device. `unsupported` without one.
Result<TunedOn> this_gpu();

/// A question about a device of a plan: with this machine's driver where it is this machine's GPU.
TunedOn tuned_on(const Device& device);

}  // namespace tilewright::cli
