# SPDX-License-Identifier: Apache-2.0
"""A running program that is asked from outside: captures of some steps with kernels, what they cost, and where a hung program waits."""
import json
import os
import statistics
import subprocess
import time

from checks.programs import Run, program_in, report_in, run_logged, train

RUN, WARMUP = Run("small", 128, "train", "fp32"), 5
STEPS, FIRST_STEPS, CAPTURED = 700, (150, 350, 550), 20
# Steps of 20,000 launches each; those after the begin of the run, or the end of a capture, are not compared.
LAUNCH_STEPS, LAUNCH_CAPTURES, LAUNCH_CAPTURED, LAUNCH_SETTLED = 150, (40, 80, 120), 10, 3
ROUNDS = 15
LOG = "control.log"


def start(command, profkit, log):
    return subprocess.Popen([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, env=os.environ | {"PROFKIT": profkit})


def counts_of(report):
    """@return the number of kernels by name"""
    return {each["name"]: each["count"] for each in report["kernels"]}


def check_captures(checks, place):
    folder = place.out / "control"
    folder.mkdir(parents=True, exist_ok=True)
    command = [program_in(place.build, "transformer_train"), *RUN.options(WARMUP, STEPS), "--out", folder]
    folders = [folder / str(i) for i in range(len(FIRST_STEPS))]
    run_with_captures(place, command, folder / "stdout.txt", [["--from", first, "--steps", CAPTURED, "--trace", "--out", each] for first, each in zip(FIRST_STEPS, folders)])
    captured = [report_in(each) for each in folders]
    alone, _ = train(place, RUN.options(WARMUP, CAPTURED), folder / "alone", LOG)
    wanted = counts_of(alone)
    notes = [next(each["reason"] for each in report["quality"]["collectors"] if each["name"] == "capture") for report in captured]
    right = [counts_of(report) == wanted and report["steps"]["measured"] == CAPTURED and report["quality"]["unattributed_operations"] == 0 for report in captured]
    checks.add("each capture has the kernels of its steps, as a run of 20 steps has", all(right),
               f"{sum(right)} of {len(right)}; {sum(wanted.values()):,} kernels of {len(wanted)} names; {notes[0]}")
    whole = report_in(folder)["steps"]["measured"]
    checks.add("the session of the captures has all of its steps", whole == STEPS, f"{whole} of {STEPS}")


def wait_for_session(profkit, process):
    for _ in range(600):
        listed = subprocess.run([str(profkit), "ps"], capture_output=True, text=True, check=False, timeout=60).stdout
        if any(line.split()[:1] == [str(process)] for line in listed.splitlines()):
            return
        time.sleep(0.1)
    raise RuntimeError(f"profkit ps does not list the session of process {process}")


def run_with_captures(place, command, printed, captures):
    """Runs a program with `kernels=capture`, with its output in a file.
    @param captures the options of each capture, whose steps are later than those of the one before
    @raises RuntimeError if the program or a capture fails"""
    profkit = program_in(place.build, "profkit")
    with open(printed, "w", encoding="utf-8") as log, start(command, "control,kernels=capture", log) as process:
        try:
            wait_for_session(profkit, process.pid)
            for options in captures:
                run_logged([profkit, "capture", process.pid, "--kernels", *options], place.out / LOG)
            code = process.wait(120)
        finally:
            process.kill()
    if code != 0:
        raise RuntimeError(f"exit code {code}: {printed.read_text(encoding='utf-8')[-300:]}")


def launch_times(place):
    """@return the time of a launch in each step, in ns"""
    printed, asked = place.out / "launches.txt", place.out / "control-launches"
    run_with_captures(place, [program_in(place.build, "profkit_gpu_programs"), "launch_times", "steps", LAUNCH_STEPS], printed,
                      [["--from", first, "--steps", LAUNCH_CAPTURED, "--out", asked] for first in LAUNCH_CAPTURES])
    times = [float(line) for line in printed.read_text(encoding="utf-8").splitlines() if line[:1].isdigit()]
    if len(times) != LAUNCH_STEPS:
        raise RuntimeError(f"{len(times)} steps instead of {LAUNCH_STEPS}")
    return times


def check_cost(checks, place):
    times = launch_times(place)
    ends = [first + LAUNCH_CAPTURED for first in LAUNCH_CAPTURES]
    outside = [statistics.median(times[begin + LAUNCH_SETTLED:end]) for begin, end in zip([0, *ends], [*LAUNCH_CAPTURES, len(times)])]
    inside = [statistics.median(times[first:end]) for first, end in zip(LAUNCH_CAPTURES, ends)]
    checks.add("the time of a launch before, in and after captures with kernels", None,
               f"before {outside[0]:.0f} ns; in captures {', '.join(f'{each:.0f}' for each in inside)}; after each "
               f"{', '.join(f'{each:.0f}' for each in outside[1:])}; the first step after each {', '.join(f'{times[end]:.0f}' for end in ends)}; "
               f"medians of steps of 20,000 launches")
    printed = run_logged([program_in(place.build, "profkit_gpu_programs"), "launch_times", "turns", ROUNDS], place.out / LOG)
    turns = {kind: [float(word) for word in words.split()] for kind, words in (line.split(":") for line in printed.splitlines() if ":" in line)}
    medians = {kind: statistics.median(each) for kind, each in turns.items()}
    ratios = sorted(asked / alone for asked, alone in zip(turns["control,kernels=capture"], turns["no session"]))
    low, high = ratios[3], ratios[-4]  # 96 % interval of the median of 15, by the binomial distribution
    name = "a launch in a session that can be asked takes as long as without a session"
    checks.add(name, low <= 1.02,
               ", ".join(f"{kind} {medians[kind]:.0f} ({min(each):.0f} to {max(each):.0f})" for kind, each in turns.items()) +
               f" ns, {ROUNDS} turns; {statistics.median(ratios):.3f} times, interval {low:.3f} to {high:.3f} (bar: 1.02 below it)")


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
