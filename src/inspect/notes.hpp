// Notes: what could not be read, one line each, and no more lines than a reader wants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/limits.hpp"

namespace tilewright::inspect {

class Notes {
 public:
  void add(std::string line) {
    if (static_cast<std::int64_t>(lines_.size()) < kMaxNotes) {
      lines_.push_back(std::move(line));
    } else {
      ++left_out_;
    }
  }

  /// The lines, the last of which says how many were left out.
  [[nodiscard]] std::vector<std::string> take() && {
    if (left_out_ > 0) lines_.push_back("and " + std::to_string(left_out_) + " more like these");
    return std::move(lines_);
  }

 private:
  std::vector<std::string> lines_;
  std::int64_t left_out_ = 0;
};

}  // namespace tilewright::inspect
