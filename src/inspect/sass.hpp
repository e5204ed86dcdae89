// Machine code, without a disassembler: a few instructions are told apart by their opcode.
//
// From Volta on an instruction has 16 bytes and its opcode is in the low 12 bits. The opcodes below were read off
// kernels compiled by nvcc 13.0 for sm_75, 80, 90a, 100a, 103a, 110a, 120a and 121a, each with one such instruction
// (tests/inspect/probe.cu), and nvdisasm names them so in the libraries of others.
#pragma once

#include <cstdint>
#include <optional>

#include "inspect/byte_view.hpp"

namespace tilewright::inspect {

constexpr std::uint64_t kInstructionBytes = 16;

struct SassCounts {
  int setmaxnreg = 0;      ///< USETMAXREG
  int griddep_wait = 0;    ///< ACQBULK
  int griddep_launch = 0;  ///< PREEXIT
  int local_loads = 0;     ///< LDL
  int local_stores = 0;    ///< STL
  int shared_loads = 0;    ///< LDS
  int fp4_mma = 0;         ///< OMMA: mma.sync on FP4 with block scales; of SM12x alone
  int half_mma = 0;        ///< HMMA: mma.sync on fp16 or bf16, so encoded from SM80 on
};

/// Whether the opcodes are known for the machine code of sm_`number`.
bool knows_sass(int number);

SassCounts count_sass(ByteView code);

/// A load or store of local memory and the bytes that it moves for a thread.
struct LocalAccess {
  bool store = false;
  int bytes = 0;
};

/// The instruction at `offset` of `code`, if it is such a one.
std::optional<LocalAccess> local_access(ByteView code, std::uint64_t offset);

}  // namespace tilewright::inspect
