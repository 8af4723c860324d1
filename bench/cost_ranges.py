#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of README.md, "Overhead", and of docs/kernels.md, "Overhead", from all committed runs, with minimum and maximum.

usage: cost_ranges.py [--check PAGE...]     --check: exit with 1 unless each row appears verbatim in one of the pages
"""
import json
import pathlib
import re
import statistics
import sys

from bench_tables import HOST_RESULTS, ROOT, gpu_ratios, gpu_runs

RESULTS = ROOT / "docs/results"


def to_range(values, form):
    """@return "1 to 2", or "1" if both numbers are formatted alike."""
    ends = [form.format(each) for each in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def quartiles(values, form):
    low, _, high = statistics.quantiles(values, n=4)
    return f"{form.format(low)} to {form.format(high)}"


def table_rows(name):
    """@return the tables of a result page: (heading above or "", the cells of each row by its first cell)."""
    heading, rows = "", {}
    for line in (RESULTS / "h200" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| "):
            cells = [each.strip() for each in line.strip("| ").split("|")]
            rows[heading, cells[0]] = cells
    return rows


def host_rows(found):
    ns = found["scopes"]["found"]["ns"]
    ratios = [one / floor for one, floor in zip(ns["on"], ns["floor"])]
    off = found["instructions"]["found"]["counts"]["off"]
    compiling = found["compile"]["found"]
    over_empty = [one - empty for one, empty in zip(compiling["scope.hpp"]["ms"], compiling["empty"]["ms"])]
    return [f"| a scope, recorded | {statistics.median(ns['on']):.1f} ns ({quartiles(ns['on'], '{:.1f}')}), "
            f"{statistics.median(ratios):.2f} ({quartiles(ratios, '{:.2f}')}) times two readings of the time-stamp counter and one store; 24 bytes |",
            f"| a scope with no session and no tool | {off:.0f} instructions, {statistics.median(ns['off']):.2f} ns ({quartiles(ns['off'], '{:.2f}')}) |",
            f"| `scope.hpp` in a file | {statistics.median(over_empty):.0f} ms ({quartiles(over_empty, '{:.0f}')}) of compile time |"]


def launch_rows(runs, launches):
    """@param launches rows of launch_cost.md: tool -> [tool, ns, added ns, ratio to CUPTI's]"""
    records, with_api, with_all = [], [], []
    ours = gpu_ratios(runs, "added per launch: profkit / CUPTI kernel records")
    for run in runs:
        part = run["parts"]["launch"]
        ns = {name: each["median"] for name, each in part["figures"].items()}
        added = ns["CUPTI kernel records"] - ns["nothing"]
        records.append(added / 1e3)
        with_api.append((ns["CUPTI kernel and runtime records"] - ns["nothing"]) / added)
        with_all.append((ns["profkit scopes, kernels and all API calls"] - ns["nothing"]) / added)
    records.append(float(launches["", "CUPTI kernel records"][2]) / 1e3)
    ours += [float(launches["", name][3]) for name in ("profkit kernels", "profkit scopes and kernels")]
    with_api.append(float(launches["", "CUPTI kernel and runtime records"][3]))
    with_all.append(float(launches["", "profkit scopes, kernels and all API calls"][3]))
    return [f"| a kernel launch, kernels collected | CUPTI's kernel records alone: {to_range(records, '{:.1f}')} us; profkit: "
            f"{to_range(ours, '{:.2f}')} times that |",
            f"| one launch of an empty kernel | {to_range(ours, '{:.2f}')} times CUPTI's kernel records alone ({to_range(records, '{:.1f}')} us) | CUPTI's "
            f"kernel and runtime API records: {to_range(with_api, '{:.2f}')} times |",
            f"| the same launch, all API calls collected | {to_range(with_all, '{:.2f}')} times | |"]


def step_rows(runs, steps):
    """@param steps of t09_cost.md: heading, what runs -> cells, of which the last is "+1.23 %" """
    def of_page(size, what):
        return next(float(re.sub(r"[ %+]", "", cells[-1])) for (heading, name), cells in steps.items() if heading.startswith(size) and name == what)

    def of_runs(*names):
        return [100 * (ratio - 1) for ratio in gpu_ratios(runs, *names)]

    small, medium = "small/128/train/fp32", "medium/512/train/fp32"
    ours = [of_page(small, "trainer, profkit scopes and kernels"), *of_runs("step: kernels / no profiler")]
    kineto = [of_page(small, "PyTorch eager, torch.profiler CUDA"),
              # Older runs measured it on PyTorch's own step.
              *of_runs("step: torch.profiler CUDA / no profiler", "step: Kineto (CUDA) / no profiler")]
    nsys = [of_page(small, "trainer under nsys -t cuda,nvtx"), *of_runs("step: Nsight Systems (CUDA) / no profiler")]
    with_cpu = of_page(small, "PyTorch eager, torch.profiler CPU + CUDA")
    large = [of_page(medium, name) for name in ("trainer, profkit scopes and kernels", "PyTorch eager, torch.profiler CUDA", "trainer under nsys -t cuda,nvtx")]
    return [f"| a launch-bound training step, kernels collected | {to_range(ours, '{:.0f}')} %; `torch.profiler` (CUDA only): "
            f"{to_range(kineto, '{:.0f}')} %; Nsight Systems: {to_range(nsys, '{:.0f}')} % |",
            f"| a launch-bound training step (small model, context 128) | {to_range(ours, '{:.0f}')} % | `torch.profiler` CUDA only "
            f"{to_range(kineto, '{:.0f}')} %, CPU + CUDA {with_cpu:.0f} %; Nsight Systems {to_range(nsys, '{:.0f}')} % |",
            f"| a GPU-bound training step (medium model, context 512) | {large[0]:.1f} % | `torch.profiler` {large[1]:.1f} %, Nsight "
            f"Systems {large[2]:.1f} % |"]


def main():
    runs = gpu_runs()
    rows = (host_rows(json.loads(HOST_RESULTS.read_text(encoding="utf-8"))) + launch_rows(runs, table_rows("launch_cost.md"))
            + step_rows(runs, table_rows("t09_cost.md")))
    print("\n".join(rows))
    if sys.argv[1:2] != ["--check"]:
        return 0
    lines = {line for page in sys.argv[2:] for line in pathlib.Path(page).read_text(encoding="utf-8").splitlines()}
    missing = [row for row in rows if row not in lines]
    print("".join(f"\nnot in {' or '.join(sys.argv[2:])}: {row}" for row in missing) or f"\n{len(rows)} rows are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
