#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If an output fails at the end of a session, the others are written, the failed one is named, and the program continues.

usage: outputs.py PROGRAM CASE
"""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

FILES = {"report.html", "report.json", "summary.profkit", "report.md", "scopes.csv", "steps.csv", "trace.json", "nvtx_pushpop_sum.csv"}
CANNOT_PRINT = "profkit: cannot print the report to standard output: "


def require(truth, what):
    if not truth:
        sys.exit(what)


def run(program, folder, profkit, stdout, prepare=None):
    """@return stderr."""
    environment = {"PROFKIT": profkit, "LLVM_PROFILE_FILE": os.devnull}  # files of coverage builds are no outputs
    done = subprocess.run([program], cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
    require(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    require("the program came to its end\n" in done.stderr, done.stderr)
    return done.stderr


def require_files(folder, missing=frozenset()):
    there = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    require(there == FILES - missing, f"these are there: {there}")


def files_first(program, folder):
    """Files are written even if the pipe of stdout has no reader."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while os.write(write, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(write, True)
    with subprocess.Popen([program], cwd=folder, env={"PROFKIT": "report,out=out"}, stdout=write, stderr=subprocess.DEVNULL) as running:
        os.close(write)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (folder / "out" / "trace.json").exists():
            time.sleep(0.01)
        try:
            require_files(folder / "out")
            require(running.poll() is None, "it printed nothing")
        finally:
            while os.read(read, 65536):
                pass
        require(running.wait() == 0, "it failed")


def closed(program, folder):
    said = run(program, folder, "report,out=out", None, lambda: os.close(1))
    require(CANNOT_PRINT + "Bad file descriptor\n" in said, said)
    require_files(folder / "out")


def full(program, folder):
    with open("/dev/full", "w") as device:
        said = run(program, folder, "report,out=out", device)
    require(CANNOT_PRINT + "No space left on device\n" in said, said)
    require_files(folder / "out")


def pipe(program, folder):
    """Like `| true`. (Python ignores SIGPIPE; the program must not.)"""
    read, write = os.pipe()
    os.close(read)
    said = run(program, folder, "report,out=out", write, lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    require(CANNOT_PRINT + "Broken pipe\n" in said, said)
    require_files(folder / "out")


def limit(program, folder):
    """Like `ulimit -f`: the signal for a file that grows beyond the limit would end the program."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    said = run(program, folder, "out=out,journal=run.journal", None, prepare)
    require("cannot write out/report.json: File too large" in said, said)
    require("out/scopes.csv" not in said, said)
    require({"scopes.csv", "steps.csv"} <= {each.name for each in (folder / "out").iterdir()}, "small files are missing")


def each_alone(program, folder):
    """Two of the files cannot be created; the others can."""
    (folder / "out" / "report.json").mkdir(parents=True)
    (folder / "out" / "scopes.csv").mkdir()
    said = run(program, folder, "out=out,trace", subprocess.DEVNULL)
    require("profkit: cannot write out/report.json: Is a directory; cannot write out/scopes.csv: Is a directory\n" in said, said)
    (folder / "out" / "report.json").rmdir()
    (folder / "out" / "scopes.csv").rmdir()
    require_files(folder / "out", {"report.json", "scopes.csv"})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        globals()[sys.argv[2]](sys.argv[1], pathlib.Path(name))
