// Any text at all as rows of requests: it is refused with one line, or every row is answered in 24 columns, and asking
// with the answers gives the same answers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "schedule/cutlass/csv.hpp"
#include "tilewright/cutlass_rows.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tilewright::schedule::cutlass::read_csv;
  const auto answered = tilewright::answer_cutlass_rows({reinterpret_cast<const char*>(data), size});
  if (!answered) {
    if (answered.error().message().empty()) std::abort();
    return 0;
  }
  const auto records = read_csv(*answered);
  if (!records) std::abort();
  for (const auto& record : *records) {
    if (record.fields.size() != 24) std::abort();
  }
  const auto again = tilewright::answer_cutlass_rows(*answered);
  if (!again || *again != *answered) std::abort();
  return 0;
}
