#!/usr/bin/env bash
# The main job, end to end, on this machine: write an NVFP4 checkpoint of one Qwen3-30B-A3B expert layer, inspect it,
# plan it for two GPUs, run it on the CPU and check the numbers. `make demo` builds the tool first.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=build/release/tilewright
[ -x "$tool" ] || { echo "demo: $tool is not built; run 'make demo'" >&2; exit 1; }
start=$SECONDS
checkpoint=demo/qwen3-30b-a3b-nvfp4
mkdir -p demo
rm -rf "$checkpoint"

step() { printf '\n== %s\n' "$*"; }
tilewright() {
  printf '$ tilewright %s\n' "$*"
  "$tool" "$@"
}

step "A checkpoint in ModelOpt's layout: hidden 2048, inner 768, 128 experts, top-8, random weights"
tilewright quantize --synthetic qwen3-30b-a3b --layers 1 --output "$checkpoint"

step "What is in it"
tilewright inspect "$checkpoint"

step "The schedule on an RTX PRO 6000, and why"
tilewright plan --device rtx-pro-6000-server --model "$checkpoint" --tokens 16 --why-not 128x256x128

step "The schedule on an H200, and why"
tilewright plan --device h200 --model "$checkpoint" --tokens 16

step "The layer on this CPU, against the reference in double precision"
tilewright run --checkpoint "$checkpoint" --layer 0 --tokens 1,16,256 --backend cpu --precision w4a16,w4a4 --verify

printf '\n== The demo took %s s. The checkpoint stays in %s\n' "$((SECONDS - start))" "$checkpoint"
