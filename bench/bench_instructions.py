#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a scope with callgrind and compares them with the recorded ones.

Exits with 1 if a scope takes more than recorded, with 4 if counting is impossible or nothing is recorded for the compiler.
With --must-fail inverted: exits with 0 if the program takes more than recorded.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = (1000, 3000)
SCOPES_PER_ROUND = {"on_nested": 4}
COUNTED_ONCE = {"four_new_sites": 4, "new_thread": 1}


class CannotCount(Exception):
    """Callgrind is missing or cannot run the program."""


def dumps_of(program):
    """The names and counts of all dumps, in order."""
    if shutil.which("valgrind") is None:
        raise CannotCount("there is no valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(program)],
                              capture_output=True, text=True, check=False)
        if done.returncode == 4:
            raise CannotCount(done.stdout.strip())
        if done.returncode != 0:
            raise CannotCount(f"valgrind fails with {done.returncode}:\n{done.stdout}{done.stderr}")
        found = []
        files = [file for file in pathlib.Path(folder).iterdir() if file.suffix[1:].isdigit()]
        for file in sorted(files, key=lambda each: int(each.suffix[1:])):
            text = file.read_text(errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)", text, re.MULTILINE)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
            if name and total:
                found.append((name[1].strip(), int(total[1])))
    return found


def count(program):
    """Instructions per scope by variant, minus the empty loop. Exact for variants counted by rounds."""
    totals = {}
    for name, instructions in dumps_of(program):
        totals.setdefault(name, []).append(instructions)
    per_round = {name: (many - few) / (ROUNDS[1] - ROUNDS[0]) for name, (few, many) in ((n, c) for n, c in totals.items() if len(c) == 2)}
    if "empty" not in per_round:
        raise CannotCount("callgrind wrote no dump of the empty loop")
    empty = per_round.pop("empty")
    counts = {name: (each - empty) / SCOPES_PER_ROUND.get(name, 1) for name, each in per_round.items()}
    for name, scopes in COUNTED_ONCE.items():
        counts[name] = totals[name][0] / scopes
    return counts


def failures_of(counts, recorded):
    """@return the variants that are missing or take more than recorded plus allowance. `recorded`: name to [instructions, allowance]."""
    failures = []
    for name, (instructions, allowance) in recorded.items():
        if name not in counts:
            failures.append(f"{name}: not counted")
        elif round(counts[name], 1) > round(instructions + allowance, 1):
            failures.append(f"{name}: {counts[name]:.2f} instructions, recorded: {instructions} (+ {allowance})")
    return failures


def main_version(compiler):
    """"GNU 12" of "GNU 12.2.0"."""
    return compiler.split(".")[0]


def recorded_for(compiler, file):
    """@return the recorded counts for the compiler, or None."""
    return json.loads(pathlib.Path(file).read_text())["instructions"].get(main_version(compiler))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--compiler", required=True, help='as in "GNU 12.2.0"')
    parser.add_argument("--recorded", required=True, help="bench/recorded.json")
    parser.add_argument("--must-fail", action="store_true")
    arguments = parser.parse_args()
    try:
        counts = count(arguments.program)
    except CannotCount as reason:
        print(f"skipped: {reason}")
        return 4
    for name, instructions in counts.items():
        print(f"{name:16} {instructions:8.2f} instructions per scope")
    recorded = recorded_for(arguments.compiler, arguments.recorded)
    if recorded is None:
        print(f"skipped: nothing is recorded for {arguments.compiler}")
        return 4
    failures = failures_of(counts, recorded)
    print("\n".join(failures) if failures else "no variant takes more than recorded")
    if arguments.must_fail:
        dearer = {failure.split(":")[0] for failure in failures}
        if not {"off", "on", "on_nested"} <= dearer:
            print("FAIL four additional instructions were not detected")
            return 1
        return 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
