#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests kernels in a process that has used PyTorch's profiler, which keeps CUPTI in use. Needs a GPU.

usage: beside_torch_profiler.py LIBRARY     exit code: 0 if profkit reports that and both profiles of PyTorch are complete
"""
import ctypes
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def count_kernels():
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(10):
            matrix @ matrix
        torch.cuda.synchronize()
    return sum(event.count for event in profiler.key_averages() if "gemm" in event.key or "nvjet" in event.key or "xmma" in event.key)


matrix = torch.ones(256, 256, device="cuda")
library = ctypes.CDLL(sys.argv[1])
library.kernel_status.restype = ctypes.c_char_p
before = library.kernel_status().decode()
first = count_kernels()
after = library.kernel_status().decode()
second = count_kernels()
print(f"before: {before} after the profiler: {after}; kernels that it saw: {first}, and then {second}")
sys.exit(0 if before == "collected: " and "another tool" in after and first == second > 0 else 1)
