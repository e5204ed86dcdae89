#!/usr/bin/env python3
"""Compiles what `tilewright explain --cutlass --emit` printed: compile_emitted.py FILE|- [SCRATCH].

Exits with 0 and prints the bytes of the kernel's shared storage, with 1 and the first diagnostic where it does not
compile, and with 77 where headers are missing.
"""

import pathlib
import sys

import compile_rows
import find_cutlass


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    text = sys.stdin.read() if sys.argv[1] == "-" else pathlib.Path(sys.argv[1]).read_text()
    headers, missing = find_cutlass.find()
    if missing:
        print(f"skipped: {missing}")
        return 77
    scratch = sys.argv[2] if len(sys.argv) == 3 else "build/cutlass_oracle"
    totals, message = compile_rows.Compiler(headers, scratch).emitted([text])
    print(message if message else f"GemmKernel::SharedStorage: {totals[0]} bytes")
    return 1 if message else 0


if __name__ == "__main__":
    sys.exit(main())
