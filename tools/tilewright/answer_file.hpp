// Answers of verbs that take long: to stdout, or to a file that is there whole or not at all.
#pragma once

#include <string>

#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {

/// Declares --out FILE.
void declare_out(CLI::App& command, std::string& out);

/// The outcome with `text` on stdout, or in the file `out` where one is named.
Result<Outcome> answer(std::string text, const std::string& out, Exit exit);

/// "12 s", "3 min 5 s".
std::string duration_words(double seconds);

}  // namespace tilewright::cli
