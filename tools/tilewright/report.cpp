#include "tools/tilewright/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace tilewright::cli {
namespace {

std::string trim_right(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Printed width: bytes that are not UTF-8 continuations.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, width_of(text)), ' ');
  return right ? fill + text : text + fill;
}

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Table::Column& column : table.columns) widths.push_back(width_of(column.name));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string md_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

struct TextWriter {
  std::string operator()(const Table& table) const {
    const auto widths = column_widths(table);
    std::string out = table.title.empty() ? "" : table.title + "\n";
    std::string line;
    const auto finish = [&] { out += trim_right(std::exchange(line, {})) + "\n"; };
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += padded(table.columns[i].name, widths[i], table.columns[i].number) + "  ";
    }
    finish();
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i], table.columns[i].number) + "  ";
      finish();
    }
    return out;
  }

  std::string operator()(const Facts& facts) const {
    std::size_t width = 0;
    for (const auto& [name, value] : facts.values) width = std::max(width, width_of(name));
    std::string out = facts.title.empty() ? "" : facts.title + "\n";
    for (const auto& [name, value] : facts.values) out += padded(name, width, false) + "  " + value + "\n";
    return out;
  }

  std::string operator()(const Text& text) const { return text.lines + "\n"; }

  std::string operator()(const Figure& /*figure*/) const { return {}; }
};

struct MarkdownWriter {
  std::string operator()(const Table& table) const {
    std::string out = table.title.empty() ? "" : "**" + table.title + "**\n\n";
    for (const Table::Column& column : table.columns) out += fmt::format("| {} ", md_cell(column.name));
    out += "|\n";
    for (const Table::Column& column : table.columns) out += column.number ? "|---:" : "|---";
    out += "|\n";
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) out += fmt::format("| {} ", md_cell(cell));
      out += "|\n";
    }
    return out;
  }

  std::string operator()(const Facts& facts) const {
    Table table{facts.title, {{"what", false}, {"value", false}}, {}};
    for (const auto& [name, value] : facts.values) table.rows.push_back({name, value});
    return (*this)(table);
  }

  std::string operator()(const Text& text) const { return text.lines + "\n"; }

  std::string operator()(const Figure& /*figure*/) const { return {}; }
};

struct CsvWriter {
  std::string operator()(const Table& table) const {
    std::string out;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ",", csv_cell(table.columns[i].name));
    }
    out += "\n";
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", csv_cell(row[i]));
      out += "\n";
    }
    return out;
  }

  std::string operator()(const Facts& facts) const {
    Table table{{}, {{"what", false}, {"value", false}}, {}};
    for (const auto& [name, value] : facts.values) table.rows.push_back({name, value});
    return (*this)(table);
  }

  std::string operator()(const Text& /*text*/) const { return {}; }

  std::string operator()(const Figure& /*figure*/) const { return {}; }
};

template <typename Writer>
std::string render_sections(const Report& report, const Writer& writer) {
  std::string out;
  for (const auto& section : report.sections) {
    const std::string block = std::visit(writer, section);
    if (block.empty()) continue;
    if (!out.empty()) out += "\n";
    out += block;
  }
  return out;
}

}  // namespace

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::text: return render_sections(report, TextWriter{});
    case Format::md: return render_sections(report, MarkdownWriter{});
    case Format::csv: return render_sections(report, CsvWriter{});
    case Format::html: return render_page(report);
    case Format::json: break;
  }
  return report.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string readable_bytes(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{} {}", significant(bytes), kUnits[unit]);
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value) || value == 0.0) return fmt::format("{:g}", value);
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e15) return fmt::format("{:.{}e}", value, std::max(0, digits - 1));
  // The exponent after rounding: 9.996 with 3 digits is 10.0.
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(rounded(value, digits)))));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

double rounded(double value, int digits) {
  if (!std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.{}e}", value, std::max(0, digits - 1)).c_str(), nullptr);
}

}  // namespace tilewright::cli
