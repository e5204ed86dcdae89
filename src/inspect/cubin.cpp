#include "inspect/cubin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "inspect/cubin_target.hpp"
#include "inspect/eiattr.hpp"
#include "inspect/elf_file.hpp"
#include "inspect/limits.hpp"
#include "inspect/notes.hpp"
#include "inspect/sass.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::uint8_t kEntryPoint = 0x10;  // STO_CUDA_ENTRY, in st_other

// Shared memory that the driver keeps at the start of every block from sm_90 on. The linker puts it at the start of
// .nv.shared.KERNEL too; it is no part of what `ptxas -v` prints or of a device's opt-in limit.
constexpr std::int64_t kDriverSharedBytes = 1024;
constexpr int kFirstWithDriverShared = 90;
constexpr int kFirstWithHalfMma = 80;  // whose encoding of HMMA is that of sass.cpp

// ptxas notes the places of its spills at least from this toolkit on; kernels without the note have none.
constexpr std::string_view kFirstToolkitWithSpillPlaces = "12.8";

std::string shortened(std::string_view name) {
  constexpr std::size_t kShown = 80;
  return name.size() <= kShown ? std::string(name) : std::string(name.substr(0, kShown)) + "...";
}

// "12.8" <= "12.9" < "13.0", by major and minor.
bool at_least(std::string_view version, std::string_view least) {
  const auto parts = [](std::string_view text) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    return std::pair(target_in(text.substr(0, dot)).number,
                     dot < text.size() ? target_in(text.substr(dot + 1)).number : 0);
  };
  return parts(version) >= parts(least);
}

class CubinReader {
 public:
  CubinReader(const ElfFile& file, bool scan_code)
      : file_(file), scan_code_(scan_code), budget_(kSectionSharing * file.bytes().size()) {}

  Result<CubinContents> read() {
    contents_.target = cubin_target(file_);
    contents_.toolkit = cubin_toolkit(file_);
    contents_.relocatable = file_.header().type == kElfRelocatable;
    if (contents_.target.number == 0) {
      notes_.add(fmt::format("ELF header of an unknown convention (OS ABI {:#x}, flags {:#x}): the target is not told",
                             file_.header().os_abi, file_.header().flags));
    }
    index_sections();
    TILEWRIGHT_TRY(find_kernels());
    read_common_attributes();
    for (std::size_t i = 0; i < contents_.kernels.size(); ++i) read_kernel(i);
    contents_.notes = std::move(notes_).take();
    return std::move(contents_);
  }

 private:
  void index_sections() {
    for (std::size_t i = 0; i < file_.sections().size(); ++i) {
      const std::string_view name = file_.sections()[i].name;
      if (!name.empty()) section_of_.try_emplace(name, i);
      contents_.debug = contents_.debug || name == ".debug_info";
    }
  }

  [[nodiscard]] const ElfSection* find(const std::string& name) const {
    const auto found = section_of_.find(name);
    return found == section_of_.end() ? nullptr : &file_.sections()[found->second];
  }

  // The bytes of a section, as long as sections do not overlap beyond reason; a note where they are not there.
  std::optional<ByteView> contents(const ElfSection& section) {
    const auto bytes = file_.contents(section);
    if (!bytes) {
      notes_.add(fmt::format("section {} has {} bytes at {} and the image ends at {}", shortened(section.name),
                             section.size, section.offset, file_.bytes().size()));
      return std::nullopt;
    }
    if (bytes->size() > budget_) {
      notes_.add(fmt::format("section {} is not read: sections overlap", shortened(section.name)));
      return std::nullopt;
    }
    budget_ -= bytes->size();
    return bytes;
  }

  Status find_kernels() {
    TILEWRIGHT_ASSIGN(const auto symbols, file_.symbols());
    const ByteView names = file_.symbol_names();
    std::uint64_t name_budget = kNameSharing * names.size();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const ElfSymbol& symbol = symbols[i];
      if (symbol.type != kSymbolFunction || (symbol.other & kEntryPoint) == 0 || symbol.section == 0) continue;
      const auto name = names.terminated_text(symbol.name_offset, std::min(kMaxNameBytes, name_budget));
      name_budget -= std::min(name_budget, name ? name->size() + 1 : kMaxNameBytes);
      if (!name || symbol.section >= file_.sections().size()) {
        notes_.add(
            fmt::format("symbol {} is a kernel without a name of at most {} bytes, or without code", i, kMaxNameBytes));
        continue;
      }
      kernel_of_symbol_.emplace(static_cast<std::uint32_t>(i), contents_.kernels.size());
      code_section_.push_back(symbol.section);
      contents_.kernels.emplace_back().symbol = std::string(*name);
    }
    return {};
  }

  // .nv.info: registers and stack of every function of the image, by symbol.
  void read_common_attributes() {
    const ElfSection* section = find(".nv.info");
    const auto bytes = section == nullptr ? std::nullopt : contents(*section);
    if (!bytes) return;
    std::vector<std::optional<std::int64_t>> frames(contents_.kernels.size());
    const bool whole = for_each_attribute(*bytes, [&](const Attribute& attribute) {
      const auto symbol = attribute.payload.read<std::uint32_t>(0);
      const auto value = attribute.payload.read<std::uint32_t>(4);
      const auto kernel = kernel_of_symbol_.find(symbol.value_or(0));
      if (!value || kernel == kernel_of_symbol_.end() || *value > INT32_MAX) return;  // ~0: not known (recursion)
      if (attribute.number == kAttrRegisters) contents_.kernels[kernel->second].registers = static_cast<int>(*value);
      if (attribute.number == kAttrMinStackSize) contents_.kernels[kernel->second].stack_bytes = *value;
      if (attribute.number == kAttrFrameSize) frames[kernel->second] = *value;
    });
    if (!whole) notes_.add("a record of .nv.info passes its end");
    for (std::size_t i = 0; i < frames.size(); ++i) {
      auto& stack = contents_.kernels[i].stack_bytes;
      if (!stack) stack = frames[i];
    }
  }

  void read_kernel(std::size_t index) {
    KernelInfo& kernel = contents_.kernels[index];
    const ElfSection& code = file_.sections()[code_section_[index]];
    kernel.code_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(code.size, file_.bytes().size()));
    const ElfSection* constants = find(".nv.constant0." + kernel.symbol);
    if (constants != nullptr) kernel.constant_bytes = bounded(constants->size);
    read_code_section_fields(code, kernel);
    read_shared(kernel);
    const auto bytes = scan_code_ && knows_sass(contents_.target.number) ? contents(code) : std::nullopt;
    if (bytes) count_instructions(*bytes, kernel);
    read_kernel_attributes(bytes, kernel);
  }

  // Where .nv.info does not tell, the section of the code does: barriers in the first convention, registers of code by
  // assemblers other than ptxas in both.
  static void read_code_section_fields(const ElfSection& code, KernelInfo& kernel) {
    const auto registers = static_cast<int>(code.info >> 24U);
    if (!kernel.registers && registers != 0) kernel.registers = registers;
    kernel.barriers = static_cast<int>(code.flags >> 20U & 0x7fU);
  }

  static std::int64_t bounded(std::uint64_t size) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(size, INT64_MAX));
  }

  void read_shared(KernelInfo& kernel) const {
    const ElfSection* shared = find(".nv.shared." + kernel.symbol);
    std::int64_t bytes = shared == nullptr ? 0 : bounded(shared->size);
    if (!contents_.relocatable && contents_.target.number >= kFirstWithDriverShared) {
      bytes = std::max<std::int64_t>(0, bytes - kDriverSharedBytes);
    }
    kernel.static_shared_bytes = bytes;
  }

  void count_instructions(ByteView code, KernelInfo& kernel) const {
    const SassCounts counts = count_sass(code);
    kernel.setmaxnreg = counts.setmaxnreg;
    kernel.griddep_wait = counts.griddep_wait;
    kernel.griddep_launch = counts.griddep_launch;
    kernel.local_memory_loads = counts.local_loads;
    kernel.local_memory_stores = counts.local_stores;
    kernel.shared_memory_loads = counts.shared_loads;
    if (contents_.target.number / 10 == 12) kernel.fp4_mma = counts.fp4_mma;
    if (contents_.target.number >= kFirstWithHalfMma) kernel.half_mma = counts.half_mma;
  }

  void read_kernel_attributes(const std::optional<ByteView>& code, KernelInfo& kernel) {
    const ElfSection* section = find(".nv.info." + kernel.symbol);
    const auto bytes = section == nullptr ? std::nullopt : contents(*section);
    if (!bytes) return;
    if (!kernel.barriers) kernel.barriers = 0;
    if (code && (kernel.stack_bytes == 0 || at_least(contents_.toolkit, kFirstToolkitWithSpillPlaces))) {
      kernel.spill_store_bytes = 0;
      kernel.spill_load_bytes = 0;
    }
    const bool whole = for_each_attribute(*bytes, [&](const Attribute& attribute) {
      switch (attribute.number) {
        case kAttrMaxThreads: kernel.max_block = block_shape(attribute.payload); break;
        case kAttrRequiredBlock: kernel.required_block = block_shape(attribute.payload); break;
        case kAttrParameterBytes: kernel.parameter_bytes = attribute.value; break;
        case kAttrBarriers: kernel.barriers = attribute.value & 0xff; break;
        case kAttrSpillPlaces:
          if (code) add_spills(attribute.payload, *code, kernel);
          break;
        default: break;
      }
    });
    if (!whole) notes_.add(fmt::format("a record of .nv.info.{} passes its end", shortened(kernel.symbol)));
  }

  static std::optional<BlockShape> block_shape(ByteView payload) {
    const auto x = payload.read<std::uint32_t>(0);
    const auto y = payload.read<std::uint32_t>(4);
    const auto z = payload.read<std::uint32_t>(8);
    constexpr std::uint32_t kMost = 1U << 16U;  // of a dimension; a block has at most 1,024 threads
    if (!z || *x > kMost || *y > kMost || *z > kMost) return std::nullopt;
    return BlockShape{static_cast<int>(*x), static_cast<int>(*y), static_cast<int>(*z)};
  }

  static void add_spills(ByteView places, ByteView code, KernelInfo& kernel) {
    std::int64_t stored = kernel.spill_store_bytes.value_or(0);
    std::int64_t loaded = kernel.spill_load_bytes.value_or(0);
    for (std::uint64_t at = 0; places.holds(at, 8); at += 8) {
      if (places.read<std::uint32_t>(at) != kSpillPlace) continue;
      const auto access = local_access(code, *places.read<std::uint32_t>(at + 4));
      if (access) (access->store ? stored : loaded) += access->bytes;
    }
    kernel.spill_store_bytes = stored;
    kernel.spill_load_bytes = loaded;
  }

  const ElfFile& file_;
  bool scan_code_;
  std::uint64_t budget_;
  std::unordered_map<std::string_view, std::size_t> section_of_;
  std::unordered_map<std::uint32_t, std::size_t> kernel_of_symbol_;
  std::vector<std::size_t> code_section_;  // of each kernel
  CubinContents contents_;
  Notes notes_;
};

}  // namespace

Result<CubinContents> read_cubin(ByteView bytes, bool scan_code) {
  TILEWRIGHT_ASSIGN(const ElfFile file, ElfFile::parse(bytes));
  if (file.header().machine != kElfMachineCuda) {
    return fail(ErrorCode::unsupported,
                fmt::format("ELF for machine {}, not {} (CUDA)", file.header().machine, kElfMachineCuda));
  }
  return CubinReader(file, scan_code).read();
}

}  // namespace tilewright::inspect
