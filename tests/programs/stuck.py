#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""profkit stuck and the STUCK line of profkit watch, with programs that hang, are stopped or are killed.

usage: stuck.py PROGRAM CASE      PROFKIT_PROGRAM in the environment: the program profkit
"""
import json
import os
import re
import signal
import subprocess
import time

from cases import require, run_case, running

COVERAGE = {"LLVM_PROFILE_FILE": os.environ.get("LLVM_PROFILE_FILE", os.devnull)}  # not in the test folder
LONG_ENOUGH = 10.5  # seconds: a step is stuck after 10


def start(program, folder, *arguments, journal="run.journal", **environment):
    running.append(subprocess.Popen([program, *arguments], cwd=folder, env={"PROFKIT": f"journal={journal}", **COVERAGE, **environment}))
    return running[-1]


def profkit(folder, *arguments, code):
    done = subprocess.run([os.environ["PROFKIT_PROGRAM"], *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=60, env=COVERAGE)
    require(done.returncode == code, f"exit code {done.returncode} instead of {code}: {arguments}\n{done.stdout}{done.stderr}")
    return done


def stuck(folder, what, code):
    """@return the JSON, which must say the same as the text."""
    found = json.loads(profkit(folder, "stuck", "--json", what, code=code).stdout)
    text = profkit(folder, "stuck", what, code=code).stdout
    position = found["ranks"][0]["position"]
    if len(found["ranks"]) == 1 and "step" not in position:  # a process that runs may have begun or ended a step in between
        require(position in text, f"no '{position}' in\n{text}")
    require(found["is_stuck"] == (code == 1), found)
    return found


def wait_for(is_so, what, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        require(time.monotonic() < end, what)
        time.sleep(0.2)


def wait_until_stuck(folder, what):
    """@return the answer once the step has run for more than 10 s."""
    end = time.monotonic() + 60
    while True:
        done = subprocess.run([os.environ["PROFKIT_PROGRAM"], "stuck", "--json", what], cwd=folder, capture_output=True, text=True, timeout=60, env=COVERAGE)
        if done.returncode == 1:
            return stuck(folder, what, 1)
        require(time.monotonic() < end, f"not stuck: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        time.sleep(0.5)


def open_scopes(rank):
    return sorted([scope["scope"] for scope in thread["open"]] for thread in rank["threads"] if thread["open"])


HANGING = [["loader", "loader/decode"], ["step", "step/data", "step/data/shard_7"]]


def threads(program, folder):
    """Scopes of two threads of a hanging program; the same after kill -9; the line of watch."""
    process = start(program, folder, "threads")
    found = wait_until_stuck(folder, str(process.pid))["ranks"][0]
    require(found["state"] == "running" and found["process"] == process.pid, found)
    require(open_scopes(found) == HANGING, found)
    require(found["last_step"] == 19 and found["step"] == 20 and found["step_s"] > 10.0, found)
    require(0.005 < found["usual_step_s"] < 1.0, found)
    require(found["position"] == "is in data/shard_7", found)
    main = next(thread for thread in found["threads"] if thread["id"] == process.pid)
    require(main["state"] == "S", main)
    require("STUCK" in profkit(folder, "watch", "--once", "run.journal", code=0).stdout, "watch does not show it")
    time.sleep(2)  # the journal of a dead process tells a second less
    size = (folder / "run.journal").stat().st_size
    process.kill()
    process.wait()
    killed = stuck(folder, "run.journal", 1)["ranks"][0]
    require(killed["state"] == "process is gone" and "it last was in data/shard_7" in killed["position"], killed)
    require(open_scopes(killed) == HANGING and killed["step_s"] > 10.0, killed)
    require(size < 100_000, f"a journal of {size} bytes for 20 steps")
    report = profkit(folder, "report", "--format", "json", "run.journal", code=0).stdout
    require(json.loads(report)["steps"]["measured"] == 18, "open scopes change figures")


def job(program, folder):
    """One of four ranks does not arrive at a collective, which others have entered."""
    (folder / "job").mkdir()
    ranks = [start(program, folder, "job", "barrier", journal="job/app.journal", RANK=str(i), WORLD_SIZE="4", LOCAL_RANK=str(i)) for i in range(4)]
    found = wait_until_stuck(folder, "job")
    said = re.fullmatch(r"step 20 takes \d+ s, [\d,]+ times its usual [\d.]+.ms: "
                        r"ranks 0 to 2 wait in all_reduce 20/backward since (\d+) s; rank 3 is in data", found["sentence"])
    require(said and int(said.group(1)) >= 10, found["sentence"])
    wait, = found["collective_waits"]
    require((wait["waiting_ranks"], wait["missing_ranks"], wait["ranks_without_journal"]) == ([0, 1, 2], [3], 0), wait)
    require(wait["function"] == "all_reduce" and wait["sequence"] == 20 and wait["group"] == "world", wait)
    for rank in found["ranks"]:
        last, = rank["last_collectives"]
        require((last["sequence"], last["is_finished"]) == ((19, True) if rank["rank"] == 3 else (20, False)), rank)
    require(re.search(r"STUCK +step 20, \d+ s: ranks 0 to 2 wait in all_reduce 20/backward", profkit(folder, "watch", "--once", "job", code=0).stdout),
            "watch does not show it")
    # Without the journal of the late rank, its place is unknown.
    (folder / "job/app.journal.rank3").rename(folder / "elsewhere")
    require(stuck(folder, "job", 1)["sentence"].endswith("; 1 of the 4 ranks of world has no journal here"), "the missing journal is not named")
    (folder / "elsewhere").rename(folder / "job/app.journal.rank3")
    ranks[1].send_signal(signal.SIGSTOP)
    ranks[3].kill()
    ranks[3].wait()
    found = stuck(folder, "job", 1)
    require([rank["state"] for rank in found["ranks"]] == ["running", "stopped (SIGSTOP)", "running", "process is gone"], found)
    require("rank 3 is gone (it last was in data)" in found["sentence"] and "rank 1 is stopped (SIGSTOP); it waits" in found["sentence"], found["sentence"])
    require(found["collective_waits"][0]["missing_ranks"] == [3], found)


def eight(program, folder):
    """The last of eight ranks does not arrive: watch says so within seconds, and stuck after ten."""
    (folder / "job").mkdir()
    for rank in range(8):
        start(program, folder, "job", "barrier", journal="job/app.journal", RANK=str(rank), WORLD_SIZE="8", LOCAL_RANK=str(rank))
    journals = [folder / f"job/app.journal.rank{rank}" for rank in range(8)]
    wait_for(lambda: all(each.exists() and each.stat().st_size > 0 for each in journals), "no journals")
    where = r"ranks 0 to 6 wait in all_reduce 20/backward since [\d.]+ s; rank 7 is in data"
    wait_for(lambda: re.search(rf"STUCK +step 20, [\d.]+ s: {where}", profkit(folder, "watch", "--once", "job", code=0).stdout), "watch does not show it")
    found = wait_until_stuck(folder, "job")
    require(re.fullmatch(rf"step 20 takes \d+ s, [\d,]+ times its usual [\d.]+.ms: {where}", found["sentence"]), found["sentence"])
    wait, = found["collective_waits"]
    require((wait["waiting_ranks"], wait["missing_ranks"], wait["ranks_without_journal"]) == (list(range(7)), [7], 0), wait)
    require(len(found["ranks"]) == 8 and all(each["is_stuck"] and each["last_step"] == 19 for each in found["ranks"]), found["ranks"])


def stopped(program, folder):
    """A healthy program is not stuck; stopped in a step, it is."""
    process = start(program, folder, "healthy")
    wait_for(lambda: (folder / "run.journal").exists() and (folder / "run.journal").stat().st_size > 0, "no journal")
    wait_for(lambda: (stuck(folder, str(process.pid), 0)["ranks"][0]["last_step"] or 0) > 2, "no steps")
    healthy = stuck(folder, "run.journal", 0)
    require(healthy["ranks"][0]["state"] == "running" and healthy["collective_waits"] == [], healthy)
    require("STUCK" not in profkit(folder, "watch", "--once", "run.journal", code=0).stdout, "watch calls it stuck")
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: stuck(folder, "run.journal", 0)["ranks"][0]["state"] == "stopped (SIGSTOP)", "it is not stopped")
    require("is stopped (SIGSTOP)" in profkit(folder, "stuck", process.pid, code=0).stdout, "the text does not say so")
    found = wait_until_stuck(folder, "run.journal")  # its session is stopped, too: the journal does not say what is open
    last = found["ranks"][0]["last_step"]
    require(re.fullmatch(rf"step {last + 1} takes \d+ s, [\d,]+ times its usual [\d.]+.ms: process {process.pid} is stopped \(SIGSTOP\) after step {last}"
                         r" since \d+ s", found["sentence"]), found["sentence"])
    require(re.search(rf"STUCK +step {last + 1}, \d+ s: process {process.pid} is stopped", profkit(folder, "watch", "--once", "run.journal", code=0).stdout),
            "watch does not show it")
    process.send_signal(signal.SIGCONT)
    ask = [os.environ["PROFKIT_PROGRAM"], "stuck", "--json", "run.journal"]  # at first, the step is open and has taken long
    wait_for(lambda: (done := subprocess.run(ask, cwd=folder, capture_output=True, timeout=60, env=COVERAGE, check=False)).returncode == 0
             and json.loads(done.stdout)["ranks"][0]["last_step"] > last + 2, "it does not go on")


def first(program, folder):
    """Without an ended step, nothing says what is usual."""
    start(program, folder, "first")
    wait_for(lambda: (folder / "run.journal").exists() and b"open" in (folder / "run.journal").read_bytes(), "no open scopes in the journal")
    time.sleep(LONG_ENOUGH)
    found = stuck(folder, "run.journal", 0)["ranks"][0]
    require(open_scopes(found) == HANGING and found["usual_step_s"] is None and found["last_step"] is None, found)
    require(found["step_s"] > 10.0, found)


def bad_input(program, folder):
    """Process ids, files and folders without a journal."""
    (folder / "text").write_text("no journal\n")
    (folder / "empty").write_bytes(b"")
    (folder / "folder").mkdir()
    other = subprocess.Popen(["sleep", "60"], cwd=folder)
    running.append(other)
    gone = subprocess.Popen(["true"], cwd=folder)
    gone.wait()
    for what, said in [(other.pid, f"process {other.pid} (sleep): it writes no journal; start programs with PROFKIT=journal=FILE"),
                       (gone.pid, f"process {gone.pid}: does not exist"), ("nowhere", "nowhere: does not exist"), ("text", "text: is not a journal"),
                       ("empty", "empty: it has no session yet"), ("folder", "folder: has no journal"), ("folder/text", "folder/text: does not exist")]:
        done = profkit(folder, "stuck", what, code=2)
        require(said in done.stderr and done.stdout == "", f"{what}: {done.stderr}")
    profkit(folder, "stuck", code=2)


def cut_journals(program, folder):
    """Every beginning of a journal either has a standing or is refused with a reason; so has a journal with other bytes."""
    process = start(program, folder, "threads")
    wait_for(lambda: (folder / "run.journal").exists() and (folder / "run.journal").read_bytes().count(b"open") >= 2, "no open scopes in the journal")
    process.kill()
    process.wait()
    whole = (folder / "run.journal").read_bytes()
    at = whole.index(b"open") + 4
    sizes = sorted({*range(0, 60, 7), *range(at - 40, at + 60, 9), *range(0, len(whole), len(whole) // 25), len(whole)})
    codes = []
    for size in sizes:
        (folder / "cut").write_bytes(whole[:size])
        done = subprocess.run([os.environ["PROFKIT_PROGRAM"], "stuck", "cut"], cwd=folder, capture_output=True, text=True, timeout=60, env=COVERAGE)
        require(done.returncode in (0, 2) and (done.returncode == 2) == done.stderr.startswith("profkit: cut: "), f"{size} bytes: {done.returncode} {done.stderr}")
        codes.append(done.returncode)
    require(codes == sorted(codes, reverse=True) and codes[0] == 2 and codes[-1] == 0, codes)
    damaged = bytearray(whole)
    damaged[at + 8] ^= 0xFF
    (folder / "cut").write_bytes(damaged)
    require(open_scopes(stuck(folder, "cut", 0)["ranks"][0]) == [], "a damaged frame counts")


if __name__ == "__main__":
    run_case(globals())
