#!/usr/bin/env python3
"""What cuBLAS sustains in bf16 on the shapes of the largest GEMMs, as JSON: the ceiling that power leaves.

  cublas_bf16.py > cublas.json      needs PyTorch with CUDA; run it beside cuda_gemm_bench, on the same machine

Conditions: random normal operands, a CUDA graph of about 8 ms of products, the median of 9 replays.
"""
import json
import statistics

import torch

# Rows (tokens x top-k), N, K: GLM-5 EP8's gate_up at 2,048 and 8,192 tokens, its down at 8,192, and a square one.
SHAPES = ((16384, 4096, 6144), (65536, 4096, 6144), (16384, 6144, 2048), (65536, 6144, 2048), (8192, 8192, 8192))


def timed(work, repeats):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeats


def product_us(rows, n, k):
    x = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    for _ in range(5):
        torch.mm(x, w.t(), out=y)
    repeats = max(2, int(8e-3 * 700e12 / (2 * rows * n * k)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            torch.mm(x, w.t(), out=y)
    return statistics.median([timed(graph.replay, repeats) for _ in range(12)][3:])


def copy_GBps():
    source = torch.randint(0, 255, (2**31,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * source.numel() / min(timed(lambda: target.copy_(source), 1) for _ in range(5)) * 1e-3


def row(rows, n, k):
    us = product_us(rows, n, k)
    return {"model": "cuBLAS", "gemm": f"{rows} x {n} x {k}", "precision": "bf16", "us": round(us, 1),
            "tflops": round(2e-6 * rows * n * k / us, 1)}


properties = torch.cuda.get_device_properties(0)
print(json.dumps({
    "schema": "tilewright.bench/1",
    "backend": "cublas",
    "context": {"device": properties.name, "sm_count": properties.multi_processor_count, "copy_GBps": round(copy_GBps(), 1),
                "timing": "graph of products, about 8 ms, median of 9 replays"},
    "results": [row(*shape) for shape in SHAPES],
}, indent=2))
