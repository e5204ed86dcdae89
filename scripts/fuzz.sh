#!/usr/bin/env bash
# Runs every fuzz target of a build for a while, from the seeds in fuzz/corpus; a crash, a leak or a slow input fails.
#   scripts/fuzz.sh BUILD_DIR          FUZZ_SECONDS=20 each
set -euo pipefail
build=${1:?usage: scripts/fuzz.sh BUILD_DIR}
seconds=${FUZZ_SECONDS:-20}
root=$(cd "$(dirname "$0")/.." && pwd)

mapfile -t targets < <(find "$build/fuzz" -maxdepth 1 -type f -perm -u+x | sort)
[ "${#targets[@]}" -gt 0 ] || { echo "fuzz: no targets in $build/fuzz" >&2; exit 1; }

for target in "${targets[@]}"; do
  name=$(basename "$target")
  found="$build/fuzz/findings/$name"
  mkdir -p "$found/corpus"
  seeds=()
  for corpus in "$root"/fuzz/corpus/*/; do  # corpus/safetensors seeds safetensors_header_fuzzer
    case "$name" in "$(basename "$corpus")"*) seeds+=("$corpus") ;; esac
  done
  if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found/corpus" "${seeds[@]}" </dev/null >"$found/log" 2>&1; then
    tail -n 60 "$found/log" >&2
    echo "fuzz: $name found something; the input is in $found" >&2
    exit 1
  fi
  echo "fuzz: $name: $(awk '/number_of_executed_units/ { print $2 }' "$found/log") inputs in $seconds s"
done
echo "fuzz: ${#targets[@]} targets ran without a finding"
