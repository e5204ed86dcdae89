// Tables of a page: they hold every fact, and scroll by keyboard where they are wider than the screen.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilewright::html {

enum class Column { words, sentence, number };

struct TableColumn {
  std::string name;
  Column kind = Column::words;
};

struct TableCell {
  std::string text;
  bool chosen = false;  ///< set off, and said to be chosen
  int rows = 1;         ///< that the cell spans; 0: an earlier one covers it
};

struct TableRow {
  std::string heading;  ///< of a group of rows, alone on its line; such a row has no cells
  std::vector<TableCell> cells;
};

struct Table {
  std::string caption;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  bool silent_caption = false;  ///< a heading above says the same: only screen readers are told

  void add(std::vector<TableCell> cells) { rows.push_back({{}, std::move(cells)}); }
  void add_heading(std::string heading) { rows.push_back({std::move(heading), {}}); }
};

/// `id` is unique in the page. The first cell of a row is its header.
std::string render(const Table& table, const std::string& id);

/// Named values, one a line.
std::string render_facts(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace tilewright::html
