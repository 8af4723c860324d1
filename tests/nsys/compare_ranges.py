#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program under nsys and compares its NVTX ranges in the domain "profkit" with the ranges that the program reports.

usage: compare_ranges.py NSYS PROGRAM [--capture]     exit code: 0 equal, 1 different, 4 nsys cannot run here
--capture  nsys records the range measure_loop only, and the program counts what it opens in measured steps ("measured")
"""
import collections
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile


CAPTURE = ["--capture-range=nvtx", "--nvtx-capture=measure_loop@profkit", "--capture-range-end=stop"]


def ranges_of(database):
    """@return the number of push/pop ranges by name, for names that are registered strings of the domain profkit."""
    rows = sqlite3.connect(database).execute(
        """SELECT string.value, COUNT(*), COUNT(DISTINCT event.globalTid), MIN(event.end IS NOT NULL)
           FROM NVTX_EVENTS AS event
           JOIN StringIds AS string ON string.id = event.textId
           JOIN NVTX_EVENTS AS domain ON domain.domainId = event.domainId AND domain.eventType = 75
           WHERE event.eventType = 59 AND domain.text = 'profkit'
           GROUP BY string.value"""
    )
    return {name: (count, bool(all_ended)) for name, count, _, all_ended in rows}


def profile(nsys, report, options, program):
    """@return the report, or None if there is none, and the output."""
    done = subprocess.run(
        [nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", *options, f"--output={report}", *program],
        capture_output=True, text=True, check=False)
    file = pathlib.Path(f"{report}.nsys-rep")
    return file if file.exists() else None, done.stdout, done.stderr


def main():
    nsys, program, *options = sys.argv[1:]
    if options not in ([], ["--capture"]):
        print(__doc__)
        return 1
    capture, arguments = (CAPTURE, ["measured"]) if options else ([], [])
    if shutil.which(nsys) is None:
        print(f"skipped: no nsys ({nsys})")
        return 4
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file, printed, errors = profile(nsys, folder / "ranges", capture, [program, *arguments])
        if file is None and capture and profile(nsys, folder / "all", [], [program])[0] is not None:
            print("FAIL nsys has recorded nothing: the range to capture did not begin\n" + printed + errors)
            return 1
        if file is None:
            print("skipped: nsys makes no report here\n" + printed + errors)
            return 4
        database = folder / "ranges.sqlite"
        subprocess.run([nsys, "export", "--type=sqlite", "--force-overwrite=true", f"--output={database}", str(file)],
                       capture_output=True, text=True, check=True)
        seen = ranges_of(database)
    opened = collections.Counter()
    for line in printed.splitlines():
        count, _, name = line.partition(" ")
        if count.isdigit():
            opened[name] = int(count)
    if not opened:
        print("the program printed no counts:\n" + printed + errors)
        return 1
    failures = 0
    for name in sorted(set(opened) | set(seen)):
        count, all_ended = seen.get(name, (0, True))
        is_right = count == opened[name] and all_ended
        failures += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} {name}: opened {opened[name]}, nsys has {count}{'' if all_ended else ', not all ended'}")
    return 1 if failures else 0


sys.exit(main())
