# Compiles a file of kernels and keeps what ptxas says of them. Run with -P; needs NVCC, HOST (the C++ compiler), FLAGS,
# ROOT, SOURCE (below src/cuda) and OBJECT. Fails where a kernel spills, and where ptxas serialises its wgmmas or ignores
# setmaxnreg (C75xx), which costs a fifth of the speed and shows nowhere else. For sm_90a unless FLAGS name a target.
set(target -gencode=arch=compute_90a,code=sm_90a)
if(FLAGS MATCHES "-gencode")
  set(target "")
endif()
execute_process(
  COMMAND "${NVCC}" -ccbin "${HOST}" -std=c++20 -O3 ${target} --expt-relaxed-constexpr
          -Xptxas -v -Xcompiler -fPIC -Werror all-warnings "-I${ROOT}/src" "-I${ROOT}/include" ${FLAGS}
          -c -o "${OBJECT}" "${ROOT}/src/cuda/${SOURCE}"
  OUTPUT_VARIABLE report ERROR_VARIABLE report RESULT_VARIABLE result)
file(WRITE "${OBJECT}.ptxas.txt" "${report}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "nvcc failed on ${SOURCE} ${FLAGS}:\n${report}")
endif()
string(REGEX MATCH "[^\n]*\\(C75[0-9][0-9]\\)[^\n]*" serialised "${report}")
string(REGEX MATCHALL "[1-9][0-9]* bytes spill stores" spills "${report}")
# A build for racecheck, and kernels whose MMA is emulated, are not for speed.
if((serialised OR spills) AND NOT FLAGS MATCHES "EVERY_LANE_ARRIVES|MAY_SPILL")
  file(REMOVE "${OBJECT}")
  message(FATAL_ERROR "${SOURCE} ${FLAGS}: ${serialised} ${spills}; see ${OBJECT}.ptxas.txt")
endif()
