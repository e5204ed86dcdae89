// tilewright inspect on a checkpoint.
#pragma once

#include <string>

#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {

struct CheckpointOptions {
  std::string path;    ///< a folder or a .safetensors file
  std::string layers;  ///< a list; empty: every layer with routed experts
  Format format = Format::text;
};

/// What the experts of a checkpoint look like. Fails the run, after everything was printed, where a layer was refused.
Result<Outcome> inspect_checkpoint(const CheckpointOptions& options);

}  // namespace tilewright::cli
