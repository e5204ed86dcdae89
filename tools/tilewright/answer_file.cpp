#include "tools/tilewright/answer_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/pending_file.hpp"

namespace tilewright::cli {

void declare_out(CLI::App& command, std::string& out) {
  command.add_option("--out", out, "Write the answer to this file, not to stdout")->option_text("FILE");
}

Result<Outcome> answer(std::string text, const std::string& out, Exit exit) {
  if (out.empty()) return Outcome{std::move(text), exit};
  PendingFile file(out);
  TILEWRIGHT_TRY(file.create());
  TILEWRIGHT_TRY(file.write(text));
  TILEWRIGHT_TRY(file.commit());
  return Outcome{{}, exit};
}

std::string duration_words(double seconds) {
  const auto whole = static_cast<int>(std::ceil(std::fmax(seconds, 0.0)));
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace tilewright::cli
