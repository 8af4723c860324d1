#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that end while their session is active: by exit, on any thread, by a signal, by std::terminate. They end with the right status,
and write the expected report.

usage: exits.py PROGRAM CASE
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from cases import require

CODE = 7
BUSY = "exit() was called by a collector, or while profkit wrote a report"


class Run:
    def __init__(self, program, folder, way, options, send=()):
        self.folder = folder
        log = folder / "stderr"
        with open(log, "wb") as stderr, open(folder / "stdout", "wb") as stdout:
            environment = dict(os.environ, PROFKIT=options)
            if way == "fork":  # in the child, LeakSanitizer does not find what the threads of the parent hold
                environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
            # A shell without job control starts programs with SIGINT ignored.
            reset = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            self.process = subprocess.Popen([program, way], cwd=folder, env=environment, stdout=stdout, stderr=stderr, preexec_fn=reset)
            for number in send:
                self.wait_for(log, "ready\n")
                self.process.send_signal(number)
            try:
                self.status = self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                sys.exit(f"{way} with {options} hangs: {log.read_text()}")
        self.stderr = log.read_text()
        self.stdout = (folder / "stdout").read_text()
        require("Sanitizer" not in self.stderr, self.stderr)

    def wait_for(self, log, text):
        deadline = time.monotonic() + 60
        while text not in log.read_text():
            require(time.monotonic() < deadline and self.process.poll() is None, f"it is never ready: {log.read_text()}")
            time.sleep(0.01)

    def status_is(self, status):
        require(self.status == status, f"exit status {self.status}, not {status}: {self.stderr}")
        return self

    def reports(self, steps=3, abandoned=0):
        """@return the steps in the files and in the text."""
        report = json.loads((self.folder / "out" / "report.json").read_text())
        require(report["steps"]["measured"] == steps, report["steps"])
        require(report["quality"]["abandoned_steps"] == abandoned, report["quality"])
        require(self.stdout.count("\nDATA ") == 1, f"printed: {self.stdout}")
        return self

    def reports_nothing(self):
        require(not (self.folder / "out").exists() and self.stdout == "", f"there is a report: {self.stdout}")
        return self

    def journal(self, is_complete):
        data = (self.folder / "run.journal").read_bytes()
        require(data.startswith(b"profkit journal\n"), data[:20])
        require((b"last" in data) == is_complete, "the session's end is" + (" not" if is_complete else "") + " in the journal")
        return self


def each(program, options=("report,out=out", "report,out=out,journal=run.journal")):
    """A new folder for each set of options."""
    for option in options:
        with tempfile.TemporaryDirectory() as name:
            yield option, lambda way, send=(): Run(program, pathlib.Path(name), way, option, send)


def ends_with_report(program, way, abandoned):
    for options, run in each(program):
        done = run(way).status_is(CODE).reports(3, abandoned)
        require("profkit:" not in done.stderr, done.stderr)
        if "journal" in options:
            done.journal(True)


def in_step(program, way):
    ends_with_report(program, way, 1)


def static(program):
    """`exit` in a step, with a session in static memory."""
    for _ in range(3):
        in_step(program, "static")


def local(program):
    in_step(program, "local")


def static_main(program):
    for _, run in each(program):
        run("static_main").status_is(CODE).reports(3, 0)


def static_step(program):
    """A step in static memory ends before its session."""
    for _, run in each(program):
        run("static_step").status_is(CODE).reports(4, 0)


def other_threads(program):
    """A session of another thread: it ends when the thread ends, or is moved there."""
    for way in ("thread_local", "thread_local_main", "other_thread"):
        ends_with_report(program, way, 0)


def step_outlives(program):
    for _, run in each(program):
        run("step_outlives").status_is(CODE).reports(3, 1)


def in_destructor(program):
    in_step(program, "in_destructor")


def pthread_exit(program):
    """The process ends with its last thread that is not profkit's."""
    for options, run in each(program):
        done = run("pthread_exit").status_is(0).reports(3, 0)
        if "journal" in options:
            done.journal(True)


def namesake(program):
    """A child with the same process number, in another namespace, is a child."""
    for _, run in each(program):
        done = run("namesake")
        if done.status == 4:
            print(done.stderr)
            sys.exit(4)
        done.status_is(CODE).reports(3, 0)


def without_steps(program):
    for _, run in each(program):
        done = run("without_steps").status_is(CODE)
        require("work" in done.stdout and "\nDATA " in done.stdout, done.stdout)


def reported(program):
    """The program requests the report itself, and ends before the session's destructor."""
    for _, run in each(program):
        run("reported").status_is(CODE).reports(3, 0)


def worker(program):
    """`exit` on a thread while the main thread continues with its steps."""
    for way in ("worker", "static_worker", "detached"):
        for _ in range(2):
            for options, run in each(program):
                done = run(way).status_is(CODE)
                report = json.loads((done.folder / "out" / "report.json").read_text())
                require(report["steps"]["measured"] > 10, report["steps"])
                if "journal" in options:
                    done.journal(True)
        for _, run in each(program, ("", "journal=run.journal")):
            run(way).status_is(CODE).reports_nothing()


def abrupt(program):
    for way, status in (("terminate", -signal.SIGABRT), ("abort", -signal.SIGABRT), ("quick_exit", CODE), ("_exit", CODE)):
        for options, run in each(program):
            done = run(way).status_is(status).reports_nothing()
            if "journal" in options:
                done.journal(False)


def in_collector(program):
    """A collector calls `exit` on the session's own thread: no report, and no hang."""
    for _, run in each(program):
        done = run("in_collector").status_is(CODE)
        require(BUSY in done.stderr, done.stderr)


def leaves_in_collector(program):
    """A collector ends the session's own thread: no report, for a reason that is said once."""
    for _, run in each(program):
        done = run("leaves_in_collector").status_is(CODE)
        require(done.stderr.count("no report") == 1, done.stderr)
        require("profkit: no report: a collector ended the thread of the session\n" in done.stderr, done.stderr)


def exit_in_handler(program):
    for _, run in each(program):
        run("exit_in_handler", [signal.SIGTERM]).status_is(CODE).reports(3, 1)


def forked(program):
    """A child that ends by `exit` leaves the report to its parent."""
    for _, run in each(program):
        done = run("fork").status_is(CODE).reports(3, 1)
        require("profkit:" not in done.stderr, done.stderr)


def forked_in_collector(program):
    """A child that a collector forks on the session's thread, also without fork handlers, changes no file of its parent."""
    for way in ("forks_in_drain", "forks_at_end"):
        for _, run in each(program, ("report,out=out,signals=report,journal=run.journal",)):
            run(way, [signal.SIGTERM]).status_is(-signal.SIGTERM).reports(3, 0).journal(True)


def daemon(program):
    """The process with the session ends in `daemon`: the child, which continues, reports that there is no report."""
    for _, run in each(program):
        done = run("daemon").status_is(0).reports_nothing()
        deadline = time.monotonic() + 30
        log = done.folder / "stderr"
        while "which has ended. After fork() or daemon(), create the session in the process that continues" not in log.read_text():
            require(time.monotonic() < deadline, "the daemon says nothing: " + log.read_text())
            time.sleep(0.01)


def signals(program):
    """With the option there is a report, and the status is that of the signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        for options, run in each(program, ("report,out=out,signals=report", "report,out=out,signals=report,journal=run.journal")):
            done = run("wait", [number]).status_is(-number).reports(3, 1)
            if "journal" in options:
                done.journal(True)


def signals_default(program):
    """Without the option no signal is handled."""
    for number in (signal.SIGINT, signal.SIGTERM):
        for options, run in each(program):
            done = run("wait", [number]).status_is(-number).reports_nothing()
            if "journal" in options:
                done.journal(False)


def signals_own(program):
    """Handlers of the program and ignored signals do not change."""
    for _, run in each(program, ("report,out=out,signals=report",)):
        done = run("own_handler", [signal.SIGINT]).status_is(CODE).reports_nothing()
        require("own handler" in done.stderr, done.stderr)
    for _, run in each(program, ("report,out=out,signals=report",)):
        run("ignored", [signal.SIGINT, signal.SIGTERM]).status_is(-signal.SIGTERM).reports(3, 1)


def signals_twice(program):
    """A second signal ends the program immediately, even if the report is not complete."""
    for _, run in each(program, ("report,out=out,signals=report",)):
        run("wait", [signal.SIGINT, signal.SIGINT]).status_is(-signal.SIGINT)


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
