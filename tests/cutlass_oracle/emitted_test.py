#!/usr/bin/env python3
"""Compiles what the tool emits for kernels that do not fit, and for some that do: emitted_test.py SCRATCH TILEWRIGHT.

The emitted header asserts the bytes that the oracle promised, so that compiling it is the comparison.
"""

import subprocess
import sys

import compile_rows
import find_cutlass

REPORT = "--arch sm_120 --grouped --tile 128x256x128 --epilogue finalize"
FINALIZE = [REPORT, f"{REPORT} --remedy 2", f"{REPORT} --remedy 3"]
PLAIN = ["--arch sm_120 --grouped --tile 128x64x256",
         "--arch sm_120 --grouped --tile 128x128x128 --dtype mxfp8xmxfp4",
         "--arch sm_100 --grouped --tile 256x128x256 --cluster 2x1",
         "--arch sm_90 --grouped --tile 128x128x64 --dtype bf16"]


def main():
    scratch, tilewright = sys.argv[1:]
    headers, missing = find_cutlass.find()
    if missing:
        print(f"skipped: {missing}")
        return 77
    version = find_cutlass.oracle_version()
    if version is None:
        print("skipped: the oracle does not know this release of CUTLASS")
        return 77
    # The fused finalize is FlashInfer's, whose folder is the second where it is there.
    requests = PLAIN + (FINALIZE if any("cutlass_extensions" in str(path) for path in headers) else [])
    emitted = [subprocess.run([tilewright, "explain", "--cutlass", *request.split(), "--cutlass-version", version,
                               "--emit"], capture_output=True, text=True, check=True).stdout for request in requests]
    totals, message = compile_rows.Compiler(headers, scratch).emitted(emitted)
    if message:
        print(message)
        return 1
    for request, total in zip(requests, totals):
        print(f"{total} bytes: {request}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
