// What was rejected, with its numbers.
#include <fmt/format.h>

#include <algorithm>

#include "schedule/format.hpp"
#include "schedule/html/page.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

using schedule::grouped;

// One rejection with the token counts that it holds for.
struct Entry {
  const Rejection* rejection = nullptr;
  std::vector<std::int64_t> tokens;
};

std::vector<Entry> entries_of(const GemmGroup& group) {
  std::vector<Entry> entries;
  for (const GemmPlan* plan : group.plans) {
    for (const Rejection& rejection : plan->rejected) {
      auto found = std::find_if(entries.begin(), entries.end(),
                                [&](const Entry& entry) { return entry.rejection->message == rejection.message; });
      if (found == entries.end()) found = entries.insert(entries.end(), {&rejection, {}});
      if (found->tokens.empty() || found->tokens.back() != plan->problem.tokens)
        found->tokens.push_back(plan->problem.tokens);
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.rejection->code < b.rejection->code; });
  return entries;
}

void add_entry(Table& table, const Entry& entry) {
  const Rejection& r = *entry.rejection;
  const bool numbers = r.needs != 0 || r.limit != 0;
  table.add({{r.schedule ? describe(*r.schedule) : std::string("any")},
             {token_list(entry.tokens)},
             {numbers ? grouped(r.needs) : std::string()},
             {numbers ? grouped(r.limit) : std::string()},
             {numbers ? grouped(r.needs - r.limit) : std::string()},
             {r.nearest ? describe(*r.nearest) : std::string("none")},
             {r.message}});
}

}  // namespace

std::string rejections_section(const std::vector<GemmGroup>& groups) {
  std::string body;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Table table{fmt::format("{}: of every tile the variant that failed first", groups[i].name),
                {{"schedule"},
                 {"for"},
                 {"needs", Column::number},
                 {"limit", Column::number},
                 {"over", Column::number},
                 {"nearest that passes"},
                 {"in words", Column::sentence}},
                {}};
    std::optional<RejectionCode> code;
    for (const Entry& entry : entries_of(groups[i])) {
      if (code != entry.rejection->code) {
        code = entry.rejection->code;
        table.add_heading(fmt::format("{}: {}", to_string(*code), schedule::meaning(*code)));
      }
      add_entry(table, entry);
    }
    if (!table.rows.empty()) body += render(table, fmt::format("rejected-{}", i + 1));
  }
  return body.empty() ? paragraph("No schedule was rejected.") : body;
}

}  // namespace tilewright::html
