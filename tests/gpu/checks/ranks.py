#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of two ranks on two GPUs: they train as one process, the report names the slow rank and no other, each kernel of NCCL has its
collective, the collector costs little, and a captured step reduces gradients too.

As a program it runs from programs that are already built, writes ranks.json, ranks.md, reports.txt, slow.html and ranks.log, and stops in time:

    python3 tests/gpu/checks/ranks.py --trainer transformer_train --profkit profkit --out DIR [--torch-checks torch_checks] [--seconds 150]

With --device cpu: a short run over Gloo without figures of time, to see that the script works.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import csv
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks.programs import FAILURES, ROOT, Checks, environment, loop_ms, program_in, text_of

RANKS = 2
REPETITIONS = 5  # of the runs whose sentence is checked
OF_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")

# The results of a trainer run: its folder, and the output of rank 0.
Done = collections.namedtuple("Done", "folder printed")


class Failed(RuntimeError):
    pass


def free_port():
    """@return a free port below the ephemeral range, because NCCL and Gloo open many connections meanwhile."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return str(port)


class Job:
    """Starts the programs, and remembers how long a run takes."""

    def __init__(self, trainer, profkit, out, device="cuda", seconds=None, torch_checks=None):
        self.trainer, self.profkit, self.torch_checks = trainer, profkit, torch_checks
        self.out, self.device, self.is_dry = out, device, device == "cpu"
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="profkit-ranks-"))
        self.begin, self.seconds, self.taken = time.monotonic(), seconds, []

    def left(self):
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - self.begin)

    def has_time_for(self, runs):
        """@return the duration of a run; an estimate until the first one is over."""
        each = statistics.mean(self.taken) if self.taken else 3.0 if self.is_dry else 12.0
        return 1.1 * runs * each < self.left()

    def start(self, command, variables, name):
        environment_of = {key: value for key, value in os.environ.items() if key not in OF_RANK}
        environment_of |= {"PROFKIT": "", "OMP_NUM_THREADS": "1"} | variables
        log = open(self.work / f"{name}.log", "w", encoding="utf-8")
        with log:
            return subprocess.Popen([str(word) for word in command], env=environment_of, stdout=log, stderr=subprocess.STDOUT)

    def wait(self, processes, names):
        """@raises Failed if a process fails, or if they do not end in time"""
        usual = max(30.0, 3.0 * max(self.taken)) if self.taken else 90.0
        limit = time.monotonic() + min(usual, max(10.0, self.left()))
        try:
            while any(each.poll() is None for each in processes) and time.monotonic() < limit:
                if any(each.poll() not in (None, 0) for each in processes):
                    limit = min(limit, time.monotonic() + 3.0)  # the others wait for it
                time.sleep(0.05)
            codes = [each.poll() for each in processes]
        finally:
            for each in processes:
                each.kill()
        printed = [(self.work / f"{name}.log").read_text(encoding="utf-8", errors="replace") for name in names]
        with open(self.out / "ranks.log", "a", encoding="utf-8") as log:
            for name, code, text in zip(names, codes, printed):
                log.write(f"== {name}: {'did not end' if code is None else f'exit code {code}'}\n{text}\n")
        if any(codes):
            at = next(i for i, code in enumerate(codes) if code)
            raise Failed(f"{names[at]}: exit code {codes[at]}: {' '.join(printed[at].strip().splitlines()[-2:])[-400:]}")
        if None in codes:
            raise Failed(f"{names[codes.index(None)]}: did not end in time")
        return printed[0]

    @contextlib.contextmanager
    def timed(self):
        begin = time.monotonic()
        yield
        self.taken.append(time.monotonic() - begin)

    def options(self, size, ctx, precision, batch, warmup, steps):
        return ["--device", self.device, "--size", size, "--ctx", ctx, "--precision", precision, "--batch", batch, "--mode", "train", "--seed", "0",
                "--warmup", warmup, "--steps", steps]

    def two(self, name, options, variables=None, under=lambda rank: []):
        """Runs on both GPUs, with the variables that torchrun sets.
        @param under the command of a rank that runs the trainer"""
        folder, where = self.work / name, {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()} | (variables or {})
        names = [f"{name}-{rank}" for rank in range(RANKS)]
        with self.timed():
            processes = [self.start([*under(rank), self.trainer, *options, "--out", folder], where | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                                    names[rank]) for rank in range(RANKS)]
            return Done(folder, self.wait(processes, names))

    def by_torchrun(self, name, options):
        folder = self.work / name
        command = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", RANKS, "--master-port", free_port(),
                   self.trainer, *options, "--out", folder]
        with self.timed():
            return Done(folder, self.wait([self.start(command, {}, name)], [name]))

    def one_each(self, runs):
        """Concurrent runs of one process each, on separate GPUs."""
        with self.timed():
            processes = [self.start([self.trainer, *options, "--out", self.work / name], {"CUDA_VISIBLE_DEVICES": str(gpu)}, name)
                         for gpu, (name, options) in enumerate(runs.items())]
            self.wait(processes, list(runs))
        return {name: Done(self.work / name, (self.work / f"{name}.log").read_text(encoding="utf-8")) for name in runs}

    def report(self, done, *more):
        ran = subprocess.run([str(self.profkit), "report", str(done.folder), *map(str, more)], capture_output=True, text=True, check=False, timeout=60)
        if ran.returncode != 0:
            raise Failed(f"profkit report: exit code {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout

    def summary(self, done):
        """@return the figures of all ranks. Stores the text of the report."""
        with open(self.out / "reports.txt", "a", encoding="utf-8") as file:
            file.write(f"== {done.folder.name}\n{self.report(done)}\n")
        return json.loads(self.report(done, "--format", "json"))["job"]


def losses_in(folder):
    with open(folder / "losses.csv", encoding="utf-8", newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b)) if len(a) == len(b) and a else float("inf")


def nccl_kernels(nsys, report, in_graphs=False):
    """@param in_graphs only kernels of CUDA graphs
    @return the durations of NCCL kernels in ns, in the order of their starts."""
    database = report.with_suffix(".sqlite")
    subprocess.run([nsys, "export", "--type=sqlite", "--force-overwrite=true", f"--output={database}", str(report)], capture_output=True, check=True, timeout=60)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return [time for (time,) in connection.execute(
            f"""SELECT kernel.end - kernel.start FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel JOIN StringIds AS name ON name.id = kernel.shortName
               WHERE name.value LIKE 'ncclDevKernel%' {"AND kernel.graphNodeId IS NOT NULL" if in_graphs else ""} ORDER BY kernel.start""")]


def named(job):
    found = job["straggler"]
    if not found:
        return "no rank holds the others up"
    name = job["ranks"][found["position"]]["name"]
    what = "GPU time" if found["is_gpu_time"] else "host time" if found["is_host_only"] else "GPU idle time"
    return f"{name}, {found['path'] or 'outside any scope'}, {found['excess_ms']:.3f} ms more {what} in a step of {job['step_ms']:.2f} ms"


class Ranks:
    """The checks in order of importance. The docstring of each is its name in the table."""

    def __init__(self, checks, job):
        self.checks, self.job, self.table, self.eager, self.title = checks, job, [], None, ""
        self.even_jobs, self.graph_jobs, self.nsys_program = [], [], shutil.which(os.environ.get("NSYS", "nsys"))
        if job.is_dry:
            self.paced = self.small = self.medium = job.options("tiny", 16, "fp32", 1, 2, 10)
        else:
            self.paced = job.options("small", 512, "fp32", 8, 5, 20)  # the GPU sets the pace, also on a slow host
            self.small, self.medium = (job.options(size, 512, "bf16", 8, 5, 20) for size in ("small", "medium"))

    def all(self, after=lambda: None, on_busy_host=False):
        """@param after is called after each check
        @param on_busy_host only the checks whose host is kept busy"""
        gpu_only = not self.job.is_dry
        checks = ((1, False, self.slow_gpu), (1, False, self.one_percent), (1, False, self.even), (1, False, self.same_training),
                  (1, False, self.hidden_delay), (3, False, self.torchrun_and_scaling), (2, True, self.nsys), (1, True, self.graph),
                  (2, False, self.hung), (2, True, self.nsys_of_graphs), (1, True, self.model_checks), (4, True, self.cost))
        for runs, needs_gpu, check in ((1, False, self.busy_even), (1, False, self.busy_slow)) if on_busy_host else checks:
            title = self.title = check.__doc__
            if needs_gpu and not gpu_only:
                self.checks.add(title, None, "not run: needs two GPUs")
            elif not self.job.has_time_for(runs):
                self.checks.add(title, None, f"not run: {self.job.left():.0f} s left")
            else:
                try:
                    check()
                except FAILURES as failure:
                    self.checks.add(title, False, f"{failure.__class__.__name__}: {failure}")
            after()

    def judged(self, passed):
        """Times are not judged in a dry run."""
        return None if self.job.is_dry else passed

    def repeated(self, name, options, repetitions=REPETITIONS):
        """Runs until the repetitions are done or the time is short. @return the results of each run, and its figures."""
        done = []
        while not done or (not self.job.is_dry and len(done) < repetitions and self.job.has_time_for(1)):
            results = self.job.two(f"{name}{len(done)}", [*self.paced, *options])
            done.append((results, self.job.summary(results)))
        return done

    def add_repeated(self, rights, sentences):
        """Adds the row of a check that ran several times."""
        self.checks.add(self.title, self.judged(all(rights)), f"{sum(rights)} of {len(rights)} runs: {'; '.join(sentences)}")

    def delayed(self, name, wanted):
        """@param wanted ms that the forward pass of rank 1 takes longer
        @return the runs, and of each whether its sentence is right within 10 %"""
        what = "host" if self.job.is_dry else "gpu"

        def is_right(job):
            found = job["straggler"]
            return (bool(found) and job["ranks"][found["position"]]["rank"] == 1 and found["path"].startswith("step/forward") and
                    abs(found["excess_ms"] - wanted) <= 0.1 * wanted and (self.job.is_dry or found["is_gpu_time"]))

        runs = self.repeated(name, ["--slow-rank", f"1:{wanted:g}:{what}:forward"])
        return runs, [is_right(job) for _, job in runs]

    def slow_gpu(self):
        """a GPU that is slower by 3 ms a step is named, with its scope and its milliseconds within 10 %"""
        runs, rights = self.delayed("slow", 30.0 if self.job.is_dry else 3.0)
        self.job.report(runs[0][0], "--html", self.job.out / "slow.html")
        self.add_repeated(rights, [named(job) for _, job in runs])
        self.collectives(runs[0][1])

    def one_percent(self):
        """a GPU that is slower by 1 ms, 1 % of a step, is named, with its scope and its milliseconds within 10 %"""
        runs, rights = self.delayed("percent", 30.0 if self.job.is_dry else 1.0)
        self.add_repeated(rights, [named(job) for _, job in runs])

    @contextlib.contextmanager
    def busy_host(self):
        """A busy loop for each processor."""
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        try:
            yield
        finally:
            for each in loops:
                each.kill()
                each.wait()

    def busy_even(self):
        """on a busy host, of two even ranks none is named in 20 runs"""
        with self.busy_host():
            jobs = [job for _, job in self.repeated("busy", [], repetitions=20)]
        counts = collections.Counter(named(job) for job in jobs)
        steps = sorted(job["step_ms"] for job in jobs)
        self.checks.add(self.title, all(job["straggler"] is None for job in jobs),
                        f"{'; '.join(f'{count} of {len(jobs)}: {sentence}' for sentence, count in counts.items())}; "
                        f"steps of {steps[0]:.1f} to {steps[-1]:.1f} ms")

    def busy_slow(self):
        """on a busy host, a GPU that is slower by 3 ms is named, or nobody"""
        with self.busy_host():
            runs, rights = self.delayed("busy-slow", 30.0 if self.job.is_dry else 3.0)
        self.checks.add(self.title, self.judged(all(right or job["straggler"] is None for right, (_, job) in zip(rights, runs))),
                        f"named in {sum(rights)} of {len(runs)} runs: {'; '.join(named(job) for _, job in runs)}")

    def collectives(self, job):
        counts = {key: job[key] for key in ("matched", "incomplete", "contradictory", "unknown")}
        self.checks.add("each collective of NCCL's kernels is known on both ranks", counts["matched"] > 0 and sum(counts.values()) == counts["matched"],
                        ", ".join(f"{name} {count}" for name, count in counts.items()) + f"; problems: {job['problems'] or 'none'}")
        if self.job.is_dry:
            return  # on CPUs the scopes of collectives may overlap
        waits = [each["waiting_ms"] or 0.0 for each in job["ranks"]]  # null: below the clocks' bound
        off = [abs(wait + each["transfer_ms"] - each["communication_ms"]) * 1e6 for wait, each in zip(waits, job["ranks"])]
        times = "; ".join(f"{each['name']} {wait:.6f} + {each['transfer_ms']:.6f} = {each['communication_ms']:.6f} ms"
                          for wait, each in zip(waits, job["ranks"]))
        self.checks.add("waiting and transfer add up to the time of the collectives", max(off) < 1.0, f"{times}; off by {max(off):.3f} ns")

    def even(self):
        """of two even ranks, none holds the others up"""
        runs = self.repeated("even", [])
        self.even_jobs = [job for _, job in runs]
        self.add_repeated([job["straggler"] is None for job in self.even_jobs], [named(job) for job in self.even_jobs])

    def hidden_delay(self):
        """a host that is slower by 3 ms, which the queue of its GPU hides, is not called a straggler"""
        runs = self.repeated("hidden", ["--slow-rank", "1:3:host:data"])
        sentences = []
        for _, job in runs:
            slow = job["slow_host"]
            remark = f"slowest host: {job['ranks'][slow['position']]['name']}, {slow['pace_ms']:.2f} ms a step" if slow else "no slowest host"
            sentences.append(f"{named(job)}, {remark}")
        self.add_repeated([job["straggler"] is None for _, job in runs], sentences)

    def same_training(self):
        """two ranks train as one process with twice the batch, with equal parameters"""
        size, ctx = ("tiny", 16) if self.job.is_dry else ("small", 128)
        one = ("one", self.job.options(size, ctx, "fp32", 4, 2, 18))
        # All runs at the same time, because no time matters here.
        with self.job.timed():
            process = self.job.start([self.job.trainer, *one[1], "--out", self.job.work / "one"], {"CUDA_VISIBLE_DEVICES": "0"}, "one")
            two = self.job.two("two", self.job.options(size, ctx, "fp32", 2, 2, 18))
            self.job.wait([process], ["one"])
        self.job.taken.pop()  # the inner one counts
        losses, wanted = losses_in(two.folder / "rank0"), losses_in(self.job.work / "one")
        off = largest_difference(losses, wanted)
        is_equal = f"parameters: equal on all {RANKS} ranks, to the last bit" in two.printed
        self.checks.add(self.title, is_equal and len(losses) == 20 and off <= 1e-5,
                        f"{size}/{ctx}/fp32, {len(losses)} steps; losses differ by at most {off:.2e} of their value; parameters "
                        f"{'equal to the last bit' if is_equal else 'DIFFER'}; first and last loss {losses[0]:.6f}, {losses[-1]:.6f}")

    def torchrun_and_scaling(self):
        """torchrun starts the ranks; the table of scaling"""
        try:
            self.eager, failure = self.job.by_torchrun("torchrun", self.small), None
        except Failed as found:
            self.eager, failure = self.job.two("small", self.small), found
        job = self.job.summary(self.eager)
        self.checks.add("torchrun starts the ranks", failure is None and len(job["ranks"]) == RANKS and job["matched"] > 0,
                        str(failure) if failure else f"{len(job['ranks'])} ranks, {job['matched']} collectives")
        self.add_row("small", job, self.eager)
        if not self.job.is_dry:
            medium = self.job.two("medium", self.medium)
            self.add_row("medium", self.job.summary(medium), medium)
            for name, done in self.job.one_each({"small": self.small, "medium": self.medium}).items():
                self.table.append({"size": name, "gpus": 1, "step_ms": loop_ms(done.printed), "exposed_ms": 0.0, "bus_gb_s": None})
        self.table.sort(key=lambda row: (row["size"], row["gpus"]))
        for row in self.table:
            alone = next((each["step_ms"] for each in self.table if each["size"] == row["size"] and each["gpus"] == 1), None)
            row["tokens_per_s"] = 8 * 512 * row["gpus"] / row["step_ms"] * 1e3
            row["efficiency"] = alone / row["step_ms"] if alone else None
        self.checks.add("scaling", None, "; ".join(f"{row['size']}/512/bf16 on {row['gpus']}: {row['step_ms']:.2f} ms" for row in self.table))

    def add_row(self, size, job, done):
        if self.job.is_dry:
            return
        known = [each for each in job["collectives"] if each["bus_bytes_per_s"]]
        largest = max(known, key=lambda each: each["bytes"] * each["per_step"], default=None)
        exposed = sum(part["ms"] for part in job["budget"] if part["name"].startswith("exposed"))
        self.table.append({"size": size, "gpus": RANKS, "step_ms": loop_ms(done.printed), "exposed_ms": exposed,
                           "bus_gb_s": largest["bus_bytes_per_s"] * 1e-9 if largest else None, "bytes": largest["bytes"] if largest else None})

    def graph(self):
        """a captured step of two ranks trains as an eager one"""
        done = self.job.two("graph", [*self.small, "--graph"])
        is_equal = f"parameters: equal on all {RANKS} ranks" in done.printed
        job = self.job.summary(done)
        eager = losses_in(self.eager.folder / "rank0") if self.eager else []
        off = largest_difference(losses_in(done.folder / "rank0"), eager)
        # In bf16, with embedding gradients, whose order of addition differs from run to run.
        self.checks.add(self.title, is_equal and off < 2e-2,
                        f"parameters {'equal' if is_equal else 'DIFFER'}; losses differ by at most {off:.2e} of the eager ones; "
                        f"{loop_ms(done.printed):.2f} ms a step, eager {loop_ms(self.eager.printed) if self.eager else float('nan'):.2f}")
        counts = {key: job[key] for key in ("matched", "incomplete", "contradictory", "unknown")}
        per_step = sum(each["per_step"] for each in job["collectives"])
        self.checks.add("each collective of a replayed graph is known on both ranks", job["matched"] > 20 * RANKS and job["unknown"] == 0 and
                        job["incomplete"] == 0 and job["straggler"] is None,
                        ", ".join(f"{name} {count}" for name, count in counts.items()) + f"; {per_step:.4g} a step; {named(job)}")
        self.graph_jobs = [job]
        self.add_row("small, graph", job, done)

    def hung(self):
        """stuck names the rank that is stopped, and the collective that the other one waits in"""
        folder = self.job.work / "hung"
        folder.mkdir()
        size, ctx = ("tiny", 16) if self.job.is_dry else ("small", 128)
        where = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "PROFKIT": f"journal={folder / 'run.journal'}"}
        processes = [self.job.start([self.job.trainer, *self.job.options(size, ctx, "fp32", 4, 2, 1_000_000), "--out", folder / "out"],
                                    where | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, f"hung-{rank}") for rank in range(RANKS)]
        found, is_stopped, limit = {}, False, time.monotonic() + min(90.0, max(10.0, self.job.left()))
        try:
            while not found.get("is_stuck") and time.monotonic() < limit and all(each.poll() is None for each in processes):
                time.sleep(0.5)
                asked = subprocess.run([str(self.job.profkit), "stuck", "--json", str(folder)], capture_output=True, text=True, check=False, timeout=60)
                found = json.loads(asked.stdout) if asked.stdout else {}
                if not is_stopped and len(found.get("ranks", [])) == RANKS and all((each["last_step"] or 0) > 10 for each in found["ranks"]):
                    processes[1].send_signal(signal.SIGSTOP)
                    is_stopped = True
        finally:
            for each in processes:
                each.kill()
            for each in processes:
                each.wait()
        (self.job.out / "stuck.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        sentence = found.get("sentence") or "nothing hangs"
        self.checks.add(self.title, bool(found.get("is_stuck")) and re.search(r"rank 0 waits in all_?reduce", sentence, re.IGNORECASE) is not None and
                        "rank 1 is stopped (SIGSTOP)" in sentence, sentence)

    def model_checks(self):
        """the model of two ranks on GPUs computes the gradients of one process"""
        if self.job.torch_checks is None:
            self.checks.add(self.title, None, "not run: no torch_checks")
            return
        where = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        names = [f"model-{rank}" for rank in range(RANKS)]
        processes = [self.job.start([self.job.torch_checks, "model", "ranks", "cuda"], where | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, names[rank])
                     for rank in range(RANKS)]
        printed = self.job.wait(processes, names)
        self.checks.add(self.title, True, " ".join(printed.strip().splitlines()[-1:]) or "exit code 0")

    def nsys(self):
        """transfer is within 2 % of what Nsight Systems measures for the rank that starts last"""
        self.against_nsys("nsys", self.even_jobs, self.paced)

    def nsys_of_graphs(self):
        """transfer in a replayed graph is within 2 % of what Nsight Systems measures for the rank that starts last"""
        self.against_nsys("nsys_graph", self.graph_jobs, [*self.small, "--graph"], in_graphs=True)

    def against_nsys(self, name, jobs, options, in_graphs=False):
        """Nsight Systems must see the capture of a graph; the replays of the measured steps are the last ones."""
        if self.nsys_program is None or not jobs:
            self.checks.add(self.title, None, "not run: no nsys" if jobs else "not run: no report of two even ranks")
            return
        theirs, counts, steps = [], set(), int(options[options.index("--steps") + 1])
        traced = ["--cuda-graph-trace=node"] if in_graphs else ["--capture-range=nvtx", "--nvtx-capture=measure_loop@profkit", "--capture-range-end=stop"]
        while len(theirs) < min(3, len(jobs)) and (not theirs or self.job.has_time_for(1.5)):
            reports = [self.job.work / f"{name}{len(theirs)}-{rank}.nsys-rep" for rank in range(RANKS)]
            self.job.two(f"{name}{len(theirs)}", options, {"PROFKIT": "kernels=off"}, lambda rank: [
                self.nsys_program, "profile", "-t", "cuda,nvtx", *traced, "--sample=none", "--cpuctxsw=none", f"--output={reports[rank]}"])
            with concurrent.futures.ThreadPoolExecutor(RANKS) as pool:
                times = list(pool.map(lambda report: nccl_kernels(self.nsys_program, report, in_graphs), reports))
            if in_graphs:
                measured = round(steps * sum(each["per_step"] for each in jobs[0]["collectives"]))
                times = [of_rank[-measured:] for of_rank in times]
            counts.update(map(len, times))
            # The kernel of the last rank to start does not wait.
            theirs.append(sum(map(min, *times)) * 1e-6 / steps)
        ours = [statistics.mean(each["transfer_ms"] for each in job["ranks"]) for job in jobs]
        off = statistics.median(ours) / statistics.median(theirs) - 1.0
        shown = [", ".join(f"{each:.4f}" for each in values) for values in (ours, theirs)]
        self.checks.add(self.title, len(counts) == 1 and abs(off) <= 0.02,
                        f"{100.0 * off:+.2f} % between the medians of runs; ms a step: {shown[0]}; Nsight Systems {shown[1]}; "
                        f"{' and '.join(map(str, sorted(counts)))} kernels in {steps} steps on each rank")

    def cost(self):
        """the collector of NCCL costs under 1 % of a step"""
        times = {"plugin": [], "none": []}
        for turn in range(5):
            if turn > 0 and not self.job.has_time_for(2):
                break
            for kind in ("plugin", "none") if turn % 2 == 0 else ("none", "plugin"):
                done = self.job.two(f"{kind}{turn}", self.paced, {} if kind == "plugin" else {"NCCL_PROFILER_PLUGIN": "none"})
                times[kind].append(loop_ms(done.printed))
        medians = {kind: statistics.median(each) for kind, each in times.items()}
        ratio = medians["plugin"] / medians["none"] - 1.0
        shown = "; ".join(f"{kind} {', '.join(f'{each:.2f}' for each in values)}" for kind, values in times.items())
        self.checks.add(self.title, ratio < 0.01 if len(times["none"]) >= 3 else None,
                        f"{100.0 * ratio:+.2f} % between medians of {len(times['none'])} alternating runs, ms a step: {shown}")


def page_of(rows, table, facts):
    lines = ["# Two ranks on two GPUs", "", "Command: `tests/gpu/checks/ranks.py`. Each rank trains with batch 8 unless stated.", ""]
    lines += [f"* {name}: {value}" for name, value in facts.items()]
    lines += ["", "| check | result | figures |", "|---|---|---|"]
    lines += [f"| {name} | {state} | {figures} |" for name, state, figures in rows]
    if table:
        lines += ["", "| model, context, precision | GPUs | step ms | tokens/s | of linear scaling | exposed communication ms | bus GB/s |",
                  "|---|--:|--:|--:|--:|--:|--:|"]
        for row in table:
            share = f"{100.0 * row['efficiency']:.1f} %" if row.get("efficiency") else "n/a"
            bus = f"{row['bus_gb_s']:.1f}" if row["bus_gb_s"] else "n/a"
            tokens = f"{row['tokens_per_s']:,.0f}" if "tokens_per_s" in row else "n/a"
            lines.append(f"| {row['size']}, 512, bf16 | {row['gpus']} | {row['step_ms']:.2f} | {tokens} | {share} | {row['exposed_ms']:.2f} | {bus} |")
    return "\n".join(lines) + "\n"


def write_results(out, rows, table, facts):
    checks = [dict(zip(("name", "state", "figures"), row)) for row in rows]
    (out / "ranks.json").write_text(json.dumps({"environment": facts, "checks": checks, "scaling": table}, indent=2) + "\n", encoding="utf-8")
    (out / "ranks.md").write_text(page_of(rows, table, facts), encoding="utf-8")


def has_two_gpus():
    return text_of("nvidia-smi", "-L").count("GPU ") >= RANKS


def check_ranks(checks, place):
    """The test that also runs on CPUs; with one GPU the reduction of a single rank over NCCL. With two GPUs all of this file."""
    script = ROOT / "examples" / "transformer_train" / "tests" / "ranks_run.py"
    trainer, torch_checks = program_in(place.build, "transformer_train"), program_in(place.build, "torch_checks")
    done = subprocess.run([sys.executable, script, trainer, torch_checks, "cuda"], capture_output=True, text=True, check=False, timeout=600)
    (place.out / "ranks_run.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip().splitlines()
    checks.add("two GPUs train as one process with twice the batch, with equal parameters", done.returncode == 0,
               f"exit code {done.returncode}: {lines[-1][:300] if lines else 'no output'}")
    if not has_two_gpus():
        checks.add("ranks on two GPUs", None, "not run: needs two GPUs")
        return
    first, job = len(checks.rows), Job(trainer, program_in(place.build, "profkit"), place.out, torch_checks=torch_checks)
    ranks = Ranks(checks, job)
    ranks.all()
    shutil.rmtree(job.work, ignore_errors=True)
    write_results(place.out, checks.rows[first:], ranks.table, environment())


def check_ranks_busy(checks, place):
    """Two ranks on a host with a busy loop for each processor."""
    if not has_two_gpus():
        checks.add("ranks on a busy host", None, "not run: needs two GPUs")
        return
    job = Job(program_in(place.build, "transformer_train"), program_in(place.build, "profkit"), place.out)
    Ranks(checks, job).all(on_busy_host=True)
    shutil.rmtree(job.work, ignore_errors=True)


def check_nccl(checks, place):
    """Messages, and collectives of several communicators in CUDA graphs. On one GPU the ranks connect by sockets."""
    package = importlib.util.find_spec("nvidia")
    libraries = [pathlib.Path(each) / "nccl/lib/libnccl.so.2" for each in package.submodule_search_locations] if package else []
    library = next((each for each in libraries if each.exists()), "libnccl.so.2")
    job = Job(None, program_in(place.build, "profkit"), place.out)
    done = Done(job.work / "profile", "")
    command = [program_in(place.build, "profkit_gpu_programs"), "nccl_ranks", library, job.work]
    shared = {"WORLD_SIZE": str(RANKS), "PROFKIT": f"warmup=3,steps=30,out={done.folder}"}
    names, processes = [f"nccl-{rank}" for rank in range(RANKS)], []
    for rank, name in enumerate(names):
        sockets = {} if has_two_gpus() else {"NCCL_SOCKET_IFNAME": "lo", "NCCL_HOSTID": f"host{rank}"}
        processes.append(job.start(command, shared | sockets | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, name))
    job.wait(processes, names)
    found = job.summary(done)
    shutil.rmtree(job.work, ignore_errors=True)
    counts = {key: found[key] for key in ("matched", "matched_messages", "incomplete", "contradictory", "unknown", "unmatched_messages")}
    steps, with_short_lived = 33, 10
    # The messages of the first step may have no launch, because the captured graph exists.
    checks.add("NCCL: messages and collectives of three communicators, also in a replayed graph, are known on both ranks",
               counts["matched"] == 3 * steps + with_short_lived and counts["matched_messages"] >= 2 * (steps - 1) and
               counts["matched_messages"] + counts["unmatched_messages"] == 2 * steps and
               counts["incomplete"] == counts["contradictory"] == counts["unknown"] == 0,
               ", ".join(f"{name} {count}" for name, count in counts.items()) +
               "; collectives a step: " + ", ".join(f"{each['path']} {each['per_step']:.4g}" for each in found["collectives"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=pathlib.Path, required=True, help="transformer_train")
    parser.add_argument("--profkit", type=pathlib.Path, required=True, help="the program profkit")
    parser.add_argument("--torch-checks", type=pathlib.Path, help="torch_checks; without it that check is skipped")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where results go")
    parser.add_argument("--seconds", type=float, help="starts nothing that would end later; default: no limit")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--busy", action="store_true", help="only the checks of a busy host")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ("ranks.log", "reports.txt"):
        (given.out / name).unlink(missing_ok=True)
    checks = Checks()
    facts = concurrent.futures.ThreadPoolExecutor(1).submit(environment)  # imports PyTorch meanwhile
    job = Job(given.trainer.resolve(), given.profkit.resolve(), given.out, given.device, given.seconds,
              given.torch_checks.resolve() if given.torch_checks else None)
    ranks = Ranks(checks, job)
    try:
        ranks.all(lambda: write_results(given.out, checks.rows, ranks.table, facts.result()), given.busy)
    finally:
        shutil.rmtree(job.work, ignore_errors=True)
    return 1 if any(state == "FAIL" for _, state, _ in checks.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
