// Any text at all as recorded times: it is refused with one line, or its own text reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tune/regret_trials.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trials = tilewright::tune::parse_regret_trials({reinterpret_cast<const char*>(data), size});
  if (!trials) {
    if (trials.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string written = tilewright::tune::text(*trials);
  const auto again = tilewright::tune::parse_regret_trials(written);
  if (!again || tilewright::tune::text(*again) != written) std::abort();
  return 0;
}
