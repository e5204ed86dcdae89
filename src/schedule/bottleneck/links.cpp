// Links between the GPUs of one machine.
#include <algorithm>

#include "tilewright/bottleneck.hpp"

namespace tilewright {

// Rates are line rates times the share that payload has.
//   pcie5: 32 GT/s x 16 lanes x 128/130 = 63.0 GB/s (PCI Express Base Specification 5.0). 256-byte payloads carry 24
//     bytes of header, sequence and checks. [derived]: 57.6.
//   nvlink4: 18 links of 25 GB/s a direction (NVIDIA H100 data sheet: 900 GB/s both ways). Share 0.8. [assumed]
//   nvlink5: 18 links of 50 GB/s (NVIDIA B200 data sheet: 1.8 TB/s both ways). Share 0.8. [assumed]
// Latencies are those of one kernel that signals and waits across the link. [assumed]
const std::vector<Link>& known_links() {
  static const std::vector<Link> links = {{"pcie5", "PCI Express 5.0 x16", 63.0 * 256.0 / 280.0, 5.0},
                                          {"nvlink4", "NVLink 4 through a switch", 0.8 * 450.0, 3.0},
                                          {"nvlink5", "NVLink 5 through a switch", 0.8 * 900.0, 3.0}};
  return links;
}

Result<Link> find_link(const std::string& name) {
  std::string known;
  for (const Link& link : known_links()) {
    if (link.name == name) return link;
    known += (known.empty() ? "" : ", ") + link.name;
  }
  return fail(ErrorCode::not_found, "there is no link \"" + name + "\"", "known: " + known);
}

const Link& usual_link(const Device& device) {
  switch (device.arch) {
    case Arch::sm_90: return known_links()[1];
    case Arch::sm_100:
    case Arch::sm_103: return known_links()[2];
    default: break;
  }
  return known_links()[0];
}

}  // namespace tilewright
