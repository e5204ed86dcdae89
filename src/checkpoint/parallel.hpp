// Independent pieces of work on all cores.
#pragma once

#include <functional>

#include "tilewright/result.hpp"

namespace tilewright {

/// Calls work(0) to work(count - 1) from as many threads as the machine has cores, each index once, and waits for all.
/// After an error no further index is started; the error of the lowest index is returned.
Status for_each_parallel(int count, const std::function<Status(int)>& work);

}  // namespace tilewright
