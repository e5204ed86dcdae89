// tilewright: the command line. Data goes to stdout, everything else to stderr; each verb is a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "tools/tilewright/help_format.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

int complain(const std::string& who, const std::string& what, Exit exit) {
  fmt::print(stderr, "{}: error: {}\n", who, what);
  return static_cast<int>(exit);
}

int execute(const Verb& verb) {
  const std::string who = "tilewright " + verb.command->get_name();
  const Result<Outcome> outcome = verb.run();
  if (!outcome) return complain(who, outcome.error().message(), exit_for(outcome.error()));
  const std::string& text = outcome->text;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return complain(who, "the answer could not be written to stdout", Exit::failed);
  }
  return static_cast<int>(outcome->exit);
}

// CLI11's message on one line, in plain words.
std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::size_t missing = text.find(": 1 required ");
  return missing == std::string::npos ? text : text.substr(0, missing) + ": a value is missing";
}

// Empty when argv[1] is a verb or an option; CLI11 itself would only say that a verb is missing.
std::string unknown_verb(const std::vector<Verb>& verbs, const std::string& first) {
  if (first.empty() || first.front() == '-') return {};
  std::string known;
  for (const Verb& verb : verbs) {
    if (verb.command->get_name() == first) return {};
    known += (known.empty() ? "" : ", ") + verb.command->get_name();
  }
  return fmt::format("there is no verb '{}'; the verbs are {}", first, known);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Expert layers of NVFP4 mixture-of-experts models: plan them, run them, check them.", "tilewright");
  app.formatter(std::make_shared<HelpFormat>());
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 numbers do not match, 4 not possible here.\n"
      "'tilewright VERB --help' says what a verb takes and gives examples.");
  const std::vector<Verb> verbs = {add_info(app),     add_plan(app),     add_explain(app), add_run(app),
                                   add_bench(app),    add_verify(app),   add_inspect(app), add_quantize(app),
                                   add_targets(app),  add_validate(app), add_tune(app),    add_regret(app),
                                   add_calibrate(app)};
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return static_cast<int>(Exit::usage);
  }
  const std::string stranger = unknown_verb(verbs, argv[1]);
  if (!stranger.empty()) return complain("tilewright", stranger, Exit::usage);
  const auto chosen = [&]() -> const Verb* {
    for (const Verb& verb : verbs) {
      if (verb.command->parsed()) return &verb;
    }
    return nullptr;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const std::string who = chosen() == nullptr ? "tilewright" : "tilewright " + chosen()->command->get_name();
    return complain(who, fmt::format("{}; see '{} --help'", plain(error.what()), who), Exit::usage);
  }
  return execute(*chosen());
}

}  // namespace
}  // namespace tilewright::cli

int main(int argc, char** argv) {
  try {
    return tilewright::cli::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    return tilewright::cli::complain("tilewright", error.what(), tilewright::cli::Exit::failed);
  }
}
