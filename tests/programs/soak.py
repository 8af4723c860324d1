#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job that is captured again and again, while its ranks are stopped, killed and restarted: figures are right, nothing is lost, and
neither memory nor files grow.

usage: soak.py PROGRAM job [SECONDS [RANKS [PERIOD]]]     PROGRAM: profkit_controlled; default: 40 s, 4 ranks, a capture every 5 s
       PROFKIT_PROGRAM in the environment: the program profkit
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from cases import require, run_case
from control import Session, files_of, steps_of, wait_until

KIB = 1024
WARMUP = 2  # of the program
SCOPES = ("step", "step/outer", "step/outer/work", "step/outer/layer_0", "step/outer/layer_1", "step/outer/layer_2", "step/outer/wait")
# The first file of a journal that a kill cuts off while it is replaced may stay until the next one.
FILES = re.compile(r"app\.journal(\.rank\d+)?(\.1|\.before|\.before\.1|\.next)?|m\.rank\d+\.prom|STEPS\.\d+|out")
counts = collections.Counter()


class Rank:
    """A rank of the job, whose process changes."""

    def __init__(self, program, folder, number, size, journal_mib):
        self.program, self.folder, self.number, self.size, self.journal_mib = program, folder, number, size, journal_mib
        self.before = {}  # of the latest process: what must not grow
        self.start()

    def start(self):
        self.session = Session(self.program, self.folder, "rank", f"control,steps=forever,journal=job/app.journal,journal_size={self.journal_mib}MiB,"
                               "keep=last:50,metrics=job/m.prom,out=job/out", RANK=str(self.number), WORLD_SIZE=str(self.size))
        self.began = time.monotonic()
        self.before = {}

    @property
    def pid(self):
        return self.session.pid

    def steps(self):
        """The number of steps that have ended, according to the program."""
        file = self.folder / f"STEPS.{self.pid}"
        return int.from_bytes(file.read_bytes(), sys.byteorder) if file.exists() else 0

    def use(self):
        """Descriptors, threads and KiB of memory."""
        of_process = pathlib.Path(f"/proc/{self.pid}")
        resident = int(re.search(r"VmRSS:\s+(\d+) kB", (of_process / "status").read_text()).group(1))
        return {"files": len(files_of(self.pid)), "threads": len(list((of_process / "task").iterdir())), "KiB": resident}

    def check_use(self):
        """Descriptors and threads are those of the beginning. Memory has grown by at most 20 MiB, for records that wait for their window, and
        400 bytes for each of the first 65,536 steps, whose times the session keeps."""
        use = self.use()
        age = time.monotonic() - self.began
        if not self.before:
            if age > 3:
                self.before = use
            return
        # A capture or a file that is just being replaced holds descriptors.
        wait_until(lambda: self.use()["files"] <= self.before["files"], lambda: f"rank {self.number}: {self.before} -> {self.use()}", 20)
        require(use["threads"] <= self.before["threads"], f"rank {self.number}: {self.before} -> {use}")
        bound = 20 * KIB + 400 * min(self.steps(), 65536) // KIB
        require(use["KiB"] <= self.before["KiB"] + bound, f"rank {self.number} after {age:.0f} s and {self.steps()} steps: {self.before} -> {use}")
        counts["growth KiB"] = max(counts["growth KiB"], use["KiB"] - self.before["KiB"])
        counts["resident KiB"] = max(counts["resident KiB"], use["KiB"])

    def is_stopped(self):
        return all((each / "stat").read_text().rpartition(") ")[2][0] == "T" for each in pathlib.Path(f"/proc/{self.pid}/task").iterdir())

    def wait_for_steps(self, more):
        wanted = self.steps() + more
        wait_until(lambda: self.steps() >= wanted, f"rank {self.number} has no {more} steps more", 100)


class Job:
    def __init__(self, program, folder, size, journal_mib):
        self.folder, self.journal_mib = folder, journal_mib
        (folder / "job").mkdir()
        self.ranks = [Rank(program, folder, number, size, journal_mib) for number in range(size)]
        for each in self.ranks:
            each.session.reaches(5)

    def profkit(self, *words, code=0):
        return self.ranks[0].session.profkit(*words, code=code)

    def check_report(self, folder, first, last):
        """The figures of a capture are those of its steps."""
        count = last - first + 1
        report, steps = steps_of(folder)
        require(steps == (first, last) and report["steps"]["measured"] == count, (folder, steps, first, last, report["steps"]))
        found = {scope["path"]: scope["count"] for scope in report["scopes"]}
        require(found == {path: count for path in SCOPES if path in found} and set(found) >= set(SCOPES[1:]), found)
        loss, = report["counters"]
        require((loss["count"], loss["min"], loss["last"]) == (count, 0.5 * first, 0.5 * last), (loss, first, last))
        require(report["memory"]["host"]["resident"]["samples"] == count, report["memory"])
        arena, = report["allocators"]
        expected = {"first_bytes": 1088 * KIB, "last_bytes": 1088 * KIB, "max_bytes": 1152 * KIB, "unknown_releases": 0, "reused_addresses": 0}
        require({key: arena[key] for key in expected} == expected, arena)
        per_second = 7e3 / report["steps"]["mean_ms"]
        require(0.5 < report["steps"]["items_per_second"] / per_second < 1.0001, (report["steps"]["items_per_second"], per_second))  # with the loop
        require(report["quality"]["dropped_events"] == 0, report["quality"])
        return report

    def capture(self, live, samples=False):
        """20 steps of all ranks that run."""
        out = f"part{counts['captures']}"
        words = ["capture", "job", "--steps", 20, "--trace", "--out", out] + (["--samples", "500Hz"] if samples else [])
        text = self.profkit(*words)
        found = {int(rank): (int(pid), int(first), int(last))
                 for pid, rank, first, last in re.findall(r"^process (\d+), rank (\d+): steps (\d+) to (\d+)$", text, re.MULTILINE)}
        require({rank: pid for rank, (pid, _, _) in found.items()} == {each.number: each.pid for each in live}, text)
        for rank, (_, first, last) in found.items():
            require(last == first + 19, text)
            report = self.check_report(self.folder / out / (f"rank{rank}" if len(found) > 1 else "."), first, last)
            require(bool(report.get("samples")) == samples, report.get("samples"))
            counts["steps captured"] += 20
        counts["captures"] += 1
        subprocess.run(["rm", "-r", str(self.folder / out)], check=True)

    def snapshot(self, rank):
        """A report so far has all steps from before it, and none from after it."""
        before = rank.steps()
        self.profkit("snapshot", rank.pid, "--out", "now")
        measured = json.loads((self.folder / "now/report.json").read_text())["steps"]["measured"]
        require(before - WARMUP <= measured <= rank.steps() - WARMUP, (before, measured, rank.steps()))
        counts["snapshots"] += 1

    def stop(self, rank, seconds):
        """profkit stuck names the rank while it is stopped; the others can be captured."""
        began = time.monotonic()
        os.kill(rank.pid, signal.SIGSTOP)
        wait_until(rank.is_stopped, "it does not stop")
        text = subprocess.run([os.environ["PROFKIT_PROGRAM"], "stuck", "job"], cwd=self.folder, capture_output=True, text=True, check=False).stdout
        require(re.search(rf"\brank {rank.number} is stopped \(SIGSTOP\)", text), text)
        require(f"{rank.pid} " in self.profkit("ps"), "ps does not list it")
        self.capture([each for each in self.ranks if each is not rank])
        if seconds > 10:
            time.sleep(max(0.0, seconds - (time.monotonic() - began)))
            found = json.loads(self.profkit("stuck", "job", "--json", code=1))
            require([each["rank"] for each in found["ranks"] if each["state"] != "running"] == [rank.number], found)
            require(f"rank {rank.number} is stopped (SIGSTOP)" in found["sentence"], found["sentence"])
            require("STUCK" in self.profkit("watch", "--once", "job"), "watch does not show it")
            counts["stops beyond 10 s"] += 1
        os.kill(rank.pid, signal.SIGCONT)
        rank.wait_for_steps(3)
        counts["stops"] += 1

    def kill(self, rank):
        """The journal of a killed rank has all steps but the last; the next process begins anew."""
        journal = f"job/app.journal.rank{rank.number}"
        rank.wait_for_steps(10)
        safe = rank.steps()
        time.sleep(1.0)
        rank.session.process.kill()
        rank.session.process.communicate()
        ended = rank.steps()
        report = json.loads(self.profkit("report", "--format", "json", journal))
        measured = report["steps"]["measured"]
        require(safe - WARMUP <= measured <= ended + 1 - WARMUP, (safe, measured, ended))
        counts["steps lost by kills"] = max(counts["steps lost by kills"], ended - WARMUP - measured)
        found = {scope["path"]: scope["count"] for scope in report["scopes"]}
        require(all(measured <= found[path] <= measured + 1 for path in SCOPES[1:]), (measured, found))
        loss, = report["counters"]
        require(measured <= loss["count"] <= measured + 1 and loss["min"] == 0.5 * WARMUP, (measured, loss))
        stuck = json.loads(subprocess.run([os.environ["PROFKIT_PROGRAM"], "stuck", "job", "--json"], cwd=self.folder, capture_output=True, text=True,
                                          check=False).stdout)
        require([each["state"] for each in stuck["ranks"] if each["rank"] == rank.number] == ["process is gone"], stuck)
        old = rank.session
        require(old.path.exists(), "its socket is gone")
        require(not re.search(rf"^ *{old.pid} ", self.profkit("ps"), re.MULTILINE) and not old.path.exists(), "ps lists it")
        (self.folder / f"STEPS.{old.pid}").unlink()
        rank.start()
        rank.session.reaches(20)
        stuck = json.loads(self.profkit("stuck", "job", "--json"))
        require([(each["process"], each["state"]) for each in stuck["ranks"] if each["rank"] == rank.number] == [(rank.pid, "running")], stuck)
        require(re.search(rf"^ *{rank.pid} ", self.profkit("ps"), re.MULTILINE), "ps does not list it")
        counts["kills"] += 1

    def check_files(self):
        for each in (self.folder / "job").iterdir():
            require(FILES.fullmatch(each.name), f"a file is left: {each.name}")
        sockets = sorted(each.name for each in (self.folder / "run/profkit").iterdir())
        require(sockets == sorted(str(each.pid) for each in self.ranks), sockets)
        size = sum(each.stat().st_size for each in (self.folder / "job").glob("app.journal*"))
        counts["journals KiB"] = max(counts["journals KiB"], size // KIB)
        # As much again for that of a killed process. A file has at most a frame more than half of the size.
        require(size <= len(self.ranks) * 2.1 * self.journal_mib * 1024 * KIB, f"journals of {size} bytes")

    def end(self):
        """All steps are in the reports, and no socket or temporary file is left."""
        for each in self.ranks:
            each.session.end()
        for each in self.ranks:
            steps = each.steps()
            report = json.loads((self.folder / f"job/out/rank{each.number}/report.json").read_text())
            require(report["steps"]["measured"] == steps - WARMUP, (steps, report["steps"]))
            found = {scope["path"]: scope["count"] for scope in report["scopes"]}
            require(all(found[path] == steps - WARMUP for path in SCOPES[1:]), (steps, found))
            loss, = report["counters"]
            require((loss["count"], loss["last"]) == (steps - WARMUP, 0.5 * (steps - 1)), (steps, loss))
            require(report["quality"]["dropped_events"] == 0 and report.get("samples") is None, report["quality"])
            samples = (self.folder / f"job/m.rank{each.number}.prom").read_text()
            require(re.search(rf'^profkit_steps_total\{{.*kind="measured".*\}} {steps - WARMUP}$', samples, re.MULTILINE), samples)
            counts["steps"] += steps
        require(not list((self.folder / "run/profkit").iterdir()), "a socket is left")
        left = sorted(each.name for each in (self.folder / "job").iterdir() if not FILES.fullmatch(each.name))
        require(not left, f"files are left: {left}")
        merged = self.profkit("report", "job/out")
        require(f"{len(self.ranks)} ranks" in merged, merged)


def job(program, folder):
    seconds, size, period = (float(text) for text in (sys.argv[3:] + ["40", "4", "5"][len(sys.argv) - 3:]))
    end = time.monotonic() + seconds
    # Files are replaced several times. Their figures, about 60 bytes a step, must fit into a quarter of the size.
    run = Job(program, folder, int(size), 1 if seconds <= 40 else 16)
    turn = 0
    while time.monotonic() < end:
        next_turn = time.monotonic() + period
        run.capture(run.ranks, samples=turn % 2 == 1)
        rank = run.ranks[turn % len(run.ranks)]
        if turn % 3 == 0:
            run.stop(rank, 12 if turn % 6 == 0 else 0)
        elif turn % 3 == 1:
            run.kill(rank)
        else:
            run.snapshot(rank)
        for each in run.ranks:
            each.check_use()
        run.check_files()
        turn += 1
        time.sleep(max(0.0, min(next_turn, end) - time.monotonic()))
    run.end()
    print(dict(counts))


if __name__ == "__main__":
    run_case(globals())
