#!/usr/bin/env bash
# Runs a command without address space randomisation: GCC 12's ThreadSanitizer stops with "unexpected memory mapping"
# on kernels that randomise more bits than it knows. Where that cannot be asked for, the command runs as it is.
set -euo pipefail
if setarch "$(uname -m)" -R true 2>/dev/null; then exec setarch "$(uname -m)" -R "$@"; fi
exec "$@"
