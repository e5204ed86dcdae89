#include "tools/tilewright/verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tilewright::cli {
namespace {

// The verbs that print pages.
constexpr std::array<const char*, 3> kPageVerbs = {"plan", "bench", "regret"};

bool has_page(const std::string& verb) {
  return std::find(kPageVerbs.begin(), kPageVerbs.end(), verb) != kPageVerbs.end();
}

// "plan, bench and regret".
std::string page_verbs() {
  return fmt::format("{} and {}", fmt::join(kPageVerbs.begin(), kPageVerbs.end() - 1, ", "), kPageVerbs.back());
}

Format format_named(const std::string& name, const std::string& verb) {
  if (name == "text") return Format::text;
  if (name == "md") return Format::md;
  if (name == "csv") return Format::csv;
  if (name == "json") return Format::json;
  if (name == "html" && has_page(verb)) return Format::html;
  refuse_format(name, verb, has_page(verb) ? "text, md, csv, json or html" : "text, md, csv or json");
}

}  // namespace

Exit exit_for(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument: return Exit::usage;
    case ErrorCode::unsupported: return Exit::not_possible;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::corrupt:
    case ErrorCode::mismatch:
    case ErrorCode::exhausted: break;
  }
  return Exit::failed;
}

void refuse_format(const std::string& name, const std::string& verb, const std::string& formats) {
  const std::string what = name == "html" ? fmt::format("'html' is a format of {}, not of {}", page_verbs(), verb)
                                          : fmt::format("'{}' is not a format", name);
  throw CLI::ValidationError("--format", fmt::format("{}; use {}", what, formats));
}

CLI::App* declare_verb(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples,
                       Format& format) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("Examples:\n" + examples);
  command
      ->add_option_function<std::string>(
          "--format", [&format, name](const std::string& text) { format = format_named(text, name); },
          fmt::format("How to print the answer: text (default), md, csv{}",
                      has_page(name) ? ", json, or html, a page with charts" : " or json"))
      ->option_text("FORMAT");
  return command;
}

}  // namespace tilewright::cli
