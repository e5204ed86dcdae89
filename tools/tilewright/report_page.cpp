// Report -> one HTML page.
#include <fmt/format.h>

#include "schedule/html/page.hpp"
#include "schedule/html/table.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {
namespace {

class PageWriter {
 public:
  explicit PageWriter(const std::string& title) { page_.title = title; }

  void operator()(const Table& table) {
    begin(table.title);
    html::Table drawn{heading(), {}, {}, true};
    for (const Table::Column& column : table.columns) {
      drawn.columns.push_back({column.name, column.number ? html::Column::number : html::Column::words});
    }
    for (const auto& row : table.rows) {
      std::vector<html::TableCell> cells;
      for (const std::string& cell : row) cells.push_back({cell});
      drawn.add(std::move(cells));
    }
    body() += html::render(drawn, fmt::format("table-{}", ++tables_));
  }

  void operator()(const Facts& facts) {
    begin(facts.title);
    body() += html::render_facts(facts.values);
  }

  void operator()(const Text& text) { body() += html::paragraph(text.lines); }

  void operator()(const Figure& figure) { body() += figure.markup; }

  [[nodiscard]] std::string page() const { return html::render(page_); }

 private:
  void begin(const std::string& title) {
    if (!title.empty()) page_.sections.push_back({fmt::format("section-{}", page_.sections.size() + 1), title, {}});
  }
  // What comes before the first title stands at the top.
  std::string& body() { return page_.sections.empty() ? page_.lead : page_.sections.back().body; }
  [[nodiscard]] const std::string& heading() const {
    return page_.sections.empty() ? page_.title : page_.sections.back().title;
  }

  html::Page page_;
  int tables_ = 0;
};

}  // namespace

std::string render_page(const Report& report) {
  PageWriter writer(report.title);
  for (const auto& section : report.sections) std::visit(writer, section);
  return writer.page();
}

}  // namespace tilewright::cli
