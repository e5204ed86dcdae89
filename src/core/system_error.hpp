// The one wording for what the operating system refuses to do with a file.
#pragma once

#include <string>

#include "tilewright/result.hpp"

namespace tilewright {

/// "PATH: cannot ACTION: REASON" for an errno value: `not_found` where a part of the path does not exist, else `io`.
tl::unexpected<Error> refused_by_system(const std::string& path, const char* action, int error);

}  // namespace tilewright
