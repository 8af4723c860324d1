#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that README.md shows the output of its program, except for the figures, and that its overhead rows match docs/results. The reports
of recorded profiles in PICTURES must equal the output of `profkit report`, including figures.

usage: check_readme.py ROOT PROGRAM [PROFKIT]     PROFKIT: the program `profkit`; without it the pictures are not compared
"""
import os
import pathlib
import re
import subprocess
import sys

PICTURES = ["docs/report.md", "docs/step_budget.md"]
VERDICTS = r"too few|stable|noisy|drifting|still warming|throttled|uneven"


def normal(line):
    """Removes figures, column widths and text that depends on the machine."""
    line = re.sub(rf"\b({VERDICTS})\b", "<verdict>", line.strip())
    line = re.sub(r"^host: <verdict>: .*", "host: <verdict>", line)
    line = re.sub(r"^(warm-up) \d+ given; .*", r"\1", line)
    line = re.sub(r"^(95 % interval of the mean) .*", r"\1", line)
    line = re.sub(r"[\u2581-\u258f\u2591]+", "<blocks>", line).replace(" takes about ", " takes ")
    line = re.sub(r"\b(s|ms|µs)\b", "<time>", line)  # chosen by the speed of the machine
    line = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "#", line)
    return re.sub(r"-{3,}", "---", re.sub(r"\s+", " ", line))


def check_output(readme, program):
    after = readme.split("\nprints", 1)
    blocks = re.findall(r"^```\n(.*?)^```", after[1], re.MULTILINE | re.DOTALL) if len(after) == 2 else []
    if not blocks:
        return ["README.md has no block of output behind a line that begins with 'prints'"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROFKIT")}
    environment["LC_ALL"] = "C.UTF-8"
    printed = subprocess.run([program], env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True, timeout=60).stdout
    lines = [normal(line) for line in printed.splitlines()]
    shown = [line for line in blocks[0].splitlines() if line.strip() not in ("", "...")]  # "..." marks omitted lines
    position = 0
    for line in shown:
        if normal(line) not in lines[position:]:
            return [f"README.md shows a line that its program does not print, or not there: {line}", "The program printed:", printed]
        position += lines[position:].index(normal(line)) + 1
    print(f"{len(shown)} lines of output")
    return []


def check_picture(root, page, profkit):
    """Checks that the block below "(`profkit report [--full] FILE`):" consists of lines of that report, in order."""
    match = re.search(r"`profkit report ((?:--full )?)(\S+)`\):\n\n```\n(.*?)^```", (root / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not match:
        return [f"{page} has no block below '(`profkit report FILE`):'"]
    command = [profkit, "report", *match.group(1).split(), root / match.group(2)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    printed = iter(subprocess.run(command, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True, timeout=60).stdout.splitlines())
    shown = [line for line in match.group(3).splitlines() if line]
    for line in shown:
        if line not in printed:
            return [f"{page} shows a line that `profkit report {match.group(1)}{match.group(2)}` does not print, or not there: {line}"]
    print(f"{page}: {len(shown)} lines of a report")
    return []


def check_costs(root):
    """Checks that the rows under 'Overhead' match the committed results."""
    script = root / "bench/cost_ranges.py"
    done = subprocess.run([sys.executable, script, "--check", root / "README.md", root / "docs/kernels.md"], stdout=subprocess.PIPE, text=True,
                          check=False, timeout=60)
    print(done.stdout.splitlines()[-1])
    return [] if done.returncode == 0 else [f"README.md or docs/kernels.md, 'Overhead':\n{done.stdout}"]


def main():
    root = pathlib.Path(sys.argv[1])
    readme = (root / "README.md").read_text(encoding="utf-8")
    failures = check_output(readme, sys.argv[2]) + check_costs(root)
    if len(sys.argv) > 3:
        failures += [each for page in PICTURES for each in check_picture(root, page, sys.argv[3])]
    for each in failures:
        print(each)
    return 1 if failures else 0


sys.exit(main())
