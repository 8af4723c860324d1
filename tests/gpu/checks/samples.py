#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks host samples on this machine: known shares on 1, 2 and 8 threads, and the cost at 1000 Hz. Needs no GPU.

As a program, with programs that are already built, in about a minute:
    python3 tests/gpu/checks/samples.py --collect-tests build/ci/tests/profkit_collect_tests --cost build/ci/bench/profkit_samples_cost
Exit code: 0 all passed, 1 one failed.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks.programs import Checks, program_in

# Maximum error of a share in percentage points in 2 s, and maximum added processor time.
MOST_ERROR = 3.0
MOST_COST = 1.5
PAIRS = 101


def check_truth(checks, program, log):
    name = f"shares of 50, 30 and 20 % are right within {MOST_ERROR:g} points in 2 s at 1000 Hz"
    done = subprocess.run([str(program), "[sampled_truth]"], capture_output=True, text=True, check=False, timeout=60,
                          env=os.environ | {"PROFKIT_TEST_LONG": "1"})
    log.write(done.stdout + done.stderr)
    found = re.findall(r"^truth: (\d+) threads, \S+ s each, loop of (\S+) ms: largest error of a share (\S+) points", done.stdout, re.MULTILINE)
    figures = "; ".join(f"{threads} threads, loop of {loop} ms: {error} points" for threads, loop, error in found)
    if not found and "skipped" in done.stdout:
        checks.add(name, None, "perf_event_open is refused")
        return
    passed = done.returncode == 0 and {threads for threads, _, _ in found} == {"1", "2", "8"} and all(float(each[2]) < MOST_ERROR for each in found)
    checks.add(name, passed, figures or f"exit code {done.returncode}: {done.stdout.strip()[-300:]}")


def check_cost(checks, program, log):
    name = f"samples at 1000 Hz cost at most {MOST_COST:g} % of the processor time of a program that is bound by the processor"
    done = subprocess.run([str(program), "1000", str(PAIRS)], capture_output=True, text=True, check=False, timeout=120)
    log.write(done.stdout + done.stderr)
    if done.returncode == 4:
        checks.add(name, None, done.stdout.strip())
        return
    found = dict(re.findall(r"^(wall time|processor time) +(\S+ %   95 % interval +\S+ to +\S+)", done.stdout, re.MULTILINE))
    passed = len(found) == 2 and float(found["processor time"].split()[0]) <= MOST_COST
    figures = "; ".join(f"{what} {' '.join(figure.split())}" for what, figure in found.items())
    checks.add(name, passed, f"{figures}, {PAIRS} pairs" if found else f"exit code {done.returncode}: {done.stderr.strip()[-300:]}")


def check_both(checks, tests, cost, log_file):
    with open(log_file, "a", encoding="utf-8") as log:
        with checks.failure_as_row("shares of host samples"):
            check_truth(checks, tests, log)
        with checks.failure_as_row("cost of host samples"):
            check_cost(checks, cost, log)


def check_samples(checks, place):
    check_both(checks, program_in(place.build, "profkit_collect_tests"), program_in(place.build, "profkit_samples_cost"),
               place.out / "samples.log")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collect-tests", type=pathlib.Path, required=True, help="the program profkit_collect_tests")
    parser.add_argument("--cost", type=pathlib.Path, required=True, help="the program profkit_samples_cost")
    parser.add_argument("--log", type=pathlib.Path, default=pathlib.Path(os.devnull), help="file for all that they print")
    given = parser.parse_args()
    checks = Checks()
    check_both(checks, given.collect_tests, given.cost, given.log)
    return 1 if any(state == "FAIL" for _, state, _ in checks.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
