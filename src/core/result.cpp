#include "tilewright/result.hpp"

namespace tilewright {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::mismatch: return "mismatch";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::exhausted: return "exhausted";
  }
  return "unknown";
}

}  // namespace tilewright
