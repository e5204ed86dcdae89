#include "schedule/published/csv_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tilewright::schedule {

Result<std::vector<std::size_t>> column_places(const cutlass::CsvRecord& header,
                                               const std::vector<const char*>& columns) {
  std::vector<std::size_t> places;
  for (const char* column : columns) {
    const auto at = std::find(header.fields.begin(), header.fields.end(), column);
    if (at == header.fields.end()) {
      return fail(ErrorCode::invalid_argument, fmt::format("there is no column \"{}\"", column),
                  "the first line names the columns");
    }
    places.push_back(static_cast<std::size_t>(at - header.fields.begin()));
  }
  return places;
}

Result<std::int64_t> CsvLine::integer(std::size_t column, std::int64_t most) const {
  return integer(column, text(column), most);
}

Result<std::int64_t> CsvLine::integer(std::size_t column, std::string_view digits, std::int64_t most) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > most) {
    return refuse(column, fmt::format("give 1 to {}", most));
  }
  return value;
}

Result<int> CsvLine::small(std::size_t column, int most) const { return small(column, text(column), most); }

Result<int> CsvLine::small(std::size_t column, std::string_view digits, int most) const {
  TILEWRIGHT_ASSIGN(const std::int64_t value, integer(column, digits, most));
  return static_cast<int>(value);
}

Result<double> CsvLine::positive(std::size_t column) const { return positive(column, text(column)); }

Result<double> CsvLine::positive(std::size_t column, std::string_view digits) const {
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !(value > 0.0) || !std::isfinite(value)) {
    return refuse(column, "give a positive number");
  }
  return value;
}

tl::unexpected<Error> CsvLine::refuse(std::size_t column, std::string remedy) const {
  return fail(ErrorCode::invalid_argument,
              fmt::format("line {}: {} is \"{}\"", record_.line, columns_[column], text(column)), std::move(remedy));
}

}  // namespace tilewright::schedule
