// Running something on a stack whose size is known.
#pragma once

#include <cstddef>
#include <functional>

#include "tilewright/result.hpp"

namespace tilewright::inspect {

/// Bytes of stack that libiberty's parser may need for a name of `length` characters; 0 where the caller's own stack is
/// enough: libiberty itself takes names of up to 1,024 characters without asking.
std::size_t stack_for_name(std::size_t length);

/// Calls `work` on a thread with a stack of `bytes` (0: right here) and waits for it. `exhausted` where the system
/// gives no such thread. `work` must not throw.
Status run_on_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace tilewright::inspect
