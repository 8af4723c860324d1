#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with invalid values in its environment reports them once on stderr, and completes.

usage: environment.py PROGRAM CASE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from cases import require

END = "the program came to its end\n"


def run(program, folder, profkit):
    """@return stdout and stderr, without the last line of the program."""
    done = subprocess.run([program], cwd=folder, env={"PROFKIT": profkit}, capture_output=True, text=True, timeout=60)
    require(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    require(done.stderr.endswith(END), done.stderr)
    return done.stdout, done.stderr[:-len(END)]


def bad_key(program, folder):
    printed, said = run(program, folder, "report,step=5,out=out")
    require(said.startswith('profkit: PROFKIT: unknown key "step=5". Did you mean "steps"? Valid keys: off, '), said)
    require(said.endswith(". This program runs without profkit, as with PROFKIT=off\n") and said.count("\n") == 1, said)
    require(printed == "" and not (folder / "out").exists(), printed)


def bad_value(program, folder):
    printed, said = run(program, folder, "report,warmup=some")
    require(said.startswith('profkit: PROFKIT: bad value in "warmup=some": it takes a whole number from 0. Valid keys: off, '), said)
    require(said.count("\n") == 1 and printed == "", said)


def small_journal(program, folder):
    _, said = run(program, folder, "journal=small,journal_size=16KiB")
    require(said.startswith('profkit: PROFKIT: bad value in "journal_size=16KiB": it takes a size from 1MiB to 1024GiB'), said)


def folder_of_journal(program, folder):
    printed, said = run(program, folder, "report,journal=missing/journal")
    reason = "PROFKIT: cannot create the journal missing/journal: No such file or directory"
    require(said == f"profkit: {reason}. The session continues without it\n", said)
    require(f"journal: not written ({reason})" in " ".join(printed.split()) and "\nwork " in printed, printed)


def many_steps(program, folder):
    """The program ends the loop itself, 4 steps after an overflow of the number would have ended it."""
    _, said = run(program, folder, "steps=18446744073709551615,warmup=5")
    require("8 steps\n" in said, said)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        globals()[sys.argv[2]](sys.argv[1], pathlib.Path(name))
