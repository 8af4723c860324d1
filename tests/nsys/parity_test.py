#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nsys_parity.py accepts two equal runs, and fails for each way in which they can differ.

usage: parity_test.py NSYS_PARITY
"""
import copy
import csv
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

PROCESS = 7 << 24
MAIN, HELPER = PROCESS + 100, PROCESS + 101
FORWARD, SOFTMAX, MATMUL = 1, 2, 3

# Two steps of 1,000 ns at 0 and 2,000, the first one warm-up. Each has forward [100, 500] with softmax [200, 300] inside. In each step, the
# main thread launches a matmul and a memset in forward and a softmax in softmax. A helper thread launches a matmul outside any range.
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER,
                          uint64Value INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, globalPid INTEGER, correlationId INTEGER, mangledName INTEGER,
                                          demangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, globalPid INTEGER, correlationId INTEGER);
"""


def fill(database):
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(FORWARD, "forward"), (SOFTMAX, "softmax"), (MATMUL, "_Z6matmulPf"),
                                                                 (4, "_Z7softmaxPf"), (5, "step"), (6, "matmul(float *)"),
                                                                 (7, "softmax(float *)")])
    database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, NULL, 75, ?, ?, NULL, ?, NULL)",
                         [(0, "profkit", MAIN, 1), (0, "another", MAIN, 2)])
    for step in range(2):
        at = 2000 * step
        ranges = [(0, 1000, 5, 1), (100, 500, FORWARD, 1), (200, 300, SOFTMAX, 1), (100, 500, FORWARD, 2)]
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, ?, ?)",
                             [(at + begin, at + end, MAIN, name, domain, step) for begin, end, name, domain in ranges])
        number = 10 * step
        # A runtime launch, and inside it the driver launch with the same correlation.
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)", [
            (at + 120, at + 130, MAIN, number), (at + 122, at + 128, MAIN, number), (at + 220, at + 230, MAIN, number + 1),
            (at + 400, at + 410, MAIN, number + 2), (at + 600, at + 610, HELPER, number + 3)])
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?)", [
            (at + 150, at + 450, PROCESS, number, MATMUL, 6), (at + 450, at + 550, PROCESS, number + 1, 4, 7),
            (at + 700, at + 900, PROCESS, number + 3, MATMUL, 6)])
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, ?, ?)", (at + 550, at + 560, PROCESS, number + 2))
    database.commit()


RIGHT = {
    "report": {
        "steps": {"warmup": 1, "measured": 1},
        "kernels": [{"name": "matmul(float*)", "mangled": "_Z6matmulPf", "count": 2, "total_ms": 500e-6},
                    {"name": "softmax(float*)", "mangled": "_Z7softmaxPf", "count": 1, "total_ms": 100e-6}],
        "quality": {"collectors": [{"name": "kernels", "status": "collected", "reason": ""}]},
    },
    "spellings": {"matmul(float *)": 2, "softmax(float *)": 1},
    "ranges": {"step": 1, "forward": 1, "softmax": 1},
    "projections": {"step": 410, "forward": 410, "softmax": 100},
}


def write_csv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def compare(script, database, folder, ours):
    (folder / "report.json").write_text(json.dumps(ours["report"]), encoding="utf-8")
    write_csv(folder / "nvtx_pushpop_sum.csv", ["Instances", "Range"], [(count, f"profkit:{name}") for name, count in ours["ranges"].items()])
    write_csv(folder / "cuda_gpu_kern_sum.csv", ["Instances", "Name"], [(count, name) for name, count in ours["spellings"].items()])
    write_csv(folder / "nvtx_gpu_proj_sum.csv", ["Range", "Style", "Total Proj Time (ns)"],
              [(f"profkit:{name}", "PushPop", time) for name, time in ours["projections"].items()])
    done = subprocess.run([sys.executable, script, str(database), str(folder), "made by hand"], capture_output=True, text=True, check=False,
                          timeout=60)
    return done.returncode, done.stdout + done.stderr


def changed(change):
    ours = copy.deepcopy(RIGHT)
    change(ours)
    return ours


def set_in(*path, value):
    def change(ours):
        for key in path[:-1]:
            ours = ours[key]
        ours[path[-1]] = value

    return changed(change)


CASES = [
    ("equal", RIGHT, 0, "0 failed"),
    ("times within the bars", set_in("projections", "softmax", value=101.9), 0, "0 failed"),
    ("a kernel launched once less", set_in("report", "kernels", 0, "count", value=1), 1, "launches of `matmul(float*)` | 2 | 1 | -1 | FAIL"),
    ("another kernel name", set_in("report", "kernels", 1, "mangled", value="_Z4tanhPf"), 1, "launches of `_Z7softmaxPf` | 1 | 0 | -1 | FAIL"),
    ("a kernel spelled otherwise", changed(lambda ours: ours["spellings"].update({"matmul(float*)": ours["spellings"].pop("matmul(float *)")})), 1,
     "instances of `matmul(float *)` | 2 | 0 | -2 | FAIL"),
    ("one kernel 3 % slower", set_in("report", "kernels", 1, "total_ms", value=103e-6), 1, "2. `softmax(float*)`"),
    ("all kernels 1.5 % slower", changed(lambda ours: [each.update(total_ms=each["total_ms"] * 1.015) for each in ours["report"]["kernels"]]),
     1, "1 failed"),
    ("a range once more", set_in("ranges", "softmax", value=2), 1, "instances of `softmax` | 1 | 2 | 1 | FAIL"),
    ("a range that nsys does not have", set_in("ranges", "norm", value=1), 1, "instances of `norm` | 0 | 1 | 1 | FAIL"),
    ("a projection 3 % longer", set_in("projections", "forward", value=423), 1, "GPU projection of `forward`"),
    ("a projection that is missing", changed(lambda ours: ours["projections"].pop("softmax")), 1, "not there"),
    ("another number of steps", set_in("report", "steps", "measured", value=2), 1, "measured steps | 1 | 2 | 1 | FAIL"),
    ("no kernels", changed(lambda ours: (ours["report"].update(kernels=None),
                                         ours["report"]["quality"]["collectors"][0].update(reason="Nsight Systems uses CUPTI"))),
     2, "Nsight Systems uses CUPTI"),
]


def main():
    (script,) = sys.argv[1:]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        database = folder / "run.sqlite"
        with sqlite3.connect(database) as connection:
            fill(connection)
        for what, ours, code, words in CASES:
            found, output = compare(script, database, folder, ours)
            is_right = found == code and words in output
            failures += not is_right
            print(f"{'ok  ' if is_right else 'FAIL'} {what}: exit code {found}, expected {code} and {words!r}")
            if not is_right:
                print(output)
    return 1 if failures else 0


sys.exit(main())
