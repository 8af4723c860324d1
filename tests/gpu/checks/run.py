# SPDX-License-Identifier: Apache-2.0
"""Checks of `profkit run` on programs that were not built for profkit, against Nsight Systems: the same ranges and kernels, equal counts,
equal times, and the cost of both."""
import json
import re
import shutil
import statistics
import sys

from checks.programs import ROOT, has_nsys, program_in, report_in, rows_of_nsys, run_logged, run_under_nsys, table_of_nsys

LOG = "run.log"
STEPS = 100
ROUNDS = 5
COST_STEPS = {"CUDA C": 1000, "PyTorch": 300}  # a session takes 3 ms once, to measure the speed of the processor
# In per cent: of the program's own clock in the same run, and of the kernels of another run.
RANGE_BAR, KERNEL_BAR = 2.0, 5.0
US_PER_RANGE = 3.0  # between the program's clock and the beginning of the range


def programs(place, steps):
    """@return name: command"""
    torch = [sys.executable, ROOT / "tests/gpu/run_torch.py", steps]
    return {"CUDA C": [program_in(place.build, "profkit_run_ranges"), steps], "PyTorch": torch, "PyTorch, emit_nvtx": [*torch, "--emit-nvtx"]}


def last_line(printed):
    """@return what a program has printed about itself"""
    return json.loads(printed.strip().splitlines()[-1])


def under_profkit(place, command, folder=None, options=(), profkit=""):
    """@return the program's line of JSON; the report is in the folder."""
    out = [] if folder is None else ["--out", folder]
    printed = run_logged([program_in(place.build, "profkit"), "run", *options, *out, "--", *command], place.out / LOG, profkit)
    return last_line(printed)  # stdout is that of the program


def under_nsys(place, command, folder):
    printed = run_under_nsys(place, command, folder, LOG)
    return json.loads(next(line for line in printed.splitlines() if line.startswith("{")))


def row_of_range(name):
    """@return the row in which profkit shows a range of Nsight Systems: without the domain, and without the numbers of emit_nvtx."""
    name = re.sub(r"^(solver)?:(?!:)", "", name)
    return re.sub(r", (seq|op_id|sizes|input_op_ids) = .*", "", name)


def sums(pairs):
    """@return name: [count, ms]"""
    result = {}
    for name, count, ms in pairs:
        entry = result.setdefault(name, [0, 0.0])
        entry[0] += count
        entry[1] += ms
    return result


def worst(ours, theirs, us_each=0.0):
    """@return the largest difference in per cent, beyond a time for each count, and its name"""
    excess = {name: max(0.0, abs(ours[name][1] - ms) - us_each * count / 1000.0) / ms * 100.0 for name, (count, ms) in theirs.items() if ms > 0.0}
    name = max(excess, key=excess.get)
    return excess[name], name


def check_program(checks, place, name, command):
    folder = place.out / ("run-" + re.sub(r"\W+", "-", name))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    journal = folder / "run.journal"
    own = under_profkit(place, command, folder / "all", ["--step", "none"], f"journal={journal}")
    report = report_in(folder / "all")
    run_logged([program_in(place.build, "profkit"), "report", journal, "--nsys", folder], place.out / LOG)
    nsys_own = under_nsys(place, command, folder)
    # Ranges. Steps have names of their own.
    ours = sums((re.sub(r"^step \d+$", "step", each["name"]), each["count"], each["host_total_ms"]) for each in report["scopes"])
    theirs = sums((re.sub(r"^step \d+$", "step", row_of_range(each["Range"])), int(each["Instances"]), float(each["Total Time (ns)"]) / 1e6)
                  for each in table_of_nsys(place, folder, "nvtx_pushpop_sum", LOG))
    counts, expected = ({each: row[0] for each, row in rows.items()} for rows in (ours, theirs))
    different = sorted(each for each in counts.keys() | expected.keys() if counts.get(each) != expected.get(each))
    checks.add(f"run, {name}: ranges have the counts of nsys", not different and len(counts) > 0,
               f"{len(expected)} names, {sum(expected.values()):,} ranges" +
               "".join(f"; {each}: {counts.get(each)} and {expected.get(each)}" for each in different[:3]))
    clock, nsys_clock = worst(ours, own["ranges"], US_PER_RANGE), worst(theirs, nsys_own["ranges"], US_PER_RANGE)
    checks.add(f"run, {name}: ranges have the times of the program's clock", clock[0] <= RANGE_BAR,
               f"at most {clock[0]:.2f} % ({clock[1]}); nsys in its run {nsys_clock[0]:.2f} % ({nsys_clock[1]})")
    # Kernels.
    kernels = [sums((each["Name"], int(each["Instances"]), float(each["Total Time (ns)"]) / 1e6) for each in rows)
               for rows in (rows_of_nsys((folder / "cuda_gpu_kern_sum.csv").read_text(encoding="utf-8")),
                            table_of_nsys(place, folder, "cuda_gpu_kern_sum", LOG))]
    counts, expected = ({each: row[0] for each, row in rows.items()} for rows in kernels)
    checks.add(f"run, {name}: kernels have the names and counts of nsys", counts == expected and len(counts) > 0,
               f"{sum(counts.values()):,} and {sum(expected.values()):,} kernels, {len(counts)} and {len(expected)} names")
    totals = [sum(ms for _, ms in rows.values()) for rows in kernels]
    difference = (totals[0] / totals[1] - 1.0) * 100.0
    checks.add(f"run, {name}: kernels take the time that nsys says", abs(difference) <= KERNEL_BAR,
               f"{totals[0]:.2f} and {totals[1]:.2f} ms: {difference:+.2f} %, of two runs")
    # Steps are found, and only these.
    under_profkit(place, command, folder / "steps", profkit="warmup=0")
    steps = report_in(folder / "steps")
    found = [each["name"] for each in steps["quality"]["collectors"] if each["name"].startswith("steps")]
    checks.add(f"run, {name}: steps are found", steps["steps"]["measured"] == STEPS - 2 and bool(steps["kernels"]),
               f"{steps['steps']['measured']} steps; {found[0] if found else 'no note'}")
    (folder / "nsys.nsys-rep").unlink()


def check_run(checks, place):
    """The programs under profkit and under nsys."""
    if not has_nsys(place):
        checks.add("run", None, "no nsys")
        return
    for name, command in programs(place, STEPS).items():
        with checks.failure_as_row(f"run, {name}"):
            check_program(checks, place, name, command)


def check_run_cost(checks, place):
    """The time of a step under each tool, in turns."""
    if not has_nsys(place):
        checks.add("run cost", None, "no nsys")
        return
    for name, steps in COST_STEPS.items():
        command, folder = programs(place, steps)[name], place.out / "run-cost"
        times = {}
        for _ in range(ROUNDS):
            times.setdefault("nothing", []).append(last_line(run_logged(command, place.out / LOG))["step_ms"])
            times.setdefault("profkit run", []).append(under_profkit(place, command)["step_ms"])
            times.setdefault("nsys", []).append(under_nsys(place, command, folder)["step_ms"])
            if name == "PyTorch":
                times.setdefault("Kineto, CUDA only", []).append(last_line(run_logged([*command, "--kineto"], place.out / LOG))["step_ms"])
        shutil.rmtree(folder, ignore_errors=True)
        medians = {tool: statistics.median(values) for tool, values in times.items()}
        figures = ", ".join(f"{tool} {medians[tool]:.3f} ({min(values):.3f} to {max(values):.3f})" for tool, values in times.items())
        checks.add(f"run, {name}: a step takes no longer than under nsys", medians["profkit run"] <= 1.02 * medians["nsys"],
                   f"{figures} ms, median of {ROUNDS}")
