// A verb of the command line: how it is declared, what it answers, and what its exit code means.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "tilewright/result.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// Exit codes, the same for every verb.
enum class Exit : int {
  ok = 0,
  failed = 1,         ///< an input could not be read, or a file not be written
  usage = 2,          ///< the command line does not make sense
  wrong_numbers = 3,  ///< a check ran and its numbers do not match
  not_possible = 4,   ///< understood, and not something this machine, build or device can do
};

Exit exit_for(const Error& error);

/// The answer of a verb that ran: what goes to stdout, and the exit code.
struct Outcome {
  std::string text;
  Exit exit = Exit::ok;
};

struct Verb {
  CLI::App* command = nullptr;
  std::function<Result<Outcome>()> run;
};

/// Throws CLI11's error for a format that `verb` does not have; `formats` are those that it has. Where the format is
/// html the message names the verbs that print pages.
[[noreturn]] void refuse_format(const std::string& name, const std::string& verb, const std::string& formats);

/// Declares `tilewright NAME` with its --format option. `example` lines follow the help text.
CLI::App* declare_verb(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples,
                       Format& format);

// One file a verb.
Verb add_info(CLI::App& app);
Verb add_plan(CLI::App& app);
Verb add_explain(CLI::App& app);
Verb add_run(CLI::App& app);
Verb add_bench(CLI::App& app);
Verb add_verify(CLI::App& app);
Verb add_inspect(CLI::App& app);
Verb add_quantize(CLI::App& app);
Verb add_targets(CLI::App& app);
Verb add_validate(CLI::App& app);
Verb add_tune(CLI::App& app);
Verb add_regret(CLI::App& app);
Verb add_calibrate(CLI::App& app);

}  // namespace tilewright::cli
