#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks that need a GPU. Each is a ctest test gpu_check.NAME; scripts/gpu_check.sh builds and runs all of them.

Prints a line per result, and adds it to gpu_check.md and gpu_check.json in the output folder; results of other checks there are kept.
Exit code: 0 all passed, 1 one failed, 4 nothing was judged, for example without a GPU or without the programs.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "nsys"))
from checks.compare import check_compare
from checks.control import check_control
from checks.cost import check_cost
from checks.kernels import check_beside_nsys, check_parity, check_recorded, check_windows
from checks.long_run import check_long
from checks.memory import check_memory_by_scope, check_memory_polled, check_verdict, check_work
from checks.nsys import check_capture
from checks.programs import Checks, Place, environment, program_in, text_of
from checks.pages_shapes_energy import check_pages_shapes_energy
from checks.ranks import check_nccl, check_ranks, check_ranks_busy
from checks.run import check_run, check_run_cost
from checks.samples import check_samples
from checks.scopes import check_backward, check_budget, check_graph
from checks.small_programs import (check_attribution, check_examples, check_gpu_tests, check_journal, check_launch_cost, check_nsys,
                                   check_torch_profiler)
from checks.trainer import check_attention_backends, check_memory, check_no_wait, check_sweep_memory
from checks.training import check_aoti, check_fused, check_out_of_memory, check_precisions, check_speed, check_sync, check_text
from checks.utilization import check_utilization

SKIPPED = 4

# The programs that a check runs; "torch": this Python needs PyTorch.
Check = collections.namedtuple("Check", "function needs")
TRAINER, TORCH, PROGRAM = "transformer_train", "torch", "profkit"
# In running order: fast and informative checks first.
CHECKS = {
    "gpu_tests": Check(check_gpu_tests, ["profkit_gpu_tests"]),
    "examples": Check(check_examples, ["example_cuda_streams", "example_cuda_graph"]),
    "attribution": Check(check_attribution, ["profkit_gpu_programs"]),
    "journal": Check(check_journal, ["profkit_gpu_programs"]),
    "windows": Check(check_windows, [TRAINER, PROGRAM]),
    "nsys": Check(check_nsys, ["profkit_nsys"]),
    "beside_nsys": Check(check_beside_nsys, [TRAINER]),
    "beside_torch_profiler": Check(check_torch_profiler, ["libprofkit_kernel_status.so", TORCH]),
    "parity": Check(check_parity, [TRAINER, PROGRAM]),
    "capture": Check(check_capture, [TRAINER, "profkit_nsys"]),
    "recorded": Check(check_recorded, [TRAINER, "profkit_gpu_programs"]),
    "no_wait": Check(check_no_wait, [TRAINER, PROGRAM]),
    "attention_backends": Check(check_attention_backends, [TRAINER]),
    "memory": Check(check_memory, [TRAINER, TORCH]),
    "sweep_memory": Check(check_sweep_memory, [TRAINER]),
    "memory_by_scope": Check(check_memory_by_scope, [TRAINER]),
    "memory_polled": Check(check_memory_polled, [TRAINER]),
    "work": Check(check_work, [TRAINER]),
    "verdict": Check(check_verdict, [TRAINER]),
    "utilization": Check(check_utilization, [TRAINER, "profkit_gpu_programs"]),
    "pages_shapes_energy": Check(check_pages_shapes_energy, [TRAINER, "profkit_gpu_programs"]),
    "control": Check(check_control, [TRAINER, PROGRAM, "profkit_gpu_programs"]),
    "samples": Check(check_samples, ["profkit_collect_tests", "profkit_samples_cost"]),
    "budget": Check(check_budget, [TRAINER]),
    "backward": Check(check_backward, [TRAINER, "bridge_cost"]),
    "graph": Check(check_graph, [TRAINER, "torch_checks", TORCH]),
    "nccl": Check(check_nccl, ["profkit_gpu_programs", PROGRAM]),
    "ranks": Check(check_ranks, [TRAINER, PROGRAM, "torch_checks"]),
    "ranks_busy": Check(check_ranks_busy, [TRAINER, PROGRAM]),
    "compare": Check(check_compare, [TRAINER, PROGRAM, "profkit_gpu_programs"]),
    "run": Check(check_run, ["profkit_run_ranges", PROGRAM, "libprofkit_run.so", TORCH]),
    "run_cost": Check(check_run_cost, ["profkit_run_ranges", PROGRAM, "libprofkit_run.so", TORCH]),
    "launch_cost": Check(check_launch_cost, ["profkit_launch_cost"]),
    "cost": Check(check_cost, [TRAINER, TORCH]),
    "sync": Check(check_sync, [TRAINER]),
    "precisions": Check(check_precisions, [TRAINER]),
    "out_of_memory": Check(check_out_of_memory, [TRAINER]),
    "text": Check(check_text, [TRAINER]),
    "fused": Check(check_fused, [TRAINER, "torch_checks", TORCH]),
    "aoti": Check(check_aoti, [TRAINER, PROGRAM, TORCH]),
    "speed": Check(check_speed, [TRAINER, TORCH]),
    "long": Check(check_long, [TRAINER, PROGRAM, TORCH]),
}
# These run only if named, because they would make a run of all checks too long.
ON_REQUEST = {"long", "ranks_busy"}


def missing(check, build):
    return [each for each in check.needs if not (importlib.util.find_spec(each) if each == TORCH else program_in(build, each))]


class Results:
    """The results of this run and of earlier ones in the folder."""

    def __init__(self, out):
        self.out = out
        self.file = out / "gpu_check.json"
        known = json.loads(self.file.read_text(encoding="utf-8"))["checks"] if self.file.exists() else []
        self.rows = {name: [row for row in known if row.get("check") == name] for name in CHECKS}

    def put(self, check, rows, facts):
        self.rows[check] = [{"check": check} | dict(zip(("name", "state", "figures"), row)) for row in rows]
        every = [row for of_check in self.rows.values() for row in of_check]
        self.file.write_text(json.dumps({"environment": facts, "checks": every}, indent=2) + "\n", encoding="utf-8")
        lines = ["# GPU checks", "", "Command: `scripts/gpu_check.sh`. A step is timed between CUDA events, in milliseconds.", ""]
        lines += [f"* {name}: {value}" for name, value in facts.items()]
        lines += ["", "| check | result | figures |", "|---|---|---|"]
        lines += [f"| {row['name']} | {row['state']} | {row['figures']} |" for row in every]
        for tables in sorted((*self.out.glob("sync-*/tables.md"), *self.out.glob("text/tables.md"), *self.out.glob("aoti-*/tables.md"),
                              *(path for path in self.out.glob("parity-*/tables.md") if not path.parent.name.endswith("-nsys")))):
            lines += ["", f"## {tables.parent.name}", "", tables.read_text(encoding="utf-8").replace("## T", "### T").strip()]
        (self.out / "gpu_check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def parse_arguments():
    variable = os.environ.get
    text = variable("GPU_CHECK_TEXT")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help='print the names of all checks, with " on request" after those that run only when named')
    parser.add_argument("--build", type=pathlib.Path, help="where the programs were built")
    parser.add_argument("--out", type=pathlib.Path, default=variable("GPU_CHECK_OUT"), help="default: $GPU_CHECK_OUT, or the folder gpu_check of the build")
    parser.add_argument("--text", type=pathlib.Path, default=pathlib.Path(text) if text else None, help="to train on; default: $GPU_CHECK_TEXT")
    parser.add_argument("--nsys", default=variable("NSYS") or "nsys", help="default: $NSYS, or nsys")
    parser.add_argument("--kills", type=int, default=variable("KILLS") or 20, help="how many programs the check journal kills; default: $KILLS, or 20")
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=[name for name in CHECKS if name not in ON_REQUEST], metavar="CHECK",
                        help=f"of {', '.join(CHECKS)}; without this, all but {', '.join(sorted(ON_REQUEST))}")
    given = parser.parse_args()
    if not given.list and given.build is None:
        parser.error("--build is needed")
    return given


def main():
    given = parse_arguments()
    if given.list:
        print("\n".join(name + (" on request" if name in ON_REQUEST else "") for name in CHECKS))
        return 0
    if "GPU" not in text_of("nvidia-smi", "-L"):
        print("skipped: there is no GPU")
        return SKIPPED
    out = pathlib.Path(given.out or given.build / "gpu_check")
    out.mkdir(parents=True, exist_ok=True)
    checks, facts, results = Checks(), environment(), Results(out)
    place = Place(given.build, out, given.nsys, given.text, given.kills)
    for name, check in CHECKS.items():
        if name not in given.only:
            continue
        title, first, not_there = name.replace("_", " "), len(checks.rows), missing(check, given.build)
        if not_there:
            checks.add(title, None, f"not there: {', '.join(not_there)}")
        else:
            with checks.failure_as_row(title):
                check.function(checks, place)
        results.put(name, checks.rows[first:], facts)
    states = {state for _, state, _ in checks.rows}
    return 1 if "FAIL" in states else 0 if "PASS" in states else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
