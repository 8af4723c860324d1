#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md shows what its program prints, but for the figures; and what it says of cost stands in docs/overhead.md or docs/kernels.md.

usage: check_readme.py ROOT PROGRAM
"""
import os
import pathlib
import re
import subprocess
import sys

VERDICTS = r"too few|stable|noisy|drifting|still warming|throttled"


def normal(line):
    """Without figures, widths of columns and what depends on how steady the machine is."""
    line = re.sub(rf"\b({VERDICTS})\b", "<verdict>", line.strip())
    line = re.sub(r"^host: <verdict>: .*", "host: <verdict>", line)
    line = re.sub(r"^(warm-up) \d+ given; .*", r"\1", line)
    line = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "#", line)
    return re.sub(r"-{3,}", "---", re.sub(r"\s+", " ", line))


def check_output(readme, program):
    after = readme.split("\nprints", 1)
    blocks = re.findall(r"^```\n(.*?)^```", after[1], re.MULTILINE | re.DOTALL) if len(after) == 2 else []
    if not blocks:
        return ["README.md has no block of output behind a line that begins with 'prints'"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROFKIT")}
    printed = subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    lines = [normal(line) for line in printed.splitlines()]
    shown = [line for line in blocks[0].splitlines() if line.strip() not in ("", "...")]  # "...": left out
    position = 0
    for line in shown:
        if normal(line) not in lines[position:]:
            return [f"README.md shows a line that its program does not print, or not there: {line}", "The program printed:", printed]
        position += lines[position:].index(normal(line)) + 1
    print(f"{len(shown)} lines of output")
    return []


def figures(text):
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def check_costs(readme, root):
    section = re.search(r"^## What it costs\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    rows = [line for line in section.group(1).splitlines() if line.startswith("| ")][1:] if section else []
    if not rows:
        return ["README.md has no table under 'What it costs'"]
    known = set().union(*(figures((root / page).read_text(encoding="utf-8")) for page in ("docs/overhead.md", "docs/kernels.md")))
    unknown = sorted(set().union(*(figures(row) for row in rows)) - known)
    print(f"{len(rows)} rows of costs")
    return [f"README.md, 'What it costs': {figure} is neither in docs/overhead.md nor in docs/kernels.md" for figure in unknown]


def main():
    root = pathlib.Path(sys.argv[1])
    readme = (root / "README.md").read_text(encoding="utf-8")
    failures = check_output(readme, sys.argv[2]) + check_costs(readme, root)
    for each in failures:
        print(each)
    return 1 if failures else 0


sys.exit(main())
