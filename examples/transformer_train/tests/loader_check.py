# SPDX-License-Identifier: Apache-2.0
"""The command `loader` with the tiny model on the CPU: its tables and files, losses that do not depend on the number of workers, resuming,
and invalid arguments."""

import csv
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

CTX, BATCH, STEPS, WORK_US = 16, 2, 3, 2000
KEY = {"size": "tiny", "ctx": str(CTX), "batch": str(BATCH), "mode": "train", "precision": "fp32", "warmup": "1"}
NO_GPU = ["gpu_busy_percent", "gpu_idle_percent", "data_idle_ms", "data_idle_percent"]
SMALL = ["--size", "tiny", "--ctx", str(CTX), "--batch", str(BATCH), "--warmup", "1", "--device", "cpu"]
BAD_INPUT = 2


def limit_threads():
    """Too little memory for the stacks of 256 threads, enough for the tiny model."""
    resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))


def start(program, arguments, profkit="", **settings):
    environment = os.environ | {"PROFKIT": profkit, "OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, "loader", *arguments], capture_output=True, text=True, timeout=200, env=environment, **settings)


def run(program, out, arguments, profkit=""):
    done = start(program, [*SMALL, "--out", str(out), *arguments], profkit)
    assert done.returncode == 0, f"{done.args}: exit code {done.returncode}, stderr: {done.stderr}"
    print(done.stdout, done.stderr)
    assert "T12." in done.stdout and "T12." in (out / "loader.md").read_text()
    with open(out / "loader.csv") as file:
        rows = list(csv.DictReader(file))
    in_json = json.loads((out / "loader.json").read_text())
    assert [row["workers"] for row in rows] == [str(row["workers"]) for row in in_json], (rows, in_json)
    return done, rows


def check_row(row, workers, work, steps):
    assert row.items() >= (KEY | {"workers": workers, "work_us": work, "steps": str(steps), "status": "ok"}).items(), row
    assert all(row[column] == "n/a" for column in NO_GPU), row
    epoch, step = float(row["epoch_s"]), float(row["step_ms"])
    assert abs(step / 1e3 * steps - epoch) < 1e-3 and abs(float(row["samples/s"]) * epoch / (BATCH * steps) - 1) < 1e-2, row


def check_report(folder, row, workers, steps):
    report = json.loads((folder / "report.json").read_text())
    scopes = {scope["path"]: scope for scope in report["scopes"]}
    assert report["steps"]["measured"] == steps and report["quality"]["dropped_events"] == 0, report["quality"]
    data = scopes["step/data"]
    assert data["count"] == steps and abs(data["host_mean_ms"] - float(row["data_ms"])) < 1e-3, (data, row)
    assert scopes["step/data/fetch batch"]["count"] == steps, scopes.keys()
    work_ms = int(row["work_us"]) / 1e3
    path = "step/data/fetch batch/decode" if workers == 0 else "decode"
    decode = scopes[path]
    assert decode["host_min_ms"] >= work_ms, (decode, "a sample takes the work that was asked for")
    trace = json.loads((folder / "trace.json").read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    loaders = {(event["pid"], event["tid"]) for event in events if event.get("name") == "thread_name" and event["args"]["name"].startswith("loader")}
    decoding = {(event["pid"], event["tid"]) for event in events if event.get("name") == "decode"}
    if workers == 0:
        assert decode["count"] == BATCH * steps, decode
        assert data["host_total_ms"] >= BATCH * steps * work_ms, (data, "the thread that trains does the work")
        assert not loaders and len(decoding) == 1, (loaders, decoding)
    else:
        assert "step/data/fetch batch/decode" not in scopes, "the workers decode"
        # Nothing is counted between steps or before the epoch.
        assert 0 < decode["count"] <= BATCH * steps, decode
        assert decoding and decoding <= loaders, (loaders, decoding)


def check_epochs(program, folder, data):
    out = folder / "out"
    arguments = ["--data", str(data), "--work", str(WORK_US), "--steps-per-epoch", str(STEPS)]
    done, rows = run(program, out, [*arguments, "--workers", "0,2"])
    assert [row["workers"] for row in rows] == ["0", "2"], rows
    for row in rows:
        check_row(row, row["workers"], str(WORK_US), STEPS)
        check_report(out / f"workers_{row['workers']}_work_{WORK_US}", row, int(row["workers"]), STEPS)
    assert rows[0]["loss"] == rows[1]["loss"], ("the order of the windows depends on the number of workers", rows)
    assert 0 < float(rows[0]["loss"]) < 12, rows

    # Existing rows are kept, new ones are added.
    done, again = run(program, out, [*arguments, "--workers", "2,0,3"])
    assert "2 of 3 measured before" in done.stderr and again[:2] == rows and [row["workers"] for row in again] == ["0", "2", "3"], again
    assert again[2]["loss"] == rows[0]["loss"], again
    done, other = run(program, out, [*arguments, "--workers", "2", "--seed", "1"])
    assert len(other) == 4 and other[3]["loss"] != rows[0]["loss"], ("another seed is another order", other)
    text = data.read_text()
    data.write_text(text + "?")
    done, other = run(program, out, [*arguments, "--workers", "2"])
    data.write_text(text)
    assert len(other) == 5 and other[4]["text"] != rows[0]["text"], ("another text is measured anew", other)


def check_whole_text(program, folder, data):
    """Without a number of steps, the epoch has all windows of the text. A character of several bytes is one token. With PROFKIT=off the epoch
    is still timed."""
    characters = len(data.read_text())
    short = folder / "short.txt"
    short.write_text(data.read_text()[: BATCH * CTX * 2 + CTX + 1])
    assert characters > len(short.read_text()) and len(short.read_bytes()) > len(short.read_text())
    steps = (len(short.read_text()) - 1) // CTX // BATCH
    assert steps == 2
    arguments = ["--data", str(short), "--workers", "1", "--mode", "fwd"]
    _, rows = run(program, folder / "whole", arguments, profkit="off")
    (row,) = rows
    assert (row["steps"], row["mode"], row["optimizer"], row["data_ms"]) == (str(steps), "fwd", "n/a", "n/a"), row
    assert float(row["epoch_s"]) > 0, row


def check(done, words):
    what = f"{' '.join(done.args[2:])}: exit code {done.returncode}, stderr: {done.stderr!r}"
    print(what)
    assert done.returncode == BAD_INPUT, what
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), f"{what}; expected one line with {words}"


def check_refusals(program, folder, data):
    (folder / "tiny.txt").write_text("x" * (BATCH * CTX))
    given = ["--data", str(data)]
    cases = [
        (["--steps-per-epoch", "1000000"], ["--steps-per-epoch 1000000", "generated text"]),
        (["--data", str(folder / "absent.txt")], ["--data", "absent.txt", "cannot be read"]),
        (["--data", str(folder)], ["--data", "directory"]),
        (["--data", str(folder / "tiny.txt")], ["--data", "tiny.txt", "one batch of 2", "32 characters", "--ctx 16: 1"]),
        ([*given, "--steps-per-epoch", "100000"], ["--steps-per-epoch 100000", "too short", "batches of 2: "]),
        ([*given, "--steps-per-epoch", "0"], ["--steps-per-epoch"]),
        ([*given, "--workers", "257"], ["--workers", "257"]),
        ([*given, "--workers=-1"], ["--workers", "-1"]),
        ([*given, "--workers", "two"], ["--workers", "two"]),
        ([*given, "--work=-1"], ["--work", "-1"]),
    ]
    for arguments, words in cases:
        check(start(program, [*SMALL, *arguments]), words)
    many = [*SMALL, *given, "--mode", "fwd", "--steps-per-epoch", "1", "--workers", "256"]
    check(start(program, many, preexec_fn=limit_threads), ["--workers", "threads"])


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "text.txt"
        data.write_text("".join(f"Zeile {i}: größer wäre schöner, {i * i % 97} €.\n" for i in range(80)), encoding="utf-8")
        check_epochs(program, folder, data)
        check_whole_text(program, folder, data)
        check_refusals(program, folder, data)


if __name__ == "__main__":
    main()
