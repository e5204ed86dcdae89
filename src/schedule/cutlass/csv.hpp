// CSV as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::schedule::cutlass {

struct CsvRecord {
  std::vector<std::string> fields;
  int line = 1;  ///< where it starts, counted from 1
};

/// The records of a text; lines without a character are skipped. A quote that is not closed, or that stands inside an
/// unquoted field, is `invalid_argument` with its line.
Result<std::vector<CsvRecord>> read_csv(std::string_view text);

/// Fields as one line without its end: a field is quoted where it holds a comma, a quote or a line break.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace tilewright::schedule::cutlass
