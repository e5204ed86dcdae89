#include "schedule/html/table.hpp"

#include <fmt/format.h>

#include <iterator>

#include "schedule/html/markup.hpp"

namespace tilewright::html {
namespace {

using Out = std::back_insert_iterator<std::string>;

const char* class_of(Column kind) {
  switch (kind) {
    case Column::number: return " class=\"number\"";
    case Column::sentence: return " class=\"sentence\"";
    case Column::words: break;
  }
  return "";
}

std::string render_cell(const TableCell& cell, Column kind, bool header) {
  if (cell.rows == 0) return {};
  const char* tag = header ? "th" : "td";
  const std::string span = cell.rows > 1 ? fmt::format(" rowspan=\"{}\"", cell.rows) : std::string();
  const char* scope = !header ? "" : cell.rows > 1 ? " scope=\"rowgroup\"" : " scope=\"row\"";
  const std::string text =
      cell.chosen ? fmt::format("<strong>{}<span class=\"spoken\"> (chosen)</span></strong>", escaped(cell.text))
                  : escaped(cell.text);
  return fmt::format("<{0}{1}{2}{3}>{4}</{0}>", tag, scope, class_of(kind), span, text);
}

// A spanning header heads its rows, but the rows below it have none of their own; so the first cell that is there does.
std::string render_row(const Table& table, const TableRow& row) {
  if (row.cells.empty()) {
    return fmt::format("<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{}\">{}</th></tr>\n", table.columns.size(),
                       escaped(row.heading));
  }
  std::string out = "<tr>";
  for (std::size_t i = 0; i < row.cells.size(); ++i) out += render_cell(row.cells[i], table.columns[i].kind, i == 0);
  return out + "</tr>\n";
}

}  // namespace

std::string render(const Table& table, const std::string& id) {
  std::string head, body;
  for (const TableColumn& column : table.columns) {
    fmt::format_to(Out(head), "<th scope=\"col\"{}>{}</th>", class_of(column.kind), escaped(column.name));
  }
  for (const TableRow& row : table.rows) body += render_row(table, row);
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-caption\">\n<table id=\"{0}\">\n"
      "<caption><span{4} "
      "id=\"{0}-caption\">{1}</span></caption>\n<thead>\n<tr>{2}</tr>\n</thead>\n<tbody>\n{3}</tbody>\n</table>\n"
      "</div>\n",
      escaped(id), escaped(table.caption), head, body, table.silent_caption ? " class=\"spoken\"" : "");
}

std::string render_facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : facts) {
    fmt::format_to(Out(out), "<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  }
  return out + "</dl>\n";
}

}  // namespace tilewright::html
