// Any text at all as published times: it is refused with one line, or every layer can be predicted.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tilewright/published.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  const auto file = parse_published({reinterpret_cast<const char*>(data), size});
  if (!file) {
    if (file.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  static const Device device = find_device("rtx-pro-6000-server").value();
  for (const PublishedLayer& layer : file->layers) {
    if (layer.tokens > 4096) continue;  // time
    const PeerTime time = predict_published(device, peer_stacks().front(), layer);
    if (!(time.us > 0.0) || !std::isfinite(time.us)) std::abort();
  }
  return 0;
}
