// A node of a name as C++ writes it, within a number of characters.
#include "inspect/kernel_name_tree.hpp"

namespace tilewright::inspect {
namespace {

constexpr int kDeepest = 64;  // scopes and arguments inside one another; below that the text is long anyway

class Writer {
 public:
  explicit Writer(std::size_t limit) : limit_(limit) {}

  void write(const NameNode& node, int depth) {
    if (depth > kDeepest) return append("...");
    switch (node.kind) {
      case NodeKind::modified:
        if (!node.args.empty()) write(*node.args.front(), depth + 1);
        return append(node.name);
      case NodeKind::literal: return literal(node);
      case NodeKind::pack: return arguments(node, depth);
      case NodeKind::name:
      case NodeKind::other: break;
    }
    if (node.scope != nullptr) {
      write(*node.scope, depth + 1);
      append("::");
    }
    append(node.name);
    if (node.is_template) arguments(node, depth);
  }

  std::string take() { return std::move(text_); }

 private:
  void append(std::string_view part) {
    if (full_) return;
    if (text_.size() + part.size() > limit_) {
      full_ = true;
      part = "...";
    }
    text_ += part;
  }

  // Of an enumeration the type says more than the number; of a bool the word.
  void literal(const NameNode& node) {
    const NameNode& type = node.arg(0);
    if (type.is("bool")) return append(node.name == "0" ? "false" : "true");
    if (type.scope != nullptr) {
      append("(");
      append(type.name);
      append(")");
    }
    append(node.name);
  }

  void arguments(const NameNode& node, int depth) {
    append("<");
    for (std::size_t i = 0; i < node.args.size() && !full_; ++i) {
      if (i > 0) append(", ");
      write(*node.args[i], depth + 1);
    }
    append(">");
  }

  std::string text_;
  std::size_t limit_;
  bool full_ = false;
};

}  // namespace

std::string written(const NameNode& node, std::size_t limit) {
  Writer writer(limit);
  writer.write(node, 0);
  return writer.take();
}

}  // namespace tilewright::inspect
