// A mangled C++ name as a tree of names and template arguments.
//
// Names of CUTLASS kernels are thousands of characters long, and a file's symbol table is bytes from outside. libiberty
// parses them; its parser recurses as deep as the name nests, and doubles its work at some constructs, so names are
// bounded first and long ones are parsed on a thread whose stack is as large as the name can need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::inspect {

/// Longest name that is parsed, in characters. The longest GEMM in the wheels of vLLM 0.33 and sgl-kernel 0.3.21 has
/// 2,476.
inline constexpr std::size_t kMaxMangled = 65536;

enum class NodeKind : std::uint8_t {
  name,      ///< a class, function, enumeration or built-in type, with its template arguments
  literal,   ///< a value: `name` is its digits, the one argument its type
  modified,  ///< pointer, reference, const, ...: `name` stands after the one argument
  pack,      ///< template arguments that are not spliced into a list yet
  other      ///< an expression, a function type: nothing that a kernel is told by
};

/// One name or value. Nodes are shared: a name that the mangled text repeats by reference is one node.
struct NameNode {
  NodeKind kind = NodeKind::other;
  std::string_view name;              ///< last identifier: "GemmUniversal"
  const NameNode* scope = nullptr;    ///< what qualifies it
  bool is_template = false;           ///< it has an argument list, of any length
  std::vector<const NameNode*> args;  ///< template arguments, packs spliced in

  /// Argument `i`, or a node without a name where there are fewer.
  [[nodiscard]] const NameNode& arg(std::size_t i) const;
  /// The value of an integral literal.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] bool is(std::string_view identifier) const { return kind == NodeKind::name && name == identifier; }
};

class NameTree {
 public:
  /// The tree of an Itanium-mangled name ("_Z..."). `unsupported` for what is none or cannot be parsed, `exhausted` for
  /// one that passes a bound.
  static Result<NameTree> parse(std::string_view mangled);

  NameTree(NameTree&&) = default;
  NameTree& operator=(NameTree&&) = default;
  NameTree(const NameTree&) = delete;
  NameTree& operator=(const NameTree&) = delete;
  ~NameTree() = default;

  /// The function or variable that the name stands for, without its parameters.
  [[nodiscard]] const NameNode& root() const { return *root_; }

 private:
  friend class TreeBuilder;
  NameTree() = default;

  std::unique_ptr<std::string> text_;  ///< names are views of it, so it must not move
  std::deque<std::string> words_;      ///< names that do not stand in the text
  std::deque<NameNode> nodes_;
  const NameNode* root_ = nullptr;
};

/// The node as C++ writes it, at most about `limit` characters: what is too much is "...".
std::string written(const NameNode& node, std::size_t limit);

}  // namespace tilewright::inspect
