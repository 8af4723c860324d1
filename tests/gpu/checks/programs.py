# SPDX-License-Identifier: Apache-2.0
"""The programs that the checks run, and the rows of the result table."""
import collections
import contextlib
import csv
import datetime
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]

# The folders of programs and results, optional tools and inputs (Nsight Systems, a training text), and the number of programs to kill.
Place = collections.namedtuple("Place", "build out nsys text kills", defaults=[20])


# Exceptions that a check may raise.
FAILURES = (RuntimeError, OSError, subprocess.SubprocessError, StopIteration, KeyError, IndexError, TypeError, AttributeError, ValueError,
            ArithmeticError, sqlite3.Error)


class Run(collections.namedtuple("Run", "size ctx mode precision")):
    @property
    def name(self):
        return "/".join((self.size, str(self.ctx), self.mode, self.precision))

    @property
    def folder(self):
        return self.name.replace("/", "-")

    def options(self, warmup, steps=None):
        """Without steps, PROFKIT sets the number."""
        return ["--size", self.size, "--ctx", str(self.ctx), "--batch", "4", "--mode", self.mode, "--precision", self.precision,
                "--warmup", str(warmup), *([] if steps is None else ["--steps", str(steps)]), "--seed", "0"]


class Checks:
    """Rows of the result table, printed when added. `passed` is None without a verdict: only a figure, or a check that cannot run here."""

    def __init__(self):
        self.rows = []
        self.begin = time.monotonic()

    def add(self, name, passed, figures):
        state = {True: "PASS", False: "FAIL", None: "not judged"}[passed]
        self.rows.append((name, state, figures))
        print(f"[{time.monotonic() - self.begin:5.0f} s] {state:10} {name}: {figures}", flush=True)

    @contextlib.contextmanager
    def failure_as_row(self, name):
        """A failure does not prevent the next check."""
        try:
            yield
        except FAILURES as failure:
            self.add(name, False, f"{failure.__class__.__name__}: {failure}")


def text_of(*command, timeout=60):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout).stdout.strip()
    except (OSError, subprocess.SubprocessError) as failure:
        return f"unknown ({failure.__class__.__name__})"


def environment():
    try:
        import torch
    except ImportError:
        torch = None
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "gpu, driver": text_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
        "CUDA": next((line for line in text_of("nvcc", "--version").splitlines() if "release" in line), "no nvcc").strip(),
        "PyTorch": torch.__version__ if torch else "none",
        "compiler": text_of("c++", "--version").splitlines()[0],
    }


def program_in(build, name):
    """@return the path, or None if the program was not built."""
    return next((path for path in build.glob(f"**/{name}") if path.is_file()), None)


def run_logged(command, log, profkit="", timeout=300):
    """Runs a command with its output in a log.
    @raises RuntimeError if it fails"""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=timeout,
                          env=os.environ | {"PROFKIT": profkit})
    shown = " ".join(str(word) for word in command)
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"$ {f'PROFKIT={profkit} ' if profkit else ''}{shown}\n{done.stdout}{done.stderr}\n")
    if done.returncode != 0:
        raise RuntimeError(f"{shown}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def report_in(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def report_of_profile(place, saved, log):
    """@return the report of a saved profile or a journal."""
    return json.loads(run_logged([program_in(place.build, "profkit"), "report", saved, "--format", "json"], place.out / log))


def train(place, arguments, folder, log, profkit=""):
    """Runs the trainer once. @return its report.json and its output."""
    printed = run_logged([program_in(place.build, "transformer_train"), *arguments, "--out", folder], place.out / log, profkit)
    return report_in(folder), printed


def train_with_tables(place, arguments, folder, log):
    """The same. The folder also gets the tables in the format of `nsys stats`, which the program profkit writes from the saved profile."""
    saved = place.out / f"{folder.name}.profile"
    result = train(place, [*arguments, "--save-profile", saved], folder, log)
    run_logged([program_in(place.build, "profkit"), "report", saved, "--nsys", folder], place.out / log)
    saved.unlink()
    return result


def run_under_nsys(place, command, folder, log, profkit="", options=()):
    """Runs a program once under Nsight Systems, which writes nsys.nsys-rep. @return what both print"""
    folder.mkdir(parents=True, exist_ok=True)
    return run_logged([place.nsys, "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true",
                       f"--output={folder / 'nsys'}", *options, *command], place.out / log, profkit)


def table_of_nsys(place, folder, name, log):
    """@return the rows of a report of `nsys stats` about nsys.nsys-rep in a folder"""
    return rows_of_nsys(run_logged([place.nsys, "stats", "--report", name, "--format", "csv", "--force-export=true", folder / "nsys.nsys-rep"],
                                   place.out / log))


def rows_of_nsys(text):
    """@return the rows of a table in the format of `nsys stats`, which may print other lines before it"""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(("Time (%)", "Total (")))
    return list(csv.DictReader(lines[first:]))


def train_under_nsys(place, arguments, folder, log, profkit=""):
    """Runs the trainer once under Nsight Systems. @return its report.json, its output and the SQLite file."""
    printed = run_under_nsys(place, [program_in(place.build, "transformer_train"), *arguments, "--out", folder], folder, log, profkit)
    database = folder / "nsys.sqlite"
    run_logged([place.nsys, "export", "--type=sqlite", "--force-overwrite=true", f"--output={database}", folder / "nsys.nsys-rep"],
               place.out / log)
    return report_in(folder), printed, database


def has_nsys(place):
    return shutil.which(place.nsys) is not None


def step_ms(report):
    """@return the step time between CUDA events, the trainer's avg_ms."""
    return report["steps"]["gpu_mean_ms"]


def loop_ms(printed):
    """@return the step time from the trainer's own timer, which does not need profkit."""
    return float(re.search(r"^measured loop: (\S+) ms a step", printed, re.MULTILINE)[1])


def line_of_a_turn(process, seconds):
    """Sends one line to a long-running program, which then measures once. @return its line of JSON, or None if it ends. A program that
    takes too long is killed."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write("\n")
        process.stdin.flush()
        return next((line for line in iter(process.stdout.readline, "") if line.startswith("{")), None)
    except BrokenPipeError:
        return None
    finally:
        timer.cancel()


class PyTorch:
    """The same model in PyTorch, in a long-running process. It starts with the first turn and measures once per turn."""

    def __init__(self, arguments, log):
        self.command = [sys.executable, str(ROOT / "examples/transformer_train/reference/benchmark.py"), *arguments, "--device", "cuda", "--turns"]
        self.log = log
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def measure(self):
        """@return the output of benchmark.py for one turn.
        @raises RuntimeError if it ends instead, or takes more than three minutes"""
        shown = " ".join(self.command[1:])
        with open(self.log, "a", encoding="utf-8") as log:
            if self.process is None:
                self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
            line = line_of_a_turn(self.process, 180)
            log.write(f"$ {shown}\n{line}\n")
        result = json.loads(line) if line else {}
        if result.get("status") != "ok":
            raise RuntimeError(f"{shown}: {result.get('status', 'it ended early; see ' + self.log.name)}")
        return result
