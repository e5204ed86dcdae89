#include "inspect/kernel_name_stack.hpp"

#include <fmt/format.h>
#include <pthread.h>

namespace tilewright::inspect {
namespace {

constexpr std::size_t kPlainLength = 1024;      // DEMANGLE_RECURSION_LIMIT / 2: libiberty's own bound
constexpr std::size_t kBytesACharacter = 1024;  // measured on repeated prefixes of every kind: at most 144 ("FFF...")
constexpr std::size_t kBase = std::size_t{1} << 20;

void* call(void* work) {
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

std::size_t stack_for_name(std::size_t length) {
  return length <= kPlainLength ? 0 : kBase + length * kBytesACharacter;
}

Status run_on_stack(std::size_t bytes, const std::function<void()>& work) {
  if (bytes == 0) {
    work();
    return {};
  }
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return fail(ErrorCode::exhausted, "no memory for a thread's attributes");
  pthread_t thread{};
  const int started = pthread_attr_setstacksize(&attributes, bytes) == 0
                          ? pthread_create(&thread, &attributes, &call, const_cast<std::function<void()>*>(&work))
                          : -1;
  pthread_attr_destroy(&attributes);
  if (started != 0) {
    return fail(ErrorCode::exhausted, fmt::format("the system gives no thread with a stack of {} bytes", bytes));
  }
  pthread_join(thread, nullptr);
  return {};
}

}  // namespace tilewright::inspect
