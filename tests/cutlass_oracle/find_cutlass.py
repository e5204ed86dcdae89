#!/usr/bin/env python3
"""Finds the headers that the oracle's rows are compiled against: CUTLASS's, FlashInfer's epilogues, and CUDA's.

Prints the include folders, one a line, or says what is missing and exits with 1. Looked at, in this order:
  CUTLASS  $TILEWRIGHT_CUTLASS, the packages flashinfer-python and nvidia-cutlass, the header cache of install-deps.sh
  CUDA     $CUDA_HOME, /usr/local/cuda, the packages nvidia-cuda-{runtime,crt,cccl}, the header cache
"""

import importlib.util
import os
import pathlib
import re
import sys

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tilewright" / "headers"
ORACLE_VERSIONS = ("4.2.1", "4.4.1", "4.4.2", "4.5.0", "4.7.0")
EXTENSIONS = "csrc/nv_internal/tensorrt_llm/cutlass_extensions/include"


def package_folders(name):
    """Where a package is installed, without importing it (FlashInfer would import PyTorch), and its cached copy."""
    spec = importlib.util.find_spec(name)
    folders = [pathlib.Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    return [*folders, CACHE / name]


def cutlass_folders():
    """[CUTLASS's include folder, and FlashInfer's extensions where they are beside it], or []."""
    given = os.environ.get("TILEWRIGHT_CUTLASS")
    if given:
        return [pathlib.Path(folder) for folder in given.split(os.pathsep)]
    for folder in package_folders("flashinfer"):
        cutlass = folder / "data" / "cutlass" / "include"
        if (cutlass / "cutlass" / "version.h").is_file():
            extensions = folder / "data" / EXTENSIONS
            return [cutlass, extensions] if extensions.is_dir() else [cutlass]
    for folder in package_folders("cutlass_library"):
        cutlass = folder / "source" / "include"
        if (cutlass / "cutlass" / "version.h").is_file():
            return [cutlass]
    return []


def cuda_folders():
    """CUDA's include folder and CCCL's, or []."""
    candidates = [pathlib.Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH")
                  if name in os.environ]
    candidates.append(pathlib.Path("/usr/local/cuda/include"))
    candidates += [folder / "cu13" / "include" for folder in package_folders("nvidia")]
    for include in candidates:
        if (include / "cuda_runtime.h").is_file() and (include / "crt" / "host_defines.h").is_file():
            for cccl in (include / "cccl", include):
                if (cccl / "cuda" / "std" / "utility").is_file():
                    return [include, cccl]
    return []


def version_of(folders):
    """"4.5.0", of CUTLASS in the first folder that has it."""
    for folder in folders:
        header = folder / "cutlass" / "version.h"
        if header.is_file():
            text = header.read_text()
            return ".".join(re.search(rf"define CUTLASS_{part} +(\d+)", text)[1] for part in
                            ("MAJOR", "MINOR", "PATCH"))
    return None


def oracle_version():
    """The release of the headers as the oracle names it; None for one that it does not know."""
    version = version_of(cutlass_folders())
    # The two differ in blockwise epilogues alone, which are not modelled.
    return {"4.2.0": "4.2.1"}.get(version, version if version in ORACLE_VERSIONS else None)


def find():
    """(include folders, None) or (None, what is missing)."""
    cutlass, cuda = cutlass_folders(), cuda_folders()
    if not version_of(cutlass):
        return None, ("no CUTLASS headers: install flashinfer-python or nvidia-cutlass, or set TILEWRIGHT_CUTLASS to an "
                      "include folder")
    if not cuda:
        return None, "no CUDA headers: install a toolkit, or nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl"
    return [*cutlass, *cuda], None


if __name__ == "__main__":
    found, missing = find()
    if not found:
        sys.exit(missing)
    print("\n".join(str(folder) for folder in found))
