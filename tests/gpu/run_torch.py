# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program with NVTX ranges and without profkit, for `profkit run` and Nsight Systems. Prints one line of JSON: what its own clock
says about its ranges, and the time of a step.

usage: run_torch.py STEPS [--emit-nvtx | --kineto]
"""
import contextlib
import json
import sys
import time

import torch


def main():
    steps = int(sys.argv[1])
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 512) if i % 2 == 0 else torch.nn.ReLU() for i in range(16)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(64, 512, device="cuda")
    ranges = {}

    @contextlib.contextmanager
    def named(name, row=None):
        torch.cuda.nvtx.range_push(name)
        begin = time.perf_counter_ns()
        yield
        own = ranges.setdefault(row or name, [0, 0.0])
        own[0] += 1
        own[1] += (time.perf_counter_ns() - begin) / 1e6
        torch.cuda.nvtx.range_pop()

    def step(number):
        with named(f"step {number}", "step"):
            with named("forward"):
                loss = model(data).square().mean()
            with named("backward"):
                loss.backward()
            with named("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    for _ in range(5):  # outside ranges: libraries and kernels are loaded
        model(data).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    tool = contextlib.nullcontext()
    if mode == "--emit-nvtx":
        tool = torch.autograd.profiler.emit_nvtx()
    elif mode == "--kineto":
        tool = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with tool:
        begin = time.perf_counter_ns()
        for number in range(steps):
            step(number)
        torch.cuda.synchronize()
        mean_ms = (time.perf_counter_ns() - begin) / 1e6 / steps
    print(json.dumps({"step_ms": mean_ms, "ranges": ranges}))


if __name__ == "__main__":
    main()
