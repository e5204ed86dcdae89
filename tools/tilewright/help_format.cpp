#include "tools/tilewright/help_format.hpp"

#include <sstream>
#include <utility>

namespace tilewright::cli {
namespace {

constexpr std::size_t kDescriptionColumn = 30;
constexpr std::size_t kLineWidth = 100;

std::string entry(const std::string& left, const std::string& description) {
  std::string out = "  " + left;
  std::size_t column = out.size();
  if (column + 2 > kDescriptionColumn) {
    out += "\n";
    column = 0;
  }
  out += std::string(kDescriptionColumn - column, ' ');
  column = kDescriptionColumn;
  std::istringstream words(description);
  for (std::string word; words >> word;) {
    if (column + word.size() > kLineWidth) {
      out += "\n" + std::string(kDescriptionColumn, ' ');
      column = kDescriptionColumn;
    }
    const bool first = column == kDescriptionColumn;
    out += (first ? "" : " ") + word;
    column += word.size() + (first ? 0 : 1);
  }
  return out + "\n";
}

}  // namespace

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  return CLI::detail::find_and_replace(help, "\n\n\n", "\n\n");
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string value = is_positional ? std::string() : make_option_opts(option);
  return entry(make_option_name(option, is_positional) + value, make_option_desc(option));
}

std::string HelpFormat::make_option_name(const CLI::Option* option, bool is_positional) const {
  const std::string name = CLI::Formatter::make_option_name(option, is_positional);
  return CLI::detail::find_and_replace(name, ",", ", ");
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

}  // namespace tilewright::cli
