#include "schedule/cutlass/csv.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilewright::schedule::cutlass {
namespace {

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return at_ == text_.size(); }

  Result<CsvRecord> record() {
    CsvRecord record;
    record.line = line_;
    while (true) {
      TILEWRIGHT_ASSIGN(std::string field, text_field());
      record.fields.push_back(std::move(field));
      if (!take(',')) break;
    }
    if (!done() && !take_line_end()) {
      return fail(ErrorCode::invalid_argument, fmt::format("line {}: text after a closing quote", line_),
                  "quote the whole field");
    }
    return record;
  }

 private:
  Result<std::string> text_field() {
    if (take('"')) return quoted_field();
    std::string field;
    while (!done() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == '"') {
        return fail(ErrorCode::invalid_argument, fmt::format("line {}: a quote inside an unquoted field", line_),
                    "quote the whole field and double the quote");
      }
      field += text_[at_++];
    }
    return field;
  }

  Result<std::string> quoted_field() {
    const int start = line_;
    std::string field;
    while (!done()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return field;
      if (c == '\n') ++line_;
      field += c;
    }
    return fail(ErrorCode::invalid_argument, fmt::format("line {}: a quote that is not closed", start));
  }

  bool take(char wanted) {
    if (done() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool take_line_end() {
    const bool carriage = take('\r');
    const bool feed = take('\n');
    if (feed || carriage) ++line_;
    return feed || carriage;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<CsvRecord>> read_csv(std::string_view text) {
  CsvReader reader(text);
  std::vector<CsvRecord> records;
  while (!reader.done()) {
    TILEWRIGHT_ASSIGN(CsvRecord record, reader.record());
    const bool blank = record.fields.size() == 1 && record.fields.front().empty();
    if (!blank) records.push_back(std::move(record));
  }
  return records;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) line += ',';
    const std::string& field = fields[i];
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line;
}

}  // namespace tilewright::schedule::cutlass
