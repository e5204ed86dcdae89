// Runs the built tool as a user would, and hands back what it printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tilewright::testing {

struct ToolRun {
  int exit = -1;  ///< exit code; -1 where a signal ended it
  std::string out;
  std::string err;

  /// stdout as JSON; a test failure and null where it is not.
  [[nodiscard]] nlohmann::json json() const;
  /// Lines of stderr.
  [[nodiscard]] int error_lines() const;
};

/// Runs `tilewright ARGUMENTS` through the shell, so that arguments may be quoted.
ToolRun tilewright(const std::string& arguments);

/// Whether the tool runs layers on this machine's GPU, as its doctor says.
bool cuda_runs_here();

}  // namespace tilewright::testing
