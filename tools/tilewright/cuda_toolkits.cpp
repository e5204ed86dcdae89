#include "tools/tilewright/cuda_toolkits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

// Standard output of a program; empty where it cannot be started. The path is quoted for the shell.
std::string output_of(const std::string& program, const std::string& argument) {
  std::string quoted = "'";
  for (const char c : program) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const std::string command = quoted + "' " + argument + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  std::size_t count = 0;
  while (text.size() < (1U << 20) && (count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0) {
    text.append(buffer.data(), count);
  }
  return text;
}

// "... release 13.0, V13.0.88" of nvcc and ptxas.
std::string release_of(const std::string& version_text) {
  const std::size_t at = version_text.find(", V");
  if (at == std::string::npos) return {};
  const std::size_t from = at + 3;
  return version_text.substr(from, version_text.find_first_not_of("0123456789.", from) - from);
}

bool executable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !error && fs::is_regular_file(status) && (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
}

struct Candidate {
  fs::path path;
  std::string found;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> list;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty()) list.push_back({fs::path(folder) / "nvcc", "PATH"});
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(name)) list.push_back({fs::path(home) / "bin" / "nvcc", name});
  }
  if (const char* compiler = std::getenv("CUDACXX")) list.push_back({compiler, "CUDACXX"});
  std::error_code error;
  std::vector<fs::path> installed;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().rfind("cuda", 0) == 0) installed.push_back(entry.path() / "bin" / "nvcc");
  }
  std::sort(installed.begin(), installed.end());
  for (const fs::path& nvcc : installed) list.push_back({nvcc, "/usr/local"});
  return list;
}

// First release with the suffixes of a target: 90a in 12.0, the a of SM10x and SM12x in 12.8, every f in 12.9
// (CUDA release notes). `--list-gpu-code` names base targets only.
bool suffix_known(const CodeTarget& target, int release) {
  if (target.features == TargetFeatures::base) return true;
  if (target.features == TargetFeatures::family) return release >= 1209;
  return release >= (target.major == 9 ? 1200 : 1208);
}

void ask(CudaToolkit& toolkit) {
  toolkit.release = release_of(output_of(toolkit.nvcc, "--version"));
  if (std::sscanf(toolkit.release.c_str(), "%d.%d", &toolkit.major, &toolkit.minor) != 2) return;
  const fs::path ptxas = fs::path(toolkit.nvcc).parent_path() / "ptxas";
  if (executable(ptxas)) toolkit.ptxas_release = release_of(output_of(ptxas.string(), "--version"));
  std::set<std::string> listed;
  std::istringstream lines(output_of(toolkit.nvcc, "--list-gpu-code"));
  for (std::string line; lines >> line;) listed.insert(line);
  for (const CodeTarget& target : known_targets()) {
    const CodeTarget base{target.major, target.minor, TargetFeatures::base, false};
    if (listed.count(to_string(base)) != 0 && suffix_known(target, toolkit.major * 100 + toolkit.minor)) {
      toolkit.targets.push_back(target);
    }
  }
}

}  // namespace

std::vector<CudaToolkit> find_cuda_toolkits() {
  std::vector<CudaToolkit> toolkits;
  std::vector<fs::path> files;
  for (const Candidate& candidate : candidates()) {
    if (!executable(candidate.path)) continue;
    std::error_code error;
    const fs::path file = fs::canonical(candidate.path, error);
    if (error) continue;
    const auto seen = std::find(files.begin(), files.end(), file);
    if (seen != files.end()) {
      CudaToolkit& known = toolkits[static_cast<std::size_t>(seen - files.begin())];
      const std::string name = candidate.path.string();
      if (name != known.nvcc && std::find(known.also.begin(), known.also.end(), name) == known.also.end()) {
        known.also.push_back(name);
      }
      continue;
    }
    CudaToolkit toolkit;
    toolkit.nvcc = candidate.path.string();
    toolkit.found = candidate.found;
    toolkit.chosen = candidate.found == "PATH" && toolkits.empty();
    ask(toolkit);
    files.push_back(file);
    toolkits.push_back(std::move(toolkit));
  }
  return toolkits;
}

std::vector<std::string> toolkit_complaints(const std::vector<CudaToolkit>& toolkits) {
  std::vector<std::string> complaints;
  const auto version = [](const CudaToolkit& toolkit) { return toolkit.major * 100 + toolkit.minor; };
  int newest = 0;
  for (const CudaToolkit& toolkit : toolkits) newest = std::max(newest, version(toolkit));
  for (const CudaToolkit& toolkit : toolkits) {
    if (toolkit.major == 0) {
      complaints.push_back(fmt::format("{} does not say its version: it is not a working nvcc", toolkit.nvcc));
      continue;
    }
    if (toolkit.ptxas_release.empty()) {
      complaints.push_back(fmt::format("{} has no ptxas beside it: it makes PTX and no machine code", toolkit.nvcc));
    } else if (toolkit.ptxas_release != toolkit.release) {
      complaints.push_back(fmt::format("{} is {}, the ptxas beside it {}: two toolkits are mixed in one folder",
                                       toolkit.nvcc, toolkit.release, toolkit.ptxas_release));
    }
    if (toolkit.chosen && version(toolkit) < newest) {
      complaints.push_back(fmt::format(
          "PATH picks {} ({}), and a newer toolkit is installed ({}.{}): put the newer one first in PATH, or "
          "pass CMAKE_CUDA_COMPILER",
          toolkit.nvcc, toolkit.release, newest / 100, newest % 100));
    }
    if (toolkit.chosen && version(toolkit) < 1208) {
      complaints.push_back(fmt::format(
          "{} is older than 12.8: it cannot compile for sm_100a or sm_120a, the first with FP4", toolkit.nvcc));
    }
  }
  const bool on_path =
      std::any_of(toolkits.begin(), toolkits.end(), [](const auto& toolkit) { return toolkit.chosen; });
  if (!toolkits.empty() && !on_path) {
    complaints.push_back(fmt::format("no nvcc is in PATH, although {} exists", toolkits.front().nvcc));
  }
  return complaints;
}

}  // namespace tilewright::cli
