#include "tilewright/precision.hpp"

#include <fmt/format.h>

namespace tilewright {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::w4a16: return "w4a16";
    case Precision::w4a4: return "w4a4";
  }
  return "unknown";
}

Result<Precision> parse_precision(const std::string& name) {
  for (const Precision precision : {Precision::w4a16, Precision::w4a4}) {
    if (name == to_string(precision)) return precision;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown precision '{}'", name), "use w4a16 or w4a4");
}

}  // namespace tilewright
