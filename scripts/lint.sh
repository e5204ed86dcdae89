#!/usr/bin/env bash
# Format, clang-tidy and the generated pages.
#   scripts/lint.sh BUILD_DIR      a configured build, for its compile_commands.json
#   scripts/lint.sh --format       the format alone
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.hpp' '*.cpp' '*.h')
clang-format --dry-run -Werror "${sources[@]}"
echo "lint: ${#sources[@]} files are formatted"
[ "${1:-}" != --format ] || exit 0

build=${1:?usage: scripts/lint.sh BUILD_DIR | --format}
python3 scripts/performance_doc.py --check

mapfile -t units < <(git ls-files 'src/*.cpp' 'tools/*.cpp')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The compile database has GCC's flags, some of which clang does not know.
if ! printf '%s\0' "${units[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option >"$log" 2>&1; then
  grep -E 'warning:|error:' -A 4 "$log" >&2 || cat "$log" >&2
  echo "lint: clang-tidy has something to say (above)" >&2
  exit 1
fi
echo "lint: clang-tidy is content with ${#units[@]} files"
