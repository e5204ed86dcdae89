// What a verb has to say, and how it is printed: one report, four formats.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::cli {

using Json = nlohmann::ordered_json;

enum class Format { text, md, csv, json };

/// A table whose cells are ready to print. Units stand in the column's name, so that a cell is a bare number.
struct Table {
  struct Column {
    std::string name;
    bool number = false;  ///< aligned right
  };
  std::string title;  ///< may be empty
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Named values, one a line.
struct Facts {
  std::string title;  ///< may be empty
  std::vector<std::pair<std::string, std::string>> values;
};

/// Lines for a reader; csv leaves them out.
struct Text {
  std::string lines;
};

/// The answer of a verb. `json` is complete by itself; `sections` hold the same facts for text, md and csv.
struct Report {
  explicit Report(const std::string& verb) { json["schema"] = "tilewright." + verb + "/1"; }

  Json json;
  std::vector<std::variant<Table, Facts, Text>> sections;
};

std::string render(const Report& report, Format format);

/// A size in bytes as a reader says it: "768 B", "98.0 KiB", "1.32 GiB".
std::string readable_bytes(double bytes);

/// `value` with `digits` significant digits and no exponent for everyday sizes: 0.0123, 1.23, 123, 12345.
std::string significant(double value, int digits = 3);

/// `value` rounded to `digits` significant digits, for JSON: a measured number has no more than that.
double rounded(double value, int digits = 6);

}  // namespace tilewright::cli
