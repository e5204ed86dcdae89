#include "cli/run_tool.hpp"
#include <algorithm>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

nlohmann::json ToolRun::json() const {
  auto parsed = nlohmann::json::parse(out, nullptr, false);
  if (parsed.is_discarded()) {
    ADD_FAILURE() << "stdout is not JSON:\n" << out << "\nstderr:\n" << err;
    return nullptr;
  }
  return parsed;
}

int ToolRun::error_lines() const { return static_cast<int>(std::count(err.begin(), err.end(), '\n')); }

ToolRun tilewright(const std::string& arguments) {
  const TemporaryDirectory folder;
  // No cache of this machine's user takes part. Redirections stand first, so that one in `arguments` wins.
  std::string command = "TILEWRIGHT_CACHE_DIR=";
  command.append(folder.file("cache")).append(" >").append(folder.file("out")).append(" 2>").append(folder.file("err"));
  command.append(" </dev/null ").append(TILEWRIGHT_TOOL).append(" ").append(arguments);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.file("out")), read_file(folder.file("err"))};
}

bool cuda_runs_here() {
  const auto here = tilewright("info --doctor --format json").json()["doctor"]["build"]["runs_here"];
  return std::find(here.begin(), here.end(), "cuda") != here.end();
}

}  // namespace tilewright::testing
