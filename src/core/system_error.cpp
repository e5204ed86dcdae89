#include "core/system_error.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace tilewright {

tl::unexpected<Error> refused_by_system(const std::string& path, const char* action, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  const char* remedy = absent ? "check the path" : error == ENOSPC ? "free space on the disk" : "check its permissions";
  return fail(absent ? ErrorCode::not_found : ErrorCode::io,
              fmt::format("{}: cannot {}: {}", path, action, std::generic_category().message(error)), remedy);
}

}  // namespace tilewright
