#!/usr/bin/env python3
"""Holds what `tilewright inspect` reads out of SM12x's kernels against NVIDIA's disassembler.

  compare_disassembly.py TILEWRIGHT FOLDER    the objects sm120_native_*.o and sm120_w4a16_*.o of a build in FOLDER

The instructions that matter are counted by name in cuobjdump's listing, kernel by kernel: MMAs, accesses of local memory
(spills), loads of shared memory, setmaxnreg, the waits and launches of dependent grids; and the registers. Every count
must be the tool's, native kernels must have block-scaled MMAs, and none may spill. Without cuobjdump (the package
nvidia-cuda-cuobjdump, or a CUDA toolkit) nothing is compared: exit code 77.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tilewright" / "disassembler"

# Opcodes as the listing spells them, by the tool's name for what they do.
OPCODES = {
    "fp4_mma": r"OMMA\.SF\.16864",
    "half_mma": r"HMMA\.(?:16816|1688)",
    "local_memory_loads": r"LDL",
    "local_memory_stores": r"STL",
    "shared_memory_loads": r"LDS",
    "setmaxnreg": r"USETMAXREG",
    "griddepcontrol_wait": r"ACQBULK",
    "griddepcontrol_launch": r"PREEXIT",
}
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)


def find_cuobjdump():
    spec = importlib.util.find_spec("nvidia")
    folders = [pathlib.Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    folders.append(CACHE / "nvidia")
    candidates = [folder / "cu13" / "bin" / "cuobjdump" for folder in folders]
    candidates += [pathlib.Path("/usr/local/cuda/bin/cuobjdump"), pathlib.Path(shutil.which("cuobjdump") or "/nowhere")]
    return next((str(path) for path in candidates if path.is_file()), None)


def listing(cuobjdump, option, path):
    """cuobjdump's answer in parts: (target, text)."""
    text = subprocess.run([cuobjdump, option, str(path)], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^arch = (\S+)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def counted(cuobjdump, path):
    """Counts by target and kernel."""
    kernels = {}
    for target, text in listing(cuobjdump, "-sass", path):
        parts = re.split(r"^\s+Function : (\S+)$", text, flags=re.MULTILINE)
        for symbol, code in zip(parts[1::2], parts[2::2]):
            opcodes = INSTRUCTION.findall(code)
            kernels[target, symbol] = {name: sum(1 for opcode in opcodes if re.match(pattern + r"(?:\.|$)", opcode))
                                       for name, pattern in OPCODES.items()}
    for target, text in listing(cuobjdump, "-res-usage", path):
        for symbol, registers in re.findall(r"Function (\S+):\s+REG:(\d+)", text):
            kernels[target, symbol]["registers"] = int(registers)
    return kernels


def told(tilewright, path):
    """The same, as the tool tells it: of each kernel's first image."""
    answer = subprocess.run([tilewright, "inspect", str(path), "--format", "json"], check=False, capture_output=True, text=True)
    file = json.loads(answer.stdout)["files"][0]
    names = [*OPCODES, "registers"]
    return {(file["images"][kernel["image"]]["target"], kernel["symbol"]): {name: kernel["resources"][name] for name in names}
            for kernel in file["kernels"]}


def complaints(path, kernels, tool):
    if kernels and not tool:
        yield f"{path.name}: the tool finds no kernel of {len(kernels)}"
    for key, counts in tool.items():
        target, symbol = key
        where = f"{path.name}, {target}, {symbol[-60:]}"
        seen = kernels.get(key)
        if seen != counts:
            yield f"{where}: cuobjdump counts {seen}, the tool {counts}"
        if "native" in path.name and not counts["fp4_mma"]:
            yield f"{where}: no block-scaled MMA"
        if counts["local_memory_loads"] or counts["local_memory_stores"]:
            yield f"{where}: spills"


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        print("compare_disassembly: no cuobjdump; pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
        sys.exit(77)
    found, compared = [], 0
    objects = sorted(path for kind in ("native", "w4a16") for path in pathlib.Path(arguments[1]).glob(f"sm120_{kind}_*.o"))
    for path in objects:
        tool = told(arguments[0], path)
        compared += len(tool)
        found += complaints(path, counted(cuobjdump, path), tool)
    print("\n".join(found[:20]))
    print(f"compare_disassembly: {compared} kernels of {len(objects)} objects, {len(found)} differences")
    sys.exit(1 if found or not compared else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
