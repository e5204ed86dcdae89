// Every CUDA compiler that a build on this machine could pick up, and what each can compile for.
#pragma once

#include <string>
#include <vector>

#include "tilewright/targets.hpp"

namespace tilewright::cli {

struct CudaToolkit {
  std::string nvcc;   ///< as found: "/usr/local/cuda/bin/nvcc"
  std::string found;  ///< by what: "PATH", "CUDA_HOME", "/usr/local"
  int major = 0;      ///< of `nvcc --version`; 0 where it did not answer
  int minor = 0;
  std::string release;              ///< "13.0.88"
  std::string ptxas_release;        ///< of the ptxas beside it; empty where there is none
  std::vector<CodeTarget> targets;  ///< machine code that it can make
  bool chosen = false;              ///< the one that a plain `nvcc` runs
  std::vector<std::string> also;    ///< other names of the same file
};

/// nvcc in PATH, under $CUDA_HOME, $CUDA_PATH and $CUDACXX, and in /usr/local/cuda*, each file once.
std::vector<CudaToolkit> find_cuda_toolkits();

/// Sentences about what is wrong with these toolkits together; empty when nothing is.
std::vector<std::string> toolkit_complaints(const std::vector<CudaToolkit>& toolkits);

}  // namespace tilewright::cli
