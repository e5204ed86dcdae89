// EIATTR records: what the compiler tells the driver about a kernel, in .nv.info and .nv.info.KERNEL. Also the records
// of .nv.compat, which have the same form and numbers of their own.
//
// A record is u8 form, u8 number, and a u16 that is the value (forms 1 to 3) or the bytes of one that follows (form 4).
// The numbers were read off cubins of nvcc 13.0 beside the names that `cuobjdump -elf` prints for them.
#pragma once

#include <cstdint>

#include "inspect/byte_view.hpp"

namespace tilewright::inspect {

constexpr std::uint8_t kAttrMaxThreads = 0x05;      // EIATTR_MAX_THREADS: u32 x, y, z
constexpr std::uint8_t kAttrRequiredBlock = 0x10;   // EIATTR_REQNTID: u32 x, y, z
constexpr std::uint8_t kAttrFrameSize = 0x11;       // EIATTR_FRAME_SIZE: u32 symbol, u32 bytes
constexpr std::uint8_t kAttrMinStackSize = 0x12;    // EIATTR_MIN_STACK_SIZE: the same, with what it calls
constexpr std::uint8_t kAttrParameterBytes = 0x19;  // EIATTR_CBANK_PARAM_SIZE: u16
constexpr std::uint8_t kAttrRegisters = 0x2f;       // EIATTR_REGCOUNT: u32 symbol, u32 count
constexpr std::uint8_t kAttrBarriers = 0x4c;        // EIATTR_NUM_BARRIERS: u8
// Not named by cuobjdump: pairs of u32, the first of which is 1 and the second the offset of an instruction that spills
// or reloads a register. The bytes that these move are what `ptxas -v` prints as spill stores and loads.
constexpr std::uint8_t kAttrSpillPlaces = 0x55;
constexpr std::uint32_t kSpillPlace = 1;

constexpr std::uint8_t kCompatArchSpecific = 0x09;  // EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET: u8

struct Attribute {
  std::uint8_t number = 0;
  std::uint16_t value = 0;  ///< of forms 1 to 3
  ByteView payload;         ///< of form 4
};

/// Calls `visit` with each record; false where one passes the end of the section.
template <typename Visit>
bool for_each_attribute(ByteView section, const Visit& visit) {
  constexpr std::uint64_t kHead = 4;
  constexpr std::uint8_t kFormSized = 4;
  std::uint64_t at = 0;
  while (at < section.size()) {
    const auto head = section.part(at, kHead);
    if (!head) return false;
    Attribute attribute{*head->read<std::uint8_t>(1), *head->read<std::uint16_t>(2), {}};
    at += kHead;
    if (*head->read<std::uint8_t>(0) == kFormSized) {
      const auto payload = section.part(at, attribute.value);
      if (!payload) return false;
      attribute.payload = *payload;
      at += attribute.value;
    }
    visit(attribute);
  }
  return true;
}

}  // namespace tilewright::inspect
