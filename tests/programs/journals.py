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

from cases import require


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
    folder.run("helper")
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


def require_state(folder, path, content):
    require(path.read_text() == content, f"{path.name} has changed; there are {folder.files()}")


def not_a_journal(folder):
    """Files that are no journals are neither renamed, replaced nor removed, also if their names are those of the other files."""
    file = folder.path / "run.journal"
    file.write_text("mine")
    for _ in range(2):
        said = folder.run("helper")
        require("cannot create the journal run.journal: it exists and is not a journal of profkit" in said, said)
        require(folder.files() == ["run.journal"], folder.files())
        require_state(folder, file, "mine")
    file.unlink()
    for other in "run.journal.before", "run.journal.before.1":
        folder.run("helper")
        (folder.path / other).write_text("mine")
        said = folder.run("helper")
        require(f"{other} exists and is not a journal of profkit" in said, said)
        require_state(folder, folder.path / other, "mine")
        folder.journal("run.journal", 1)
        (folder.path / other).unlink()
    (folder.path / "run.journal.1").write_text("mine")
    require(folder.run("helper") == "", "it says something")
    require_state(folder, folder.path / "run.journal.1", "mine")


def link(folder, program_steps=1):
    """A link stays a link: the journal, and what it was before, are beside the file that the link names."""
    (folder.path / "there").mkdir()
    (folder.path / "run.journal").symlink_to("there/real")
    for _ in range(2):
        require(folder.run("helper") == "", "it says something")
        require((folder.path / "run.journal").is_symlink(), "the link was replaced")
        folder.journal("run.journal", program_steps)
        folder.journal("there/real", program_steps)
    require(sorted(path.name for path in (folder.path / "there").iterdir()) == ["real", "real.before"], "other files")


class Long:
    """A program that fills several files, and waits in between."""

    def __init__(self, folder, *arguments):
        self.running = subprocess.Popen([folder.program, "long", *arguments], cwd=folder.path, env=folder.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self):
        require(self.running.stderr.readline() == "ready\n", "it is not ready")

    def end(self):
        """@return the state of the journal in the report."""
        printed, said = self.running.communicate("\n", timeout=60)
        require(self.running.returncode == 0, f"exit status {self.running.returncode}: {said}")
        return printed


def chdir(folder):
    """A relative name belongs to the folder of the start; files with this name elsewhere are not touched."""
    other = folder.path / "other"
    other.mkdir()
    names = ["run.journal" + end for end in ("", ".1", ".next", ".before")]
    for name in names:
        (other / name).write_text("mine")
    state = Long(folder, "other").end()
    require(state == f"written: {folder.path / 'run.journal'}\n", state)
    for name in names:
        require_state(folder, other / name, "mine")
    require(folder.files() == ["other", "run.journal", "run.journal.1"], folder.files())


def taken_names(folder):
    """The journal ends where its next file cannot be created, and nothing is lost."""
    for name in "run.journal.1", "run.journal.next":
        (folder.path / name).write_text("mine")
        state = Long(folder).end()
        reason = f"cannot create {name}: it exists and is not a journal of profkit; it holds what came before"
        require(state == f"not written: {reason}\n", state)
        require_state(folder, folder.path / name, "mine")
        (folder.path / name).unlink()


def changed(folder):
    """A journal that others remove, cut, append to, rename or replace ends, and the report says so."""
    file = folder.path / "run.journal"
    (folder.path / "in").mkdir()

    def replace():
        (folder.path / "mine").write_text("mine")
        (folder.path / "mine").rename(file)

    def append():
        with file.open("a", encoding="ascii") as to:
            to.write("mine")

    ways = {
        "run.journal was removed or replaced while the session wrote it": file.unlink,
        "run.journal was cut while the session wrote it": lambda: os.truncate(file, 100),
        "another program wrote into run.journal; it holds what came before": append,
        "run.journal was renamed while the session wrote it; it holds what came before": lambda: file.rename(folder.path / "run.other"),
    }
    for reason, change in [*ways.items(), (next(iter(ways)), replace)]:
        session = Long(folder)
        session.wait()
        change()
        state = session.end()
        require(state == f"not written: {reason}\n", f"{reason}, but {state}")
        if change is replace:
            require_state(folder, file, "mine")
        for each in folder.path.glob("run.*"):
            each.unlink()
    folder.environment["PROFKIT"] = "journal=in/run.journal"
    session = Long(folder)
    session.wait()
    (folder.path / "in").rename(folder.path / "moved")
    state = session.end()
    require(state.startswith("not written: in/run.journal was renamed while"), state)
    require(not (folder.path / "in").exists(), "the folder came back")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        globals()[sys.argv[2]](Folder(sys.argv[1], pathlib.Path(name)))
