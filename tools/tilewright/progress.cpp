#include "tools/tilewright/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tilewright::cli {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";  // ECMA-48, EL

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  fmt::print(stderr, "{}{}", kEraseLine, text);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "{}", kEraseLine);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tilewright::cli
