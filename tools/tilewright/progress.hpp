// One line of progress on stderr, on a terminal only.
#pragma once

#include <string>

namespace tilewright::cli {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line.
  void show(const std::string& text);
  /// Removes it, so that what follows starts on a clean line.
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace tilewright::cli
