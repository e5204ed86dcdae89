// The instruction table against the assembler: one PTX kernel an instruction and target.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "support/temporary_directory.hpp"
#include "tilewright/targets.hpp"

namespace tilewright {
namespace {

// What follows the instruction's form to make a full statement.
const std::map<std::string, std::string>& operands() {
  static const std::string fragments = " {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f0,f1,f2,f3}";
  static const std::map<std::string, std::string> table = {
      {"mma.block_scale", fragments + ",{r6},{0,0},{r7},{0,0}"},
      {"mma.block_scale.mxf8f6f4", fragments + ",{r6},{0,0},{r7},{0,0}"},
      {"mma.f8f6f4", fragments},
      {"mma.fp8", fragments},
      {"mma.bf16", fragments},
      {"wgmma", ""},
      {"tcgen05", " [r0], 32"},
      {"cvt.e2m1x2", " b0, f0, f1"},
      {"cvt.rs.e2m1x4", " h0, {f0,f1,f2,f3}, r0"},
      {"setmaxnreg", " 232"},
      {"griddepcontrol", ""},
      {"cp.async", " [r0], [d0], 16"},
      {"cp.async.bulk", " [r0], [d0], r1, [r2]"},
      {"cp.async.bulk.multicast", " [r0], [d0], r1, [r2], h1"},
      {"cp.async.bulk.tensor", " [r0], [d0,{r1,r2}], [r3]"},
      {"cp.async.bulk.tensor.gather4", " [r0], [d0,{r1,r2,r3,r4,r5}], [r6]"},
      {"cp.async.bulk.tensor.scatter4", " [d0,{r1,r2,r3,r4,r5}], [r0]"},
      {"tensormap.replace", " [d0], d1"},
      {"clusterlaunchcontrol", " [r0], [r1]"},
      {"ldmatrix.b4x16", " {r0,r1,r2,r3}, [r4]"},
      {"stmatrix", " [r4], {r0,r1,r2,r3}"},
  };
  return table;
}

std::string kernel(const CodeTarget& target, const TargetInstruction& instruction) {
  return ".version 9.0\n.target " + to_string(target) +
         "\n.address_size 64\n.visible .entry k() .maxntid 128 .minnctapersm 1 {\n"
         ".reg .b32 r<8>; .reg .b64 d<2>; .reg .f32 f<4>; .reg .b16 h<2>; .reg .b8 b<1>;\n" +
         instruction.ptx + operands().at(instruction.name) + ";\nret; }\n";
}

class Assembler : public ::testing::TestWithParam<std::size_t> {};

// ptxas of CUDA 13.0 is the first that reads PTX 9.0 and knows every target of the table.
bool assembles(const std::string& ptx, const std::string& target, const std::string& folder) {
  std::ofstream(folder + "/k.ptx") << ptx;
  const std::string command = std::string("'" TILEWRIGHT_PTXAS "' -arch=") + target + " '" + folder + "/k.ptx' -o '" +
                              folder + "/k.cubin' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

TEST_P(Assembler, AcceptsAnInstructionOnExactlyTheTargetsOfTheTable) {
  if (std::string(TILEWRIGHT_PTXAS).empty()) GTEST_SKIP() << "ptxas is not installed";
  const testing::TemporaryDirectory folder;
  const std::string empty = ".version 9.0\n.target sm_121f\n.address_size 64\n.visible .entry k() { ret; }\n";
  if (!assembles(empty, "sm_121f", folder.path().string())) GTEST_SKIP() << "ptxas is older than CUDA 13.0";
  const TargetInstruction& instruction = known_instructions().at(GetParam());
  for (const CodeTarget& target : known_targets()) {
    EXPECT_EQ(assembles(kernel(target, instruction), to_string(target), folder.path().string()),
              accepts(target, instruction))
        << instruction.name << " on " << to_string(target);
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Assembler, ::testing::Range(std::size_t{0}, known_instructions().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& test) {
                           std::string name = known_instructions().at(test.param).name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace tilewright
