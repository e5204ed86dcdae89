// What a verb has to say, and how it is printed: one report, five formats.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::cli {

using Json = nlohmann::ordered_json;

enum class Format { text, md, csv, json, html };

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

/// A chart for html, drawn (schedule/html/line_chart.hpp); the other formats leave it out. A table holds its numbers.
struct Figure {
  std::string markup;
};

/// The answer of a verb. `json` is complete by itself; `sections` hold the same facts for the other formats.
struct Report {
  explicit Report(const std::string& verb) : title("tilewright " + verb) {
    json["schema"] = "tilewright." + verb + "/1";
  }

  std::string title;  ///< of an html page
  Json json;
  std::vector<std::variant<Table, Facts, Text, Figure>> sections;
};

std::string render(const Report& report, Format format);

/// The page: a section of it begins at every table or list of facts that has a title.
std::string render_page(const Report& report);

/// A size in bytes as a reader says it: "768 B", "98.0 KiB", "1.32 GiB".
std::string readable_bytes(double bytes);

/// `value` with `digits` significant digits and no exponent for everyday sizes: 0.0123, 1.23, 123, 12345.
std::string significant(double value, int digits = 3);

/// `value` rounded to `digits` significant digits, for JSON: a measured number has no more than that.
double rounded(double value, int digits = 6);

}  // namespace tilewright::cli
