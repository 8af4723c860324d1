#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several programs with one PROFKIT=journal=run.journal: none overwrites the journal of another one.

usage: journals.py PROGRAM CASE
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def require(truth, what):
    if not truth:
        sys.exit(f"{what}")


class Folder:
    def __init__(self, program, path):
        self.program, self.path = program, path
        self.environment = dict(os.environ, PROFKIT="journal=run.journal")

    def start(self, way, **options):
        return subprocess.Popen([self.program, way], cwd=self.path, env=self.environment, stderr=subprocess.PIPE, text=True, **options)

    def run(self, way, status=0):
        """@return the output."""
        done = subprocess.run([self.program, way], cwd=self.path, env=self.environment, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        require(done.returncode == status, f"exit status {done.returncode}: {done.stderr}")
        return done.stderr

    def journal(self, name, steps, end="complete"):
        found = subprocess.run([self.program, "count", name], cwd=self.path, stdout=subprocess.PIPE, text=True, check=True).stdout
        require(found == f"{steps} {end}\n", f"{name}: {found}, not {steps} {end}")

    def files(self):
        return sorted(path.name for path in self.path.iterdir())


def inherited(folder):
    """A program runs two helpers, which inherit the variable. Each reports once which file it writes instead."""
    said = folder.run("parent")
    names = re.findall(r"profkit: another process writes the journal run\.journal; this one writes (run\.journal\.\d+)\n", said)
    require(len(names) == 2 and len(said.splitlines()) == 2, said)
    require(folder.files() == sorted(["run.journal", *names]), folder.files())
    folder.journal("run.journal", 5)
    for name in names:
        folder.journal(name, 1)


def stale(folder):
    """A file without a writer is replaced, and its old content is kept in another file."""
    for _ in range(3):
        require(folder.run("helper") == "", "it says something")
        folder.journal("run.journal", 1)
    folder.journal("run.journal.before", 1)
    require(folder.files() == ["run.journal", "run.journal.before"], folder.files())


def killed(folder):
    """The lock ends with the process."""
    with folder.start("wait") as running:
        require(running.stderr.readline() == "ready\n", "it is not ready")
        time.sleep(0.2)  # so that its step is written
        require("another process writes" in folder.run("helper"), "the file is not locked")
        running.send_signal(signal.SIGKILL)
    require(folder.run("helper") == "", "it says something")
    folder.journal("run.journal", 1)
    folder.journal("run.journal.before", 1, "cut off")


def child_outlives(folder):
    """The child of a fork does not hold the lock of its parent, which has ended."""
    # In a separate process group: ctest would also wait for the child, which has the test's output open.
    with folder.start("leaves_child", start_new_session=True) as running:
        require(running.wait(60) == 0, "it failed")
        try:
            require(folder.run("helper") == "", "it says something")
            folder.journal("run.journal.before", 1)
        finally:
            os.killpg(running.pid, signal.SIGKILL)  # fails if the child has ended, so that the test would be meaningless
        running.stderr.close()


def many_at_once(folder):
    """Processes that start at the same time have separate files, and none is lost."""
    (folder.path / "run.journal").write_text("of a run before")
    running = [folder.start("helper") for _ in range(12)]
    for each in running:
        require(each.wait(60) == 0, each.stderr.read())
        each.stderr.close()
    names = [name for name in folder.files() if name != "run.journal.before"]
    whole = 0
    for name in names:
        folder.journal(name, 1)
        whole += 1
    # Processes in sequence replace finished files of earlier ones, and keep one.
    require(whole >= 1, folder.files())


def closed(folder):
    """The program closes unknown descriptors and opens its own file: profkit does not write to that file."""
    folder.run("closes_all")
    require((folder.path / "own file").stat().st_size == 0, "the journal is in the program's file")
    folder.journal("run.journal", 1, "cut off")


def pipe(folder):
    """A pipe without a reader is refused, without waiting."""
    os.mkfifo(folder.path / "run.journal")
    done = subprocess.run([folder.program, "helper"], cwd=folder.path, env=folder.environment, stderr=subprocess.PIPE, text=True, timeout=60,
                          check=False)
    require("cannot create the journal run.journal: " in done.stderr, done.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        globals()[sys.argv[2]](Folder(sys.argv[1], pathlib.Path(name)))
