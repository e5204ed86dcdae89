// Result<T>: how every fallible call of the library answers.
//
// The library never throws across its edge, prints, exits or aborts. An Error carries what went wrong with the
// value and the limit, and what to do about it; `message()` is one line, ready for a terminal or a log.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace tilewright {

/// Stable class of an error; the command line maps it to an exit code.
enum class ErrorCode {
  invalid_argument,  ///< the caller asked for something malformed or contradictory
  not_found,         ///< a file, tensor, model or device by that name does not exist
  io,                ///< the operating system refused a read, a write or a mapping
  corrupt,           ///< bytes that break their format's rules
  mismatch,          ///< two facts that must agree do not (shapes, dtypes, counts, numbers)
  unsupported,       ///< well formed, understood, and not something this build or device can do
  exhausted,         ///< a size or memory limit would be passed
};

/// Name of a code as it stands in JSON output, e.g. "invalid_argument".
const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string cause;   ///< what, with the value and the limit; no trailing full stop
  std::string remedy;  ///< what to do about it; may be empty

  /// "cause; remedy" on one line.
  [[nodiscard]] std::string message() const { return remedy.empty() ? cause : cause + "; " + remedy; }
};

template <typename T>
using Result = tl::expected<T, Error>;

/// The value of a call that only succeeds or fails.
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string cause, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{code, std::move(cause), std::move(remedy)});
}

}  // namespace tilewright

/// Returns the error of `expression` from the enclosing function, if it has one.
#define TILEWRIGHT_TRY(expression)                                           \
  do {                                                                       \
    auto&& tilewright_status = (expression);                                 \
    if (!tilewright_status) {                                                \
      return tl::unexpected<::tilewright::Error>(tilewright_status.error()); \
    }                                                                        \
  } while (false)

#define TILEWRIGHT_CONCAT_IMPL(a, b) a##b
#define TILEWRIGHT_CONCAT(a, b) TILEWRIGHT_CONCAT_IMPL(a, b)

/// `TILEWRIGHT_ASSIGN(auto x, f())`: x is the value of f(), or the enclosing function returns f()'s error.
#define TILEWRIGHT_ASSIGN(declaration, expression) \
  TILEWRIGHT_ASSIGN_IMPL(TILEWRIGHT_CONCAT(tilewright_result_, __LINE__), declaration, expression)
#define TILEWRIGHT_ASSIGN_IMPL(name, declaration, expression) \
  auto name = (expression);                                   \
  if (!name) {                                                \
    return tl::unexpected<::tilewright::Error>(name.error()); \
  }                                                           \
  declaration = std::move(*name)
