#include "inspect/kernel_name_tree.hpp"

#include <fmt/format.h>
#define HAVE_DECL_BASENAME 1  // keeps libiberty.h from declaring its own
#include <libiberty/demangle.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "inspect/kernel_name_stack.hpp"

namespace tilewright::inspect {
namespace {

using Component = demangle_component;

constexpr int kMaxDepth = 400;              // of the tree; what is deeper is "..."
constexpr std::size_t kMaxNodes = 200'000;  // libiberty makes at most two a character

// Template arguments of a template parameter ("T_I...E"). In a conversion operator libiberty parses them twice, and
// what is nested in them twice again.
constexpr std::size_t kMaxParameterTemplates = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t parameter_templates(std::string_view mangled) {
  std::size_t count = 0;
  for (std::size_t at = mangled.find("_I"); at != std::string_view::npos; at = mangled.find("_I", at + 1)) {
    std::size_t digit = at;
    while (digit > 0 && is_digit(mangled[digit - 1])) --digit;
    if (digit > 0 && mangled[digit - 1] == 'T') ++count;
  }
  return count;
}

struct Components {
  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, &std::free};
  Component* root = nullptr;
};

Result<Components> components_of(const std::string& mangled) {
  Components found;
  const auto parse = [&] {
    void* memory = nullptr;
    found.root =
        cplus_demangle_v3_components(mangled.c_str(), DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, &memory);
    found.memory.reset(memory);
  };
  TILEWRIGHT_TRY(run_on_stack(stack_for_name(mangled.size()), parse));
  if (found.root == nullptr) {
    return fail(ErrorCode::unsupported, "the name does not follow the Itanium C++ ABI's mangling");
  }
  return found;
}

// Names of built-in types are libiberty's secret; its printer tells them, and a leaf prints in one step.
std::string printed_leaf(Component* leaf) {
  std::size_t allocated = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(cplus_demangle_print(DMGL_NO_OPTS, leaf, 16, &allocated),
                                                         &std::free);
  return text == nullptr ? std::string() : std::string(text.get());
}

const char* modifier_of(demangle_component_type type) {
  switch (type) {
    case DEMANGLE_COMPONENT_POINTER: return "*";
    case DEMANGLE_COMPONENT_REFERENCE:
    case DEMANGLE_COMPONENT_REFERENCE_THIS: return "&";
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS: return "&&";
    case DEMANGLE_COMPONENT_CONST:
    case DEMANGLE_COMPONENT_CONST_THIS: return " const";
    case DEMANGLE_COMPONENT_VOLATILE:
    case DEMANGLE_COMPONENT_VOLATILE_THIS: return " volatile";
    case DEMANGLE_COMPONENT_RESTRICT:
    case DEMANGLE_COMPONENT_RESTRICT_THIS: return " restrict";
    case DEMANGLE_COMPONENT_PACK_EXPANSION: return "...";
    default: return nullptr;
  }
}

}  // namespace

// Turns libiberty's components into nodes. Each component becomes one node, so the result is as small as the name; a
// component that is reached again while it is being built, which a malformed name can bring about, becomes "...".
class TreeBuilder {
 public:
  explicit TreeBuilder(NameTree& tree) : tree_(tree) {}

  const NameNode* build(Component* component, int depth) {
    if (component == nullptr || depth > kMaxDepth || tree_.nodes_.size() >= kMaxNodes) return unknown();
    const auto known = built_.find(component);
    if (known != built_.end()) return known->second;
    built_.emplace(component, unknown());
    const NameNode* node = make(component, depth + 1);
    built_[component] = node;
    return node;
  }

  [[nodiscard]] bool overflowed() const { return tree_.nodes_.size() >= kMaxNodes; }

 private:
  const NameNode* unknown() {
    if (unknown_ == nullptr) unknown_ = add({NodeKind::other, "...", nullptr, false, {}});
    return unknown_;
  }

  const NameNode* add(NameNode node) { return &tree_.nodes_.emplace_back(std::move(node)); }
  std::string_view keep(std::string word) { return tree_.words_.emplace_back(std::move(word)); }
  const NameNode* named(std::string_view name) { return add({NodeKind::name, name, nullptr, false, {}}); }

  const NameNode* make(Component* c, int depth) {
    if (const char* modifier = modifier_of(c->type); modifier != nullptr) {
      return add({NodeKind::modified, modifier, nullptr, false, {build(c->u.s_binary.left, depth)}});
    }
    switch (c->type) {
      case DEMANGLE_COMPONENT_NAME: return named({c->u.s_name.s, static_cast<std::size_t>(c->u.s_name.len)});
      case DEMANGLE_COMPONENT_SUB_STD:
        return named({c->u.s_string.string, static_cast<std::size_t>(c->u.s_string.len)});
      case DEMANGLE_COMPONENT_BUILTIN_TYPE: return named(keep(printed_leaf(c)));
      case DEMANGLE_COMPONENT_LAMBDA: return named("{lambda}");
      case DEMANGLE_COMPONENT_UNNAMED_TYPE: return named("{unnamed}");
      case DEMANGLE_COMPONENT_CTOR: return build(c->u.s_ctor.name, depth);
      case DEMANGLE_COMPONENT_QUAL_NAME:
      case DEMANGLE_COMPONENT_LOCAL_NAME: return qualified(c, depth);
      case DEMANGLE_COMPONENT_TEMPLATE: return templated(c, depth);
      case DEMANGLE_COMPONENT_TEMPLATE_ARGLIST: return add({NodeKind::pack, "", nullptr, true, list(c, depth)});
      case DEMANGLE_COMPONENT_LITERAL:
      case DEMANGLE_COMPONENT_LITERAL_NEG: return literal(c, depth);
      // A function's name without its parameters; a clone's or tagged name without the suffix.
      case DEMANGLE_COMPONENT_TYPED_NAME:
      case DEMANGLE_COMPONENT_CLONE:
      case DEMANGLE_COMPONENT_TAGGED_NAME: return build(c->u.s_binary.left, depth);
      default: return unknown();
    }
  }

  const NameNode* qualified(Component* c, int depth) {
    NameNode node = *build(c->u.s_binary.right, depth);
    node.scope = build(c->u.s_binary.left, depth);
    return add(std::move(node));
  }

  const NameNode* templated(Component* c, int depth) {
    NameNode node = *build(c->u.s_binary.left, depth);
    node.is_template = true;
    node.args = list(c->u.s_binary.right, depth);
    return add(std::move(node));
  }

  const NameNode* literal(Component* c, int depth) {
    Component* value = c->u.s_binary.right;
    std::string digits = c->type == DEMANGLE_COMPONENT_LITERAL_NEG ? "-" : "";
    if (value != nullptr && value->type == DEMANGLE_COMPONENT_NAME) {
      digits.append(value->u.s_name.s, static_cast<std::size_t>(value->u.s_name.len));
    }
    return add({NodeKind::literal, keep(std::move(digits)), nullptr, false, {build(c->u.s_binary.left, depth)}});
  }

  // An argument list is a chain; a pack in it is spliced in, as C++ writes it. Bounded: a chain that a malformed name
  // closes to a ring must end.
  std::vector<const NameNode*> list(Component* chain, int depth) {
    std::vector<const NameNode*> args;
    while (chain != nullptr && chain->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST && spliced_ < kMaxNodes) {
      Component* arg = chain->u.s_binary.left;
      chain = chain->u.s_binary.right;
      if (arg == nullptr) continue;  // an empty pack
      const NameNode* node = build(arg, depth);
      if (node->kind != NodeKind::pack) {
        args.push_back(node);
        ++spliced_;
        continue;
      }
      args.insert(args.end(), node->args.begin(), node->args.end());
      spliced_ += node->args.size();
    }
    return args;
  }

  NameTree& tree_;
  std::unordered_map<const Component*, const NameNode*> built_;
  const NameNode* unknown_ = nullptr;
  std::size_t spliced_ = 0;
};

const NameNode& NameNode::arg(std::size_t i) const {
  static const NameNode kNone;
  return i < args.size() ? *args[i] : kNone;
}

std::optional<std::int64_t> NameNode::integer() const {
  if (kind != NodeKind::literal) return std::nullopt;
  std::int64_t value = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<NameTree> NameTree::parse(std::string_view mangled) {
  if (mangled.size() > kMaxMangled) {
    return fail(ErrorCode::exhausted,
                fmt::format("the name has {} characters, over the limit of {}", mangled.size(), kMaxMangled));
  }
  if (mangled.substr(0, 2) != "_Z" || mangled.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::unsupported, "the name is not mangled");
  }
  if (parameter_templates(mangled) > kMaxParameterTemplates && mangled.find("cv") != std::string_view::npos) {
    return fail(ErrorCode::exhausted, fmt::format("the name has more than {} templates that are parameters beside a "
                                                  "conversion",
                                                  kMaxParameterTemplates));
  }
  NameTree tree;
  tree.text_ = std::make_unique<std::string>(mangled);
  TILEWRIGHT_ASSIGN(const Components components, components_of(*tree.text_));
  TreeBuilder builder(tree);
  tree.root_ = builder.build(components.root, 0);
  if (builder.overflowed()) {
    return fail(ErrorCode::exhausted, fmt::format("the name has more than {} parts", kMaxNodes));
  }
  return tree;
}

}  // namespace tilewright::inspect
