# SPDX-License-Identifier: Apache-2.0
"""A running program that is asked from outside: captures of some steps with kernels, what they cost, and where a hung program waits."""
import json
import os
import statistics
import subprocess
import time

from checks.programs import Run, loop_ms, program_in, report_in, run_logged, train

RUN, WARMUP = Run("small", 128, "train", "fp32"), 5  # launch-bound: the cost of a launch is the cost of a step
STEPS, FIRST_STEPS, CAPTURED = 700, (150, 350, 550), 20
SETTLED = 30  # steps after the begin of the run, or the end of a capture, that are not compared
ROUNDS, COST_STEPS = 5, 60
LOG = "control.log"


def start(command, profkit, log):
    return subprocess.Popen([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, env=os.environ | {"PROFKIT": profkit})


def counts_of(report):
    """@return the number of kernels by name"""
    return {each["name"]: each["count"] for each in report["kernels"]}


def check_captures(checks, place):
    folder = place.out / "control"
    folder.mkdir(parents=True, exist_ok=True)
    profkit = program_in(place.build, "profkit")
    command = [program_in(place.build, "transformer_train"), *RUN.options(WARMUP, STEPS), "--out", folder]
    captured = []
    with open(folder / "stdout.txt", "w", encoding="utf-8") as log, start(command, "control,kernels=capture", log) as process:
        try:
            wait_for_session(profkit, process.pid)
            for i, first in enumerate(FIRST_STEPS):
                run_logged([profkit, "capture", process.pid, "--from", first, "--steps", CAPTURED, "--kernels", "--trace", "--out", folder / str(i)],
                           place.out / LOG)
                captured.append(report_in(folder / str(i)))
            code = process.wait(120)
        finally:
            process.kill()
    if code != 0:
        raise RuntimeError(f"the trainer ended with exit code {code}")
    alone, _ = train(place, RUN.options(WARMUP, CAPTURED), folder / "alone", LOG)
    wanted = counts_of(alone)
    notes = [next(each["reason"] for each in report["quality"]["collectors"] if each["name"] == "capture") for report in captured]
    right = [counts_of(report) == wanted and report["steps"]["measured"] == CAPTURED and report["quality"]["unattributed_operations"] == 0 for report in captured]
    checks.add("each capture has the kernels of its steps, as a run of 20 steps has", all(right),
               f"{sum(right)} of {len(right)}; {sum(wanted.values()):,} kernels of {len(wanted)} names; {notes[0]}")
    report = report_in(folder)
    times = [None] * WARMUP + report["steps"]["samples_ms"]
    whole = len(times) == WARMUP + STEPS
    checks.add("the session of the captures has all of its steps", whole, f"{len(times) - WARMUP} of {STEPS}")
    if not whole:
        return
    ends = [first + CAPTURED for first in FIRST_STEPS]
    outside = [statistics.median(times[begin + SETTLED:end]) for begin, end in zip([WARMUP, *ends], [*FIRST_STEPS, len(times)])]
    inside = [statistics.median(times[first:end]) for first, end in zip(FIRST_STEPS, ends)]
    edges = [sum(times[end:end + 3]) - 3 * outside[0] for end in ends]
    checks.add("step time before, between and after captures with kernels", None,
               f"before {outside[0]:.2f} ms; in captures {', '.join(f'{each:.2f}' for each in inside)}; after each "
               f"{', '.join(f'{each:.2f}' for each in outside[1:])}; the 3 steps after each together {', '.join(f'{each:+.1f}' for each in edges)} ms")


def wait_for_session(profkit, process):
    for _ in range(600):
        listed = subprocess.run([str(profkit), "ps"], capture_output=True, text=True, check=False, timeout=60).stdout
        if any(line.split()[:1] == [str(process)] for line in listed.splitlines()):
            return
        time.sleep(0.1)
    raise RuntimeError(f"profkit ps does not list the session of process {process}")


def check_cost(checks, place):
    variants = {"off": "off", "scopes": "kernels=off", "control": "control,kernels=capture"}
    times = {name: [] for name in variants}
    for turn in range(ROUNDS):
        for name in list(variants) if turn % 2 == 0 else reversed(list(variants)):
            _, printed = train(place, RUN.options(WARMUP, COST_STEPS), place.out / "control-cost", LOG, variants[name])
            times[name].append(loop_ms(printed))
    medians = {name: statistics.median(each) for name, each in times.items()}
    checks.add("a session that can be asked costs at most 1 % more than its scopes", medians["control"] <= 1.01 * medians["scopes"],
               ", ".join(f"{name} {medians[name]:.3f} ({min(each):.3f} to {max(each):.3f})" for name, each in times.items()) + f" ms, medians of {ROUNDS}")


def check_stuck(checks, place):
    folder = place.out / "hang"
    folder.mkdir(parents=True, exist_ok=True)
    profkit, journal = program_in(place.build, "profkit"), folder / "run.journal"
    command = [program_in(place.build, "profkit_gpu_programs"), "steady_load", "hang", "2"]
    found = {}
    with open(folder / "stdout.txt", "w", encoding="utf-8") as log, start(command, f"journal={journal},out={folder}", log) as process:
        try:
            end = time.monotonic() + 30
            while not found.get("is_stuck") and time.monotonic() < end and process.poll() is None:
                time.sleep(0.5)
                asked = subprocess.run([str(profkit), "stuck", "--json", str(process.pid)], capture_output=True, text=True, check=False, timeout=60)
                found = json.loads(asked.stdout) if asked.stdout else {}
        finally:
            process.kill()
    (folder / "stuck.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    calls = [(scope["scope"], scope["call"]) for rank in found.get("ranks", []) for thread in rank["threads"] for scope in thread["open"] if scope["call"]]
    right = bool(found.get("is_stuck")) and any(scope.endswith("evaluate") and "Synchronize" in call for scope, call in calls)
    checks.add("stuck names the driver call that a hung program waits in", right, f"{found.get('sentence')}; {calls}")


def check_control(checks, place):
    """Captures on request, their cost, and a program that hangs."""
    for part in (check_stuck, check_captures, check_cost):
        with checks.failure_as_row(f"control, {part.__name__}"):
            part(checks, place)
