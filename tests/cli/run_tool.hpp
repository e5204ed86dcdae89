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

/// A fresh folder of this test case under the build's temporary folder, removed at the start and the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file of that name and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace tilewright::testing
