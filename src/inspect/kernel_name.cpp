#include "tilewright/kernel_name.hpp"

#include <algorithm>

#include "inspect/kernel_name_cutlass.hpp"
#include "inspect/kernel_name_strings.hpp"
#include "inspect/kernel_name_tree.hpp"

namespace tilewright {
namespace {

// Control characters and bytes outside ASCII would end up on somebody's terminal, through a name or through a message
// about it. Replaced byte for byte, they leave the lengths in a mangled name as they are.
std::string printable(std::string symbol) {
  std::replace_if(
      symbol.begin(), symbol.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return symbol;
}

std::string shortened(const std::string& symbol) {
  return symbol.size() > kKernelTextLimit ? symbol.substr(0, kKernelTextLimit) + "..." : symbol;
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

KernelName decode_kernel_name(const std::string& bytes) {
  const std::string symbol = printable(bytes);
  KernelName name;
  if (symbol.substr(0, 2) != "_Z") {
    name.text = shortened(symbol);
    read_identifier(symbol, name);
    return name;
  }
  const auto tree = inspect::NameTree::parse(symbol);
  if (!tree) {
    name.text = shortened(symbol);
    name.note = tree.error().cause;
    return name;
  }
  const inspect::NameNode& function = tree->root();
  name.text = inspect::written(function, kKernelTextLimit);
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
