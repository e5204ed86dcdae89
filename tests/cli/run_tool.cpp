#include "cli/run_tool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
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
  const Folder folder;
  const std::string command = std::string(TILEWRIGHT_TOOL) + " " + arguments + " >" + (folder / "out") + " 2>" +
                              (folder / "err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

Folder::Folder() {
  static int count = 0;
  const std::string name = "tilewright_cli_" + std::to_string(getpid()) + "_" + std::to_string(count++);
  path_ = (fs::temp_directory_path() / name).string();
  fs::remove_all(path_);
  fs::create_directories(path_);
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(*this / name, std::ios::binary) << text;
  return *this / name;
}

}  // namespace tilewright::testing
