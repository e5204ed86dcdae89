#include "tools/tilewright/interrupt.hpp"

#include <csignal>

namespace tilewright::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void note_interrupt(int /*signal*/) { interrupted = 1; }

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() { std::signal(SIGINT, SIG_DFL); }

bool Interrupt::asked() { return interrupted != 0; }

}  // namespace tilewright::cli
