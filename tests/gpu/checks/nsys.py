# SPDX-License-Identifier: Apache-2.0
"""Checks of the trainer under Nsight Systems and Nsight Compute: they record exactly the measured steps, or one range. Writes the commands
and their output to nsys.md."""
import collections
import contextlib
import csv
import functools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import nsys_parity
from checks.programs import FAILURES, ROOT, Run, has_nsys, program_in, report_in, text_of, train

RUN = Run("small", 128, "train", "fp32")
WARMUP, STEPS = 3, 5
# A small model, because ncu stops the device around each profiled kernel; without warm-up, which ncu would profile too.
NCU_RUN, NCU_RANGE = Run("tiny", 128, "fwd", "fp32"), "softmax"
NCU_METRIC = "gpu__time_duration.sum"
# This machine denies ncu access to the device's counters, which is no fault of the checked code.
NCU_REFUSALS = ("ERR_NVGPUCTRPERM", "LibraryNotLoaded")
NVTX_CAPTURE = ["--capture-range=nvtx", "--nvtx-capture=measure_loop@profkit", "--capture-range-end=stop"]
API_CAPTURE = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
LIMIT_S = 200
LOG = "nsys.log"
WIDTH = 120

# The lines of a program's output to show in the page. Nsight Systems draws a progress bar, the trainer prints tables.
KEPT = re.compile(r"Capture range|Generat|\.nsys-rep|parameters\)|^measured loop|^==|^[a-z_]+: |[Ee]rror")
FOLDERS = re.compile(r"(?<![\w.@/])/(?:[^\s/'\"]+/)+")

Command = collections.namedtuple("Command", "words environment")


class Page:
    """A Markdown page, rewritten after each part. Paths are reduced to file names."""

    def __init__(self, place):
        self.file = place.out / "nsys.md"
        self.lines = []

    def add(self, *lines):
        self.lines += [FOLDERS.sub("", line) for line in lines]

    def command(self, command, printed):
        """@param printed lines"""
        words = [f"{name}={value}" for name, value in command.environment.items()] + [self.shown(word) for word in command.words]
        rows = ["$"]
        for word in words:
            if len(rows[-1]) + 1 + len(word) > WIDTH - 2:
                rows[-1] += " \\"
                rows.append("   ")
            rows[-1] += " " + word
        self.add("", *(4 * " " + line for line in rows + printed), "")

    @staticmethod
    def shown(word):
        word = FOLDERS.sub("", str(word))
        return f"'{word}'" if re.search(r"[^\w@%+=:,./{}-]", word) else word

    def write(self):
        self.file.write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines)).strip() + "\n", encoding="utf-8")


@contextlib.contextmanager
def failure_as_row(checks, page, name):
    """A failure does not prevent the next check."""
    try:
        yield
    except FAILURES as failure:
        checks.add(name, False, f"{failure.__class__.__name__}: {failure}")
        page.add("", f"This failed: {failure.__class__.__name__}.", "")


def shortened(printed):
    """@return the lines about the recording, with ... for the others."""
    result = []
    for line in printed.splitlines():
        line = line.rstrip()[:160]
        if not line or "[1/1]" in line:
            continue
        if KEPT.search(line):
            result.append(line)
        elif result[-1:] != ["..."]:
            result.append("...")
    return result


def run_together(place, page, commands, limit_s=LIMIT_S):
    """Runs the commands concurrently, without PROFKIT and variables of an enclosing tool. @return their outputs.
    @raises RuntimeError if one fails"""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PROFKIT", "NSYS_", "NVTX_", "CUDA_INJECTION"))}
    running = [subprocess.Popen([str(word) for word in each.words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", env=inherited | each.environment) for each in commands]
    end = time.monotonic() + limit_s
    outputs = []
    try:
        for process in running:
            outputs.append(process.communicate(timeout=max(1.0, end - time.monotonic()))[0])
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    failures = []
    with open(place.out / LOG, "a", encoding="utf-8") as log:
        for command, process, printed in zip(commands, running, outputs):
            log.write(f"$ {' '.join(str(word) for word in command.words)}\n{printed}\n")
            page.command(command, shortened(printed))
            if process.returncode != 0:
                failures.append(f"{pathlib.Path(command.words[0]).name}: exit code {process.returncode}: {printed.strip()[-400:]}")
    if failures:
        raise RuntimeError("; ".join(failures))
    return outputs


def run_one(place, page, words, limit_s=LIMIT_S):
    return run_together(place, page, [Command(words, {})], limit_s)[0]


def profile_command(place, options, output, arguments):
    return [place.nsys, "profile", "-t", "cuda,nvtx", *options, "--sample=none", "--cpuctxsw=none", "--force-overwrite=true",
            f"--output={output}", program_in(place.build, "transformer_train"), *RUN.options(WARMUP, STEPS), *arguments]


def exported(place, report):
    """@raises RuntimeError if there is no report, or nsys cannot read it"""
    if not report.exists():
        raise RuntimeError(f"nsys has written no {report.name}: nothing began the capture")
    database = report.with_suffix(".sqlite")
    done = subprocess.run([place.nsys, "export", "--type=sqlite", "--force-overwrite=true", f"--output={database}", str(report)],
                          capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"nsys export: {(done.stdout + done.stderr).strip()[-400:]}")
    return database


def discard(folder):
    """Removes the files of Nsight Systems, which are large, after the comparison."""
    for file in (*folder.glob("*.nsys-rep"), *folder.glob("*.sqlite")):
        file.unlink()


def launches_of(report):
    """@return profkit's kernels of the measured steps, by mangled name.
    @raises RuntimeError if it did not collect them"""
    if report["kernels"] is None:
        raise RuntimeError("profkit collected no kernels: " + "; ".join(each["reason"] or "" for each in report["quality"]["collectors"]))
    return collections.Counter({each["mangled"] or each["name"]: each["count"] for each in report["kernels"]})


@functools.lru_cache(maxsize=None)
def launched_in_steps(place):
    """@return profkit's own count in a run without any tool."""
    report, _ = train(place, RUN.options(WARMUP, STEPS), place.out / "capture-reference", LOG)
    if report["steps"]["measured"] != STEPS:
        raise RuntimeError(f"the run without nsys measured {report['steps']['measured']} steps")
    return launches_of(report)


def read_capture(database):
    """@return the step numbers and all kernels of the report by mangled name, whatever launched them."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        steps = sorted(each.payload or 0 for each in nsys_parity.read_ranges(connection) if each.name == "step")
        kernels = collections.Counter()
        if nsys_parity.has_table(connection, "CUPTI_ACTIVITY_KIND_KERNEL"):
            kernels.update(dict(connection.execute(
                """SELECT coalesce(name.value, '?'), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel
                   LEFT JOIN StringIds AS name ON name.id = kernel.mangledName GROUP BY 1""")))
    return steps, kernels


def kernels_beside(folder):
    """@return the status of profkit's kernel collector in a run under nsys."""
    states = [f"{each['status']}{': ' + each['reason'] if each['reason'] else ''}" for each in report_in(folder)["quality"]["collectors"]
              if each["name"] == "kernels"]
    return f"profkit under nsys: kernels {states[0] if states else 'not asked for'}"


def differences(ours, theirs, most=3):
    names = [name for name in sorted(ours.keys() | theirs.keys()) if ours[name] != theirs[name]]
    return [f"{name[:60]}: {theirs[name]}, profkit {ours[name]}" for name in names[:most]]


def judge_capture(checks, place, page, name, report, *figures):
    ours = launched_in_steps(place)
    steps, kernels = read_capture(exported(place, report))
    wanted = list(range(WARMUP, WARMUP + STEPS))
    page.add("| in the report | Nsight Systems | wanted |", "|---|---:|---:|",
             f"| `step` ranges | {len(steps)} | {STEPS} |",
             f"| their numbers | {', '.join(map(str, steps))} | {', '.join(map(str, wanted))} |",
             f"| kernels | {sum(kernels.values())} | {sum(ours.values())} |",
             f"| names of kernels | {len(kernels)} | {len(ours)} |", "", *figures, "")
    checks.add(name, steps == wanted and kernels == ours and sum(kernels.values()) > 0,
               "; ".join([f"{len(steps)} steps ({', '.join(map(str, steps))}), {sum(kernels.values())} kernels of {len(kernels)} names; profkit "
                          f"without nsys {STEPS} steps, {sum(ours.values())} kernels", *differences(ours, kernels), *figures]))


def check_nvtx_range(checks, place, page, name):
    page.add("## The measured steps, by NVTX range", "",
             "profkit opens the range `measure_loop` before the first measured step and ends it when the session stops.")
    folder = place.out / "capture-nvtx"
    folder.mkdir(exist_ok=True)
    run_one(place, page, profile_command(place, NVTX_CAPTURE, folder / "measured", ["--out", folder / "profkit"]))
    report = folder / "measured.nsys-rep"
    judge_capture(checks, place, page, name, report, kernels_beside(folder / "profkit"))
    words = [place.nsys, "stats", "--report", "nvtx_pushpop_sum", "--format", "csv", report]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    rows = [line for line in done.stdout.splitlines() if "," in line]
    if done.returncode == 0 and rows:
        page.add("What the ranges took, in ns:")
        page.command(Command(words, {}), rows[:7] + (["..."] if len(rows) > 7 else []))
    discard(folder)


def check_profiler_api(checks, place, page, name):
    page.add("## The measured steps, by cudaProfilerStart", "", "The trainer calls `cudaProfilerStart` and `cudaProfilerStop` around them.")
    folder = place.out / "capture-api"
    folder.mkdir(exist_ok=True)
    run_one(place, page, profile_command(place, API_CAPTURE, folder / "measured", ["--cuda-profiler-api", "--out", folder / "profkit"]))
    judge_capture(checks, place, page, name, folder / "measured.nsys-rep", kernels_beside(folder / "profkit"))
    discard(folder)


def check_two_processes(checks, place, page, name):
    page.add("## A report for each process", "",
             "Two processes at once on one GPU, each under an nsys of its own, which names its report after the rank that the launcher set.")
    folder = place.out / "capture-ranks"
    folder.mkdir(exist_ok=True)
    words = profile_command(place, NVTX_CAPTURE, folder / "rank%q{RANK}", [])
    run_together(place, page, [Command(words, {"RANK": str(rank)}) for rank in range(2)])
    for rank in range(2):
        page.add(f"Rank {rank}:", "")
        with failure_as_row(checks, page, f"{name}: rank {rank}"):
            judge_capture(checks, place, page, f"{name}: rank {rank}", folder / f"rank{rank}.nsys-rep")
    discard(folder)


def check_any_program(checks, place, page, name):
    program = program_in(place.build, "profkit_nsys")
    page.add("## Another program", "", "`tests/nsys/scopes_program.cpp` counts the scopes that it opens in measured steps, on several threads.")
    done = subprocess.run([sys.executable, str(ROOT / "tests/nsys/compare_ranges.py"), place.nsys, str(program), "--capture"],
                          capture_output=True, text=True, check=False, timeout=LIMIT_S)
    lines = (done.stdout + done.stderr).splitlines()
    page.command(Command(["tests/nsys/compare_ranges.py", place.nsys, program, "--capture"], {}), lines[:12])
    checks.add(name, None if done.returncode == 4 else done.returncode == 0, "; ".join(lines[:8] if done.returncode in (0, 4) else lines[-8:]))


def find_ncu():
    installed = sorted(pathlib.Path("/opt/nvidia/nsight-compute").glob("*/ncu"))
    return shutil.which("ncu") or (str(installed[-1]) if installed else None)


def launched_in_range(folder, of_range):
    """@return profkit's own count of kernels by mangled name in the measured step of a run, and their demangled names."""
    report = report_in(folder)
    launches_of(report)
    mangled = {each["name"]: each["mangled"] or each["name"] for each in report["kernels"]}
    events = json.loads((folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    result = collections.Counter(mangled[each["name"]] for each in events
                                 if each.get("cat") == "kernel" and of_range in each["args"].get("scope", "").split("/"))
    return result, {value: name for name, value in mangled.items()}


def launches_in_ncu(text):
    """@return from ncu's CSV the name and the metrics of each profiled launch."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    launches = collections.defaultdict(dict)
    for row in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        launches[row["ID"]]["kernel"] = row["Kernel Name"]
        launches[row["ID"]][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return list(launches.values())


def refusal_of_ncu(lines):
    """@return the first line with which ncu refuses; None if it does not."""
    return next((line for line in lines if any(each in line for each in NCU_REFUSALS)), None)


def read_ncu(text):
    """@return from ncu's CSV how often each kernel was profiled, and its total nanoseconds."""
    counts, times = collections.Counter(), collections.Counter()
    for launch in launches_in_ncu(text):
        if NCU_METRIC in launch:
            counts[launch["kernel"]] += 1
            times[launch["kernel"]] += launch[NCU_METRIC]
    return counts, times


def run_ncu(checks, place, page, name, ncu, log, options, ours, shown_name):
    """@param options --nvtx-include with its range, and those of the trainer
    @param ours the kernels that are wanted"""
    include, *trainer_options = options
    words = [ncu, "--nvtx", "--nvtx-include", include, "--metrics", NCU_METRIC, "--clock-control", "none", "--print-kernel-base", "mangled",
             "--print-units", "base", "--csv", "--log-file", log, program_in(place.build, "transformer_train"), *trainer_options]
    failure = []
    try:
        run_one(place, page, words)
    except RuntimeError as error:
        failure = [str(error)[-300:]]
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    said = [line[:200] for line in text.splitlines() if line.startswith("==")]
    page.add(f"In `{log.name}`:", "", *(f"    {line}" for line in said[:4]), "    ...", "")
    refusal = refusal_of_ncu([*said, *failure])
    if refusal is not None:
        checks.add(name, None, refusal)
        return
    counts, times = read_ncu(text)
    page.add("| kernel | profiled by ncu | ns | wanted |", "|---|---:|---:|---:|",
             *(f"| `{shown_name.get(each, each)[:200].replace('|', '/')}` | {counts[each]} | {times[each]:.0f} | {ours[each]} |"
               for each in sorted(counts.keys() | ours.keys())), "")
    checks.add(name, not failure and counts == ours and sum(counts.values()) > 0,
               "; ".join([f"{sum(counts.values())} kernels of {len(counts)} names; profkit without ncu {sum(ours.values())} of {len(ours)}",
                          *differences(ours, counts), *(line for line in said if "ERROR" in line or "WARNING" in line), *failure]))


def check_ncu(checks, place, page, name):
    ncu = find_ncu()
    if ncu is None:
        checks.add(name, None, "no ncu")
        return
    page.add("## The kernels of one range, in Nsight Compute", "", f"{text_of(ncu, '--version').splitlines()[-1]}.")
    folder = place.out / "capture-ncu"
    arguments = NCU_RUN.options(0, 1)
    train(place, arguments, folder / "alone", LOG)
    ours, shown_name = launched_in_range(folder / "alone", NCU_RANGE)
    # With kernels left to ncu from the start, and with the defaults.
    for log, extra in (("range-kernels-off.csv", ["--kernels", "off"]), ("range.csv", [])):
        with failure_as_row(checks, page, name):
            run_ncu(checks, place, page, " ".join([name, *extra]), ncu, folder / log, [f"profkit@{NCU_RANGE}/", *arguments, *extra], ours,
                    shown_name)
    page.add("### The measured steps", "", "`measure_loop` is a start/end range, so its name has no slash. One step of warm-up is left out.")
    name = "ncu profiles the kernels of the measured steps and nothing else"
    with failure_as_row(checks, page, name):
        arguments = NCU_RUN.options(1, 1)
        report, _ = train(place, arguments, folder / "alone-warm", LOG)
        run_ncu(checks, place, page, name, ncu, folder / "steps.csv", ["profkit@measure_loop", *arguments], launches_of(report), shown_name)


PARTS = [
    ("nsys records the measured steps of the trainer and nothing else, by NVTX range", check_nvtx_range, True),
    ("nsys records the measured steps of the trainer and nothing else, by cudaProfilerApi", check_profiler_api, True),
    ("nsys writes a whole report for each of two processes at once", check_two_processes, True),
    ("nsys records the measured steps of another program and nothing else", check_any_program, True),
    (f"ncu profiles the kernels of the range {NCU_RANGE} and nothing else", check_ncu, False),
]


def check_capture(checks, place):
    page = Page(place)
    page.add("# Under Nsight Systems and Nsight Compute", "",
             "Use this page to see the commands of [Nsight tools](../../nsys.md) and their output. `scripts/gpu_check.sh` ran them.",
             "Folders are omitted, and output is shortened. No environment variable is set except `RANK` where it is shown.", "",
             f"* GPU, driver: {text_of('nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader')}",
             f"* {text_of(place.nsys, '--version') if has_nsys(place) else 'no Nsight Systems'}", "",
             f"The trainer runs {RUN.name} with {WARMUP} warm-up and {STEPS} measured steps. *Wanted* is what profkit counted in a run",
             "without any tool.", "")
    for name, check, needs_nsys in PARTS:
        if needs_nsys and not has_nsys(place):
            checks.add(name, None, "no nsys")
            continue
        with failure_as_row(checks, page, name):
            check(checks, place, page, name)
        page.write()
