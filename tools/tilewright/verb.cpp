#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

Format format_named(const std::string& name) {
  if (name == "text") return Format::text;
  if (name == "md") return Format::md;
  if (name == "csv") return Format::csv;
  if (name == "json") return Format::json;
  throw CLI::ValidationError("--format", "'" + name + "' is not a format; use text, md, csv or json");
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

CLI::App* declare_verb(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples,
                       Format& format) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("Examples:\n" + examples);
  command
      ->add_option_function<std::string>(
          "--format", [&format](const std::string& text) { format = format_named(text); },
          "How to print the answer: text (default), md, csv or json")
      ->option_text("FORMAT");
  return command;
}

}  // namespace tilewright::cli
