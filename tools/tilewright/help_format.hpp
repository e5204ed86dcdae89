// How help texts are laid out: one column of options, one of descriptions, wrapped at 100 characters.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tilewright::cli {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace tilewright::cli
