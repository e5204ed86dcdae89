// The rules that the source tree keeps, as functions of a path and a text, so that they can be tested on made-up files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::architecture {

/// One #include line: "x/y.hpp" is quoted, <x> is not.
struct Include {
  std::string target;
  bool quoted = false;
  int line = 0;
};

std::vector<Include> includes_of(std::string_view text);

/// Layer of a file by its path from the repository root ("src/cpu/x.cpp" -> "cpu", "tools/..." -> "tools",
/// "include/tilewright/x.hpp" -> the layer that implements it). Empty: no layer claims it.
std::string layer_of(std::string_view path);

/// True when `from` may include `to`: its own layer or one to its left.
bool may_include(std::string_view from, std::string_view to);

/// What an include breaks in this file; each line reads "path:line: what, and what to do".
std::vector<std::string> include_violations(std::string_view path, std::string_view text);

/// A line when the file is longer than its kind allows: 400 lines, 700 for .cu and .cuh.
std::vector<std::string> length_violations(std::string_view path, std::string_view text);

}  // namespace tilewright::architecture
