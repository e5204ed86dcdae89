// Ctrl-C as a question that long measurements ask, so that what was measured is kept.
#pragma once

namespace tilewright::cli {

/// From its making to its end the first SIGINT only answers the question; a second one ends the program as usual.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] static bool asked();
};

}  // namespace tilewright::cli
