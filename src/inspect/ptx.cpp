#include "inspect/ptx.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "inspect/cubin_target.hpp"
#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::array<bool, 256> make_word_characters() {
  std::array<bool, 256> table{};
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (const char c : {'_', '$', '%', '.'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}

constexpr auto kWordCharacter = make_word_characters();

bool is_word_character(char c) { return kWordCharacter[static_cast<unsigned char>(c)]; }

// Words (names, directives and opcodes with their dots, numbers) and single other characters.
class PtxTokens {
 public:
  explicit PtxTokens(std::string_view text) : text_(text) {}

  // Empty at the end of the text.
  std::string_view next() {
    skip_blanks();
    begin_ = at_;
    if (at_ == text_.size()) return {};
    if (text_[at_] == '"') {
      at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1;
    } else if (!is_word_character(text_[at_])) {
      ++at_;
    } else {
      while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    }
    return text_.substr(begin_, at_ - begin_);
  }

  [[nodiscard]] std::size_t begin() const { return begin_; }  // of the last token
  [[nodiscard]] std::size_t end() const { return at_; }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
};

std::optional<int> number(std::string_view word) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Bytes of a fundamental type by its directive, ".u64"; 0 for any other word.
int type_bytes(std::string_view word) {
  if (word.size() < 3 || word.front() != '.' || std::string_view("busf").find(word[1]) == std::string_view::npos) {
    return 0;
  }
  const int bits = number(word.substr(2)).value_or(0);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits / 8 : 0;
}

class PtxReader {
 public:
  PtxReader(std::string_view text, bool scan_code) : tokens_(text), scan_code_(scan_code) {}

  PtxContents read() {
    for (std::string_view word = tokens_.next(); !word.empty(); word = tokens_.next()) {
      if (word == ".version") {
        contents_.version = std::string(tokens_.next().substr(0, kMaxVersionBytes));
      } else if (word == ".target") {
        contents_.target = target_in(tokens_.next());
      } else if (word == ".entry") {
        read_entry();
      } else if (word == "{") {
        skip_block();  // of a .func, or the values of a variable
      }
    }
    return std::move(contents_);
  }

 private:
  static constexpr std::size_t kMaxVersionBytes = 16;

  void read_entry() {
    const std::size_t begin = tokens_.begin();
    KernelInfo kernel;
    kernel.symbol = std::string(tokens_.next().substr(0, kMaxNameBytes));
    std::string_view word = tokens_.next();
    if (word == "(") {
      read_parameters(kernel);
      word = tokens_.next();
    }
    if (!kernel.parameter_bytes) kernel.parameter_bytes = 0;
    while (!word.empty() && word != "{" && word != ";") word = read_directive(word, kernel);
    if (word != "{") return;  // a declaration, or the end of the text
    read_body(kernel);
    kernel.code_bytes = static_cast<std::int64_t>(tokens_.end() - begin);
    contents_.kernels.push_back(std::move(kernel));
  }

  // A directive between the parameters and the body; returns the word behind it.
  std::string_view read_directive(std::string_view word, KernelInfo& kernel) {
    if (word == ".maxntid") return read_shape(kernel.max_block);
    if (word == ".reqntid") return read_shape(kernel.required_block);
    if (word == ".minnctapersm") kernel.min_blocks_per_sm = number(tokens_.next());
    return tokens_.next();
  }

  std::string_view read_shape(std::optional<BlockShape>& shape) {
    std::array<int, 3> sizes = {0, 1, 1};
    std::string_view word;
    for (int& size : sizes) {
      size = number(tokens_.next()).value_or(0);
      word = tokens_.next();
      if (word != ",") break;
    }
    shape = BlockShape{sizes[0], sizes[1], sizes[2]};
    return word;
  }

  // ".param .align 8 .b8 name[128], .param .u64 name)": each aligned to its type, or to what it states.
  void read_parameters(KernelInfo& kernel) {
    std::int64_t end = 0;
    std::string_view word = tokens_.next();
    while (!word.empty() && word != ")") {
      std::int64_t alignment = 0;
      std::int64_t size = 0;
      for (; !word.empty() && word != "," && word != ")"; word = tokens_.next()) {
        if (const int bytes = type_bytes(word); bytes != 0 && size == 0) {
          size = bytes;
          alignment = std::max<std::int64_t>(alignment, bytes);
        } else if (word == ".align") {
          const int stated = number(tokens_.next()).value_or(1);
          if (size == 0) alignment = std::clamp(stated, 1, kMaxAlignment);  // behind .ptr it is the pointee's
        } else if (word == "[") {
          size *= std::clamp(number(tokens_.next()).value_or(0), 0, kMaxParameterBytes);
        }
      }
      alignment = std::max<std::int64_t>(alignment, 1);
      end = std::min<std::int64_t>((end + alignment - 1) / alignment * alignment + size, kMaxParameterBytes);
      if (word == ",") word = tokens_.next();
    }
    kernel.parameter_bytes = end;
  }

  void read_body(KernelInfo& kernel) {
    int setmaxnreg = 0;
    int wait = 0;
    int launch = 0;
    int depth = 1;
    while (depth > 0) {
      const std::string_view word = tokens_.next();
      if (word.empty()) break;
      if (word == "{") ++depth;
      if (word == "}") --depth;
      if (word.substr(0, 11) == "setmaxnreg.") ++setmaxnreg;
      if (word == "griddepcontrol.wait") ++wait;
      if (word == "griddepcontrol.launch_dependents") ++launch;
    }
    if (!scan_code_) return;
    kernel.setmaxnreg = setmaxnreg;
    kernel.griddep_wait = wait;
    kernel.griddep_launch = launch;
  }

  void skip_block() {
    int depth = 1;
    while (depth > 0) {
      const std::string_view word = tokens_.next();
      if (word.empty()) break;
      if (word == "{") ++depth;
      if (word == "}") --depth;
    }
  }

  // A kernel's parameters have at most 32,764 bytes (PTX ISA, "Kernel function parameters").
  static constexpr int kMaxParameterBytes = 32764;
  static constexpr int kMaxAlignment = 1024;

  PtxTokens tokens_;
  bool scan_code_;
  PtxContents contents_;
};

}  // namespace

PtxContents read_ptx(std::string_view text, bool scan_code) { return PtxReader(text, scan_code).read(); }

}  // namespace tilewright::inspect
