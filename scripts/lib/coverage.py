#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the share of lines of include/profkit that the tests of a build folder ran, by folder, and the least covered headers.

usage: coverage.py BUILD [--min PERCENT]

BUILD was compiled by clang++ with -fprofile-instr-generate -fcoverage-mapping, and its tests wrote their counts to BUILD/coverage. A
line is covered if any program ran it. Exits with 1 if less than PERCENT of all lines are covered.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "profkit"
FOLDERS = ["record", "collect", "drain", "profile", "analyze", "report", "session", "public"]
MAX_HEADERS = 10

Lines = collections.namedtuple("Lines", "all covered")


def tool(build, name):
    """@return the LLVM tool of the compiler's release, because formats differ between releases."""
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]
    path = subprocess.run([compiler, f"--print-prog-name={name}"], text=True, capture_output=True, check=True).stdout.strip()
    if not shutil.which(path):
        sys.exit(f"no {name} for {compiler} (Debian and Ubuntu: llvm)")
    return path


def programs_of(build):
    """@return the programs and libraries of the build."""
    for path in sorted(build.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix not in (".o", ".a") and "CMakeFiles" not in path.parts and "coverage" not in path.parts:
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def counted_lines(build):
    """@return the lines of each header, by its name in include/profkit."""
    counts = sorted((build / "coverage").glob("*.profraw"))
    programs = list(programs_of(build))
    if not counts or not programs:
        sys.exit(f"no test of {build} has left its counts in {build / 'coverage'}")
    merged = build / "coverage" / "all.profdata"
    # A killed test may leave an unreadable file; the others count.
    subprocess.run([tool(build, "llvm-profdata"), "merge", "-sparse", "--failure-mode=all", "-o", merged, *counts], check=True, stderr=subprocess.DEVNULL)
    objects = [word for program in programs[1:] for word in ("-object", program)]
    exported = subprocess.run([tool(build, "llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", programs[0], *objects], text=True, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    result = {}
    for file in json.loads(exported)["data"][0]["files"]:
        path = pathlib.Path(file["filename"]).resolve()
        if HEADERS in path.parents:
            lines = file["summary"]["lines"]
            result[path.relative_to(HEADERS).as_posix()] = Lines(lines["count"], lines["covered"])
    return result


def percent(lines):
    return 100.0 * lines.covered / lines.all if lines.all else 100.0


def total(values):
    values = list(values)
    return Lines(sum(lines.all for lines in values), sum(lines.covered for lines in values))


def table(headers):
    folders = {folder: [] for folder in FOLDERS}
    for name, lines in headers.items():
        folders[name.split("/")[1] if "/" in name else "public"].append(lines)  # impl/FOLDER/...
    rows = [(folder, total(lines)) for folder, lines in folders.items()]
    rows += [("all", total(headers.values()))]
    rows += sorted(headers.items(), key=lambda row: percent(row[1]))[:MAX_HEADERS]
    return ["                                      lines  covered  percent", *(f"{name:36} {lines.all:7} {lines.covered:8} {percent(lines):8.1f}" for name, lines in rows)]


def verdict(headers, min_percent):
    """@return a line with the result, and the exit code."""
    lines = total(headers.values())
    if lines.all == 0:
        return "no line of include/profkit was counted", 1
    text = f"{percent(lines):.1f} % of the {lines.all} lines of include/profkit are covered"
    return (text, 0) if percent(lines) >= min_percent else (f"{text}; required: {min_percent:g} %", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--min", type=float, default=90.0)
    arguments = parser.parse_args()
    headers = counted_lines(arguments.build.resolve())
    print("\n".join(table(headers)))
    text, code = verdict(headers, arguments.min)
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
