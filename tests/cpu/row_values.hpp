// What a DotRows row holds, read back from its records.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/dot_rows.hpp"
#include "cpu/tile_layout.hpp"

namespace tilewright::cpu {

template <typename T>
T read_as(const std::uint8_t* at) {
  T value{};
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// x[k] / unit of one block record, by the formula at the top of dot_rows.hpp.
inline double record_value(const std::uint8_t* record, RowFormat format, int k) {
  // The pairs of a bf16 record are (0, 2), (1, 3), (4, 6), ...
  if (is_bf16(format)) return to_float(read_as<bf16>(record + 2 * (k / 4 * 4 + k % 2 * 2 + k % 4 / 2)));
  const int planes = planes_of(format);
  const auto plane = [&](int p) { return static_cast<double>(static_cast<std::int8_t>(record[p * kBlock + k])); };
  const std::uint8_t* last_multiplier = record + multiplier_offset(planes, planes - 1);
  const bool pair = is_pair16(format);
  const double m = pair ? read_as<std::int16_t>(last_multiplier) : read_as<float>(last_multiplier);
  return m * (planes == 1 ? plane(0) : 256.0 * plane(0) + plane(1));
}

/// All values of the records at `records`, without the unit.
inline std::vector<double> record_values(const std::uint8_t* records, RowFormat format, int groups) {
  std::vector<double> values;
  for (int b = 0; b < groups * kGroupBlocks; ++b) {
    for (int k = 0; k < kBlock; ++k) values.push_back(record_value(records + b * record_bytes(format), format, k));
  }
  return values;
}

/// The row with its unit and its tail.
inline std::vector<double> row_values(const DotRows& rows, std::int64_t i) {
  std::vector<double> values = record_values(rows.row(i), rows.format(), rows.groups());
  for (double& value : values) value *= rows.unit(i);
  if (rows.tail(i) == nullptr) return values;
  const std::vector<double> tail = record_values(rows.tail(i), rows.format(), rows.groups());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] += tail[k] * rows.tail_unit(i);
  return values;
}

}  // namespace tilewright::cpu
