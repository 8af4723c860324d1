# SPDX-License-Identifier: Apache-2.0
"""Sweeps of the tiny model on the CPU: a row per cell in every file, resuming after an interruption, and continuing after out of memory."""

import csv
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

TINY = ["--sizes", "tiny", "--ctx", "8,16", "--modes", "fwd,train", "--precisions", "fp32", "--batch", "2", "--warmup", "1", "--steps", "2"]
TINY_CELLS = [("8", "fwd"), ("8", "train"), ("16", "fwd"), ("16", "train")]
LITTLE_MEMORY = 3 * 2**30


def command(program, out, arguments):
    return [program, "sweep", "--device", "cpu", "--out", str(out), *arguments]


def settings():
    return {"text": True, "env": os.environ | {"PROFKIT": "", "OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""}}


def sweep(program, out, arguments, **more):
    done = subprocess.run(command(program, out, arguments), capture_output=True, timeout=200, **settings(), **more)
    assert done.returncode == 0, f"exit code {done.returncode}, stderr: {done.stderr}"
    return done


def rows_in(out):
    with open(out / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    objects = json.loads((out / "sweep.json").read_text())
    assert len(objects) == len(rows), (objects, rows)
    for row, values in zip(rows, objects):
        for column, cell in row.items():
            value = values[column]
            assert (value is None) == (cell == "n/a"), (column, cell, value)
            assert value is None or isinstance(value, str) and value == cell or float(cell) == value, (column, cell, value)
    return rows


def cells_of(rows):
    return [(row["ctx"], row["mode"]) for row in rows]


def check_tables(program, out):
    done = sweep(program, out, TINY)
    rows = rows_in(out)
    assert cells_of(rows) == TINY_CELLS, rows
    assert [f"[{i}/4]" in done.stderr for i in range(1, 5)] == [True] * 4 and "about 0 s left" in done.stderr, done.stderr
    for row in rows:
        assert row["status"] == "ok" and (row["size"], row["batch"], row["steps"]) == ("tiny", "2", "2"), row
        assert abs(float(row["tokens/s"]) * float(row["avg_ms"]) / 1e3 - 2 * int(row["ctx"])) < 1, row
        parts = [row[f"{phase}_ms"] for phase in ("forward", "backward", "optimizer")]
        if row["mode"] == "fwd":
            assert parts[1:] == ["n/a", "n/a"] and row["optimizer"] == "n/a", row
            parts = parts[:1]
        assert 0 < sum(map(float, parts)) <= float(row["avg_ms"]) * 1.001, row
        assert row["peak_allocated_MiB"] == "n/a", row
    markdown = (out / "sweep.md").read_text()
    assert markdown.count("| tiny |") == 2 * len(rows) and "T1, T4." in markdown and "T3." in markdown, markdown
    for row in rows:
        assert f"{row['forward_ms']} ± {row['forward_std']}" in markdown, row
    return rows


def check_resume(program, out, before):
    """Nothing is measured again, even if more cells are requested."""
    done = sweep(program, out, TINY)
    assert "4 of 4 measured before" in done.stderr and "[" not in done.stderr, done.stderr
    assert rows_in(out) == before
    done = sweep(program, out, [*TINY, "--ctx", "8,16,4,4"])
    assert "4 of 6 measured before" in done.stderr, done.stderr
    after = rows_in(out)
    assert after[:4] == before and cells_of(after[4:]) == [("4", "fwd"), ("4", "train")], after


def check_killed(program, out):
    process = subprocess.Popen(command(program, out, TINY), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **settings())
    for line in process.stderr:
        if line.startswith("[2/4]"):
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    before = rows_in(out)
    assert 2 <= len(before) < 4 and cells_of(before) == TINY_CELLS[: len(before)], before
    sweep(program, out, TINY)
    after = rows_in(out)
    assert after[: len(before)] == before and cells_of(after) == TINY_CELLS, after


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (LITTLE_MEMORY, LITTLE_MEMORY))


def check_out_of_memory(program, out):
    """The weights of 2.7B and the scores of a long context do not fit; later cells do."""
    arguments = ["--sizes", "2.7B,tiny", "--ctx", "4096,8", "--batch", "8", "--modes", "fwd", "--warmup", "0", "--steps", "1"]
    sweep(program, out, arguments, preexec_fn=limit_memory)
    rows = rows_in(out)
    found = [(row["size"], row["ctx"], row["status"], row["avg_ms"] == "n/a") for row in rows]
    assert found == [("2.7B", "4096", "OOM", True), ("2.7B", "8", "OOM", True), ("tiny", "4096", "OOM", True), ("tiny", "8", "ok", False)], found
    markdown = (out / "sweep.md").read_text()
    assert re.search(r"\| 2.7B \| fp32 \| 8 \| fwd \| 0 \| OOM \| OOM \| OOM \|", markdown), markdown


def check_refusals(program, out):
    other = out / "other"
    other.mkdir(parents=True)
    (other / "sweep.csv").write_text("size,other\ntiny,1\n")
    for folder, arguments, words in [
        (out, ["--sizes", "huge"], ["--sizes", "huge", "2.7B"]),
        (out, ["--ctx", "0"], ["--ctx", "0"]),
        (out, ["--precisions", "tf32"], ["tf32", "GPU"]),
        (other, [], ["sweep.csv", "different columns"]),
    ]:
        done = subprocess.run(command(program, folder, arguments), capture_output=True, timeout=60, **settings())
        lines = done.stderr.splitlines()
        assert done.returncode == 2 and len(lines) == 1, (arguments, done)
        assert all(word in lines[0] for word in words), (lines, words)


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = check_tables(program, folder / "tables")
        check_resume(program, folder / "tables", rows)
        check_killed(program, folder / "killed")
        check_out_of_memory(program, folder / "memory")
        check_refusals(program, folder / "refusals")


if __name__ == "__main__":
    main()
