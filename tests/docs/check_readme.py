#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md shows what its program prints, except for the figures; its first picture is what `profkit report` prints for a recorded
profile, figures included; and its rows of cost are those of docs/results.

usage: check_readme.py ROOT PROGRAM [PROFKIT]     PROFKIT: the program `profkit`; without it the picture is not compared
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
    line = re.sub(r"^(95 % interval of the mean) .*", r"\1", line)
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


def check_picture(root, readme, profkit):
    """The lines of the first block, in order. Each is printed by the command above the block."""
    match = re.search(r"`profkit report (\S+)`\):\n\n```\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    if not match:
        return ["README.md has no block below '(`profkit report FILE`):'"]
    printed = iter(subprocess.run([profkit, "report", root / match.group(1)], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.splitlines())
    shown = [line for line in match.group(2).splitlines() if line]
    print(f"{len(shown)} lines of the picture")
    return [f"README.md shows a line that `profkit report {match.group(1)}` does not print, or not there: {line}" for line in shown if line not in printed]


def check_costs(root):
    """The rows under 'What it costs' are those that the committed results give."""
    script = root / "scripts/lib/cost_ranges.py"
    done = subprocess.run([sys.executable, script, "--check", root / "README.md", root / "docs/kernels.md"], stdout=subprocess.PIPE, text=True,
                          check=False, timeout=60)
    print(done.stdout.splitlines()[-1])
    return [] if done.returncode == 0 else [f"README.md or docs/kernels.md, 'What it costs':\n{done.stdout}"]


def main():
    root = pathlib.Path(sys.argv[1])
    readme = (root / "README.md").read_text(encoding="utf-8")
    failures = check_output(readme, sys.argv[2]) + check_costs(root)
    if len(sys.argv) > 3:
        failures += check_picture(root, readme, sys.argv[3])
    for each in failures:
        print(each)
    return 1 if failures else 0


sys.exit(main())
