#include "tilewright/kernel_name.hpp"

#include <algorithm>

#include "inspect/kernel_name_cutlass.hpp"
#include "inspect/kernel_name_strings.hpp"
#include "inspect/kernel_name_tree.hpp"

namespace tilewright {
namespace {

// A symbol as text: control characters and bytes outside ASCII would end up on somebody's terminal.
std::string printable(std::string_view symbol) {
  std::string text(symbol.substr(0, kKernelTextLimit));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (symbol.size() > text.size()) text += "...";
  return text;
}

// The launcher's or library's name that an identifier is; of a device_kernel its argument's.
void read_identifier(std::string_view identifier, KernelName& name) {
  if (auto launcher = inspect::read_launcher(identifier)) {
    name.family = KernelFamily::cutlass_launcher;
    name.cutlass = std::move(launcher);
  } else if (auto library = inspect::read_library(identifier)) {
    name.family = KernelFamily::cutlass_library;
    name.cutlass = std::move(library);
  }
}

}  // namespace

const char* to_string(KernelFamily family) {
  switch (family) {
    case KernelFamily::cutlass_gemm: return "cutlass_gemm";
    case KernelFamily::cutlass_launcher: return "cutlass_launcher";
    case KernelFamily::cutlass_library: return "cutlass_library";
    case KernelFamily::other: break;
  }
  return "other";
}

KernelName decode_kernel_name(const std::string& symbol) {
  KernelName name;
  const bool mangled = symbol.substr(0, 2) == "_Z";
  if (!mangled) {
    name.text = printable(symbol);
    read_identifier(symbol, name);
    return name;
  }
  const auto tree = inspect::NameTree::parse(symbol);
  if (!tree) {
    name.text = printable(symbol);
    name.note = tree.error().cause;
    return name;
  }
  const inspect::NameNode& function = tree->root();
  name.text = printable(inspect::written(function, kKernelTextLimit));
  if (const inspect::NameNode* gemm = inspect::gemm_universal(function); gemm != nullptr) {
    name.family = KernelFamily::cutlass_gemm;
    name.cutlass = inspect::read_gemm(*gemm);
    name.cutlass->request = inspect::request_of(*name.cutlass);
    return name;
  }
  read_identifier(function.is("device_kernel") ? function.arg(0).name : function.name, name);
  return name;
}

}  // namespace tilewright
