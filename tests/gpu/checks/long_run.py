# SPDX-License-Identifier: Apache-2.0
"""A run of some minutes with captures: memory stays bounded, figures cover every step, the slowest steps are kept, and the cost is
measured."""
import collections
import os
import re
import signal
import statistics
import subprocess
import time

from checks.cost import PYTORCH, TRAINER, Costs, judge_kernels, take_turns
from checks.programs import Run, program_in, report_in, report_of_profile, train

RUN, WARMUP = Run("small", 128, "train", "fp32"), 5
SECONDS, FIRST_SECONDS = 180, 60
KEPT = 3
PROFKIT = f"keep=slowest:{KEPT},report=every:30s"
REPORT_EVERY = 30
JOURNAL_SECONDS = 20
COUNTED_STEPS = 30
ROUNDS, COST_STEPS = 3, 60  # rounds before the run, and again after it
# Growth after the first minute is limited to the larger of the two.
MEMORY_PART, MEMORY_BYTES = 1.05, 10 << 20
MOST_WINDOWS = 512
CAPTURE_EVERY, CAPTURED = 20, 20  # seconds and steps
MIB = 1 << 20
LOG = "long.log"

Reading = collections.namedtuple("Reading", "at resident peak")


def memory_of(process):
    """@return the current and the peak resident bytes of a process; None once it has ended."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return [1024 * int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM")]
    except (OSError, KeyError):
        return None


def train_for(place, seconds, folder, arguments, profkit, captures=None):
    """Runs the trainer in an endless loop until SIGTERM. @return its report, stdout, stderr, and memory readings every second.
    @param captures a list; the commands that captured some steps every CAPTURE_EVERY seconds are added to it
    @raises RuntimeError if it fails, or continues for two minutes after the signal"""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(word) for word in (program_in(place.build, "transformer_train"), *RUN.options(WARMUP), *arguments, "--out", folder)]
    printed, errors = folder / "stdout.txt", folder / "stderr.txt"
    readings, begin, is_asked, end = [], None, False, time.monotonic() + seconds + 240
    with open(printed, "w", encoding="utf-8") as output, open(errors, "w", encoding="utf-8") as error_output:
        process = subprocess.Popen(command, stdout=output, stderr=error_output, env=os.environ | {"PROFKIT": f"steps=forever,{profkit}"})
        try:
            while process.poll() is None:
                now = time.monotonic()
                if begin is None and printed.stat().st_size > 0:  # it has started to create the model
                    begin = now
                memory = memory_of(process)
                if begin is not None and memory is not None:
                    readings.append(Reading(now - begin, *memory))
                if begin is not None and captures is not None and CAPTURE_EVERY * (len(captures) + 1) <= now - begin < seconds - CAPTURE_EVERY / 2:
                    words = [program_in(place.build, "profkit"), "capture", process.pid, "--steps", CAPTURED, "--out", folder / f"part{len(captures)}"]
                    captures.append(subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
                if begin is not None and now - begin >= seconds and not is_asked:
                    process.send_signal(signal.SIGTERM)
                    is_asked, end = True, now + 120
                if now > end:
                    raise RuntimeError(f"the trainer did not end {'after SIGTERM' if is_asked else 'or begin'}: {errors.read_text()[-300:]}")
                time.sleep(1 - (time.monotonic() - now) % 1)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    texts = printed.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
    with open(place.out / LOG, "a", encoding="utf-8") as log:
        log.write(f"$ PROFKIT=steps=forever,{profkit} {' '.join(command)}\n{texts[0]}{texts[1]}\n")
    if process.returncode != 0 or not is_asked:
        raise RuntimeError(f"the trainer ended with exit code {process.returncode}: {texts[1].strip()[-300:]}")
    return report_in(folder), *texts, readings


def counts_of(report):
    """@return the counts that are equal in each step."""
    kernels = report["kernels"]
    return {"kernels": None if kernels is None else sum(each["count"] for each in kernels), "scopes": sum(each["count"] for each in report["scopes"])}


def steps_of_trainer(printed):
    """@return the trainer's own counts of measured steps and of all steps, each with a loss."""
    return int(re.search(r"^measured loop: .* \((\d+) steps,", printed, re.MULTILINE)[1]), int(re.search(r"^loss, .*? of (\d+) steps\)", printed, re.MULTILINE)[1])


def add_memory(checks, readings):
    first = next(each for each in readings if each.at >= FIRST_SECONDS)
    last = next(each for each in readings if each.at >= SECONDS)
    grown = [after <= max(MEMORY_PART * before, before + MEMORY_BYTES) for before, after in zip(first[1:], last[1:])]
    shown = "; ".join(f"{each.at:.0f} s: {each.resident / MIB:.1f} MiB, at most so far {each.peak / MIB:.1f}" for each in (first, last))
    highest = max(each.resident for each in readings if FIRST_SECONDS <= each.at <= SECONDS)
    checks.add(f"memory of the process grows by at most 5 % or 10 MiB after the first minute of {SECONDS} s: {RUN.name}", all(grown),
               f"VmRSS and VmHWM at {shown}; resident {(last.resident - first.resident) / MIB:+.1f} MiB, highest in between {highest / MIB:.1f} MiB, "
               f"with the report at its end {readings[-1].peak / MIB:.1f} MiB; {len(readings)} readings")


def add_counts(checks, name, report, printed, a_step):
    """The figures cover all steps and everything in them."""
    steps, quality = report["steps"], report["quality"]
    measured, every = steps_of_trainer(printed)
    checks.add(f"{name}: every step is in the figures: {RUN.name}",
               steps["measured"] == measured > 0 and steps["measured"] + steps["warmup"] == every and steps["excluded"] == 0,
               f"{steps['warmup']} warm-up and {steps['measured']} measured steps, by the trainer {every}, of them measured {measured}")
    found = counts_of(report)
    lost = {key: quality[key] for key in ("dropped_events", "open_scopes", "dropped_kernels", "invalid_kernels", "unknown_launches")}
    passed = not any(lost.values()) and all(a_step[what] and found[what] == measured * a_step[what] for what in found)
    figures = "; ".join(f"{what} {found[what]}, {measured} steps of {a_step[what]}" for what in found)
    checks.add(f"{name}: every kernel and scope is in the figures: {RUN.name}", passed, f"{figures}; " + ", ".join(f"{key} {value}" for key, value in lost.items()))


def add_trend(checks, report):
    windows = (report["trend"] or {"windows": []})["windows"]
    steps, next_step, whole = report["steps"], windows[0]["first_step"] if windows else None, bool(windows)
    for window in windows:
        whole = whole and window["first_step"] == next_step
        next_step = window["first_step"] + window["steps"]
    covered = sum(each["steps"] for each in windows)
    checks.add(f"the trend has at most {MOST_WINDOWS} windows, and every step is in one: {RUN.name}",
               whole and len(windows) <= MOST_WINDOWS and covered == steps["measured"], f"{len(windows)} windows, {covered} of {steps['measured']} steps")


def add_kept(checks, report, kept, size, a_step):
    """The saved profile has only the records of the slowest steps."""
    slowest = sorted(report["steps"]["samples_ms"])[-KEPT:] if len(report["steps"]["samples_ms"]) == report["steps"]["measured"] else None
    found = sorted(kept["steps"]["samples_ms"])
    counts = counts_of(kept)
    passed = found == slowest and all(counts[what] == KEPT * a_step[what] for what in counts if a_step[what])
    checks.add(f"keep=slowest:{KEPT} saves the slowest steps and no others: {RUN.name}", passed,
               f"{', '.join(f'{ms:.3f}' for ms in found)} ms, the slowest of the run {', '.join(f'{ms:.3f}' for ms in slowest or [])} ms, mean "
               f"{report['steps']['mean_ms']:.3f} ms; {counts['kernels']} kernels, {counts['scopes']} scopes; a profile of {size:,} bytes")


def add_captures(checks, captures, folder, a_step):
    said = [each.communicate(timeout=60)[1].strip() for each in captures]
    right = []
    for number, each in enumerate(captures):
        report = report_in(folder / f"part{number}") if each.returncode == 0 else None
        right.append(report is not None and report["steps"]["measured"] == CAPTURED and
                     all(count == CAPTURED * a_step[what] for what, count in counts_of(report).items()))
    checks.add(f"captures of {CAPTURED} steps every {CAPTURE_EVERY} s have all of their kernels and scopes: {RUN.name}",
               all(right) and len(right) >= SECONDS // CAPTURE_EVERY - 2, f"{sum(right)} of {len(right)} {'; '.join(filter(None, said))[:300]}")


def add_snapshots(checks, errors):
    lines = re.findall(r"\d+:\d\d:\d\d: \d+ steps measured.*", errors)
    wanted = SECONDS // REPORT_EVERY - 1
    checks.add(f"report=every:{REPORT_EVERY}s prints a line each time: {RUN.name}", len(lines) >= wanted, f"{len(lines)} lines, {wanted} wanted; the last: {(lines or ['none'])[-1]}")


def add_cost(checks, parts):
    """Measures short runs, before and after the long one."""
    turns = {name: [turn for part in parts for turn in part[name]] for name in parts[0]}
    off, on = ([turn.loop for turn in turns[TRAINER[place][0]]] for place in (0, 2))
    ratios = [with_profkit / without for with_profkit, without in zip(on, off)]
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive")
    figures = (f"{statistics.median(ratios):.3f} times (quartiles {quartiles[0]:.3f} to {quartiles[2]:.3f}) the step of the same trainer with PROFKIT=off, "
               f"{statistics.median(on):.3f} and {statistics.median(off):.3f} ms; {len(ratios)} pairs of {COST_STEPS} steps, half of them before the long run")
    target, met, compared = judge_kernels(Costs(turns))
    checks.add(f"cost of a run with {PROFKIT}: {target}: {RUN.name}", met, f"{figures}; {compared}")


def check_long(checks, place):
    options = ["--save-profile", place.out / "long.profile"]
    short, _ = train(place, [*RUN.options(WARMUP, COUNTED_STEPS), *options], place.out / "long-short", LOG, "records=1000000000")
    a_step = {what: None if count is None or count % COUNTED_STEPS else count // COUNTED_STEPS for what, count in counts_of(short).items()}
    turns = []

    def measure_cost():
        trainer = [TRAINER[0], (TRAINER[2][0], PROFKIT)]
        with checks.failure_as_row(f"cost of a run with {PROFKIT}"):
            turns.append(take_turns(RUN, ROUNDS, WARMUP, COST_STEPS, place, trainer, PYTORCH[:2], False))

    measure_cost()
    with checks.failure_as_row(f"a run of {SECONDS} s"):
        captures = []
        report, printed, errors, readings = train_for(place, SECONDS, place.out / "long", options, PROFKIT + ",control", captures)
        add_memory(checks, readings)
        add_counts(checks, f"a run of {SECONDS} s", report, printed, a_step)
        add_trend(checks, report)
        add_kept(checks, report, report_of_profile(place, options[1], LOG), options[1].stat().st_size, a_step)
        add_snapshots(checks, errors)
        add_captures(checks, captures, place.out / "long", a_step)
    options[1].unlink(missing_ok=True)
    measure_cost()
    if turns:
        add_cost(checks, turns)
    journal = place.out / "long.journal"
    with checks.failure_as_row(f"a journal of {JOURNAL_SECONDS} s"):
        report, printed, _, readings = train_for(place, JOURNAL_SECONDS, place.out / "long-journal", [], f"journal={journal}")
        add_counts(checks, f"a run of {JOURNAL_SECONDS} s with a journal", report, printed, a_step)
        read = report_of_profile(place, journal, LOG)
        same = read["steps"]["measured"] == report["steps"]["measured"] and counts_of(read) == counts_of(report)
        checks.add(f"the journal has all of them too: {RUN.name}", same, f"{read['steps']['measured']} steps, {counts_of(read)}; a journal of "
                   f"{journal.stat().st_size:,} bytes; the process had at most {readings[-1].peak / MIB:.1f} MiB")
    journal.unlink(missing_ok=True)
