// Any text at all as a tuning cache: it is refused with one line, or its own text reads back the same, it merges with
// itself without a change, and every problem in it is answered or refused with a reason.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tilewright/tuning_cache.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto cache = tilewright::TuningCache::parse({reinterpret_cast<const char*>(data), size});
  if (!cache) {
    if (cache.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string written = cache->text();
  const auto again = tilewright::TuningCache::parse(written);
  if (!again || again->text() != written) std::abort();
  tilewright::TuningCache merged = *cache;
  merged.merge(*again);
  if (merged.text() != written) std::abort();
  for (const tilewright::TuningEntry& entry : cache->entries()) {
    const auto answer = cache->find(entry.on, entry.problem);
    if (answer && cache->banned(entry.on.device, answer->schedule)) std::abort();
    if (!answer && answer.error().message().empty()) std::abort();
  }
  return 0;
}
