#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy with the checks of .clang-tidy on one unit, with its flags in the build folder. Exits with 4 without clang-tidy.

usage: run_clang_tidy.py CLANG_TIDY BUILD UNIT [--finds CHECK]      --finds: fails unless the check reports a finding
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 4
ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("clang_tidy")
    parser.add_argument("build")
    parser.add_argument("unit")
    parser.add_argument("--finds")
    arguments = parser.parse_args()
    if not shutil.which(arguments.clang_tidy):
        print("skipped: there is no clang-tidy")
        return SKIPPED
    run = subprocess.run([arguments.clang_tidy, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "-p", arguments.build, arguments.unit], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(run.stdout)
    found = set(re.findall(r"\[([\w.-]+),-warnings-as-errors\]", run.stdout))
    if arguments.finds:
        return 0 if run.returncode != 0 and arguments.finds in found else 1
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
