// Lines of a CSV whose first one names the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/cutlass/csv.hpp"
#include "tilewright/result.hpp"

namespace tilewright::schedule {

/// Largest sizes that a published layer may have.
inline constexpr std::int64_t kMostPublishedTokens = std::int64_t{1} << 24;
inline constexpr int kLargestPublishedSize = 1 << 20;
inline constexpr int kMostPublishedExperts = 4096;

/// Where the named columns stand, in the order of the names; a column that is missing is `invalid_argument`.
Result<std::vector<std::size_t>> column_places(const cutlass::CsvRecord& header,
                                               const std::vector<const char*>& columns);

/// One line's fields by column. Errors name the line, the column and the field.
class CsvLine {
 public:
  CsvLine(const cutlass::CsvRecord& record, const std::vector<const char*>& columns,
          const std::vector<std::size_t>& places)
      : record_(record), columns_(columns), places_(places) {}

  [[nodiscard]] const std::string& text(std::size_t column) const { return record_.fields[places_[column]]; }

  /// The field, or the part of it that is given, as a whole number of 1 to `most`.
  [[nodiscard]] Result<std::int64_t> integer(std::size_t column, std::int64_t most) const;
  [[nodiscard]] Result<std::int64_t> integer(std::size_t column, std::string_view digits, std::int64_t most) const;
  [[nodiscard]] Result<int> small(std::size_t column, int most) const;
  [[nodiscard]] Result<int> small(std::size_t column, std::string_view digits, int most) const;
  /// As a positive number.
  [[nodiscard]] Result<double> positive(std::size_t column) const;
  [[nodiscard]] Result<double> positive(std::size_t column, std::string_view digits) const;

  [[nodiscard]] tl::unexpected<Error> refuse(std::size_t column, std::string remedy) const;

 private:
  const cutlass::CsvRecord& record_;
  const std::vector<const char*>& columns_;
  const std::vector<std::size_t>& places_;
};

}  // namespace tilewright::schedule
