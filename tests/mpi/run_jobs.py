#!/usr/bin/env python3
"""Runs examples/small/halo_exchange.cpp with mpirun and a rank that sleeps, and compares the report with the truth.

Exit code 4 (skipped): no mpirun.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 4
STEPS = 60
# name: rank from the end, milliseconds, scope, in every n-th step, number of other processes that compute
CASES = {
    "even": None,
    "before the exchange": (1, 10, "exchange", 1, 0),
    "after the exchange": (2, 20, "compute", 1, 0),
    "after the all-reduce": (1, 20, "advance", 1, 0),
    "in every tenth step": (2, 20, "advance", 10, 0),
    "on a busy host": (2, 20, "exchange", 1, 2),
}


@contextlib.contextmanager
def busy(count):
    """Occupies processors."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def environment_with(options):
    """Returns the environment of a job."""
    environment = dict(os.environ, PROFKIT=options)
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # More ranks than processors: idle ranks must leave theirs to others.
    environment.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1", MPIR_CVAR_POLLS_BEFORE_YIELD="1")
    return environment


def hang_fault(arguments):
    """Returns what profkit stuck says wrongly about a job with a rank that does not go on; empty if it is right."""
    late = arguments.ranks - 1
    command = [arguments.mpirun, "-n", str(arguments.ranks), arguments.program, str(late), "600000", "advance", "20"]
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_with(f"journal={folder}/app.journal,steps={STEPS}")
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True) as job:
            try:
                end = time.monotonic() + 60
                found = None
                while time.monotonic() < end and not (found and found["is_stuck"]):
                    time.sleep(1)
                    out = subprocess.run([arguments.profkit, "stuck", "--json", folder], check=False, capture_output=True, text=True)
                    found = json.loads(out.stdout) if out.returncode in (0, 1) else None
            finally:
                job.terminate()
                job.wait(30)
    if not found or not found["is_stuck"]:
        return f"not stuck: {found}"
    positions = [rank["position"] for rank in found["ranks"]]
    if len(positions) != arguments.ranks or positions[late] != "is in advance" or not all(each.startswith("waits in ") for each in positions[:late]):
        return f"{positions}: {found['sentence']}"
    print(found["sentence"])
    return ""


def report(arguments, ranks, options, processes):
    """Returns the figures of a job, and how long its slow rank slept in ms."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_with(f"out={folder}/job,warmup=5,steps={STEPS}")
        command = [arguments.mpirun, "-n", str(ranks), arguments.program, *map(str, options)]
        with busy(processes):
            printed = subprocess.run(command, env=environment, check=True, timeout=100, stdout=subprocess.PIPE, text=True).stdout
        out = subprocess.run([arguments.profkit, "report", f"{folder}/job", "--format", "json"], check=True, capture_output=True, text=True)
        slept = re.search(r"slept ([0-9.]+) ms", printed)
        return json.loads(out.stdout), float(slept[1]) if slept else 0.0


def fault(found, slept, case, ranks):
    """Returns what is wrong with the figures of a case; empty if they are right."""
    job = found["job"]
    late = job["straggler"]
    if job["matched_messages"] == 0 or job["unmatched_messages"] > 0:
        return f"{job['matched_messages']} messages matched, {job['unmatched_messages']} not"
    if case is None:
        return f"{found['straggler']} is named" if late else ""
    rank, _, scope, every, _ = case
    if not late:
        return "no rank is named"
    if late["position"] != ranks - rank or late["also"]:
        return f"rank {late['position']} is named, also {late['also']}, not {ranks - rank}"
    if late["path"] != "step/" + scope:
        return f"{late['path']} is named"
    if (late["steps"] > 0) != (every > 1):
        return f"the delay is in {late['steps']} steps"
    delay = late["delay_ms"] * (job["steps"] / late["steps"] if every > 1 else 1)
    return "" if 0.9 * slept <= delay <= 1.1 * slept + 0.3 else f"{delay:.2f} ms are named, not {slept}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--program", required=True, help="built with this MPI; empty: not built")
    parser.add_argument("--profkit", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--tries", type=int, default=3, help="on a shared machine, another process can disturb a job")
    arguments = parser.parse_args()
    if not arguments.program or shutil.which(arguments.mpirun) is None:
        print(f"skipped: {arguments.mpirun} or its mpicxx is not installed (Debian: libopenmpi-dev openmpi-bin, libmpich-dev mpich)")
        return SKIPPED
    wrong = hang_fault(arguments)
    print(f"a rank that hangs: {wrong or 'right'}", flush=True)
    faults = bool(wrong)
    for name, case in CASES.items():
        options = []
        if case:
            options = [arguments.ranks - case[0], case[1], case[2], case[3]]
        for _ in range(arguments.tries):
            wrong = fault(*report(arguments, arguments.ranks, options, case[4] if case else 0), case, arguments.ranks)
            print(f"{name}: {wrong or 'right'}", flush=True)
            if not wrong:
                break
        faults += bool(wrong)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
