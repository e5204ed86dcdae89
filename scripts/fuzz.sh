#!/usr/bin/env bash
# Runs every fuzz target of a build for a while; a crash, a leak or a slow input fails.
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
  [ -d "$root/fuzz/corpus/$name" ] && seeds=("$root/fuzz/corpus/$name")
  echo "fuzz: $name for $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$found/" "$found/corpus" "${seeds[@]}" </dev/null
done
echo "fuzz: ${#targets[@]} targets ran without a finding"
