# SPDX-License-Identifier: Apache-2.0
"""The commands attention and silu on the CPU: their rows, resuming after an interruption, running out of memory, and invalid arguments."""

import csv
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

BAD_INPUT = 2

# The same limit on every machine, as on one with little memory.
LITTLE_MEMORY = 3 << 30

FEW_STEPS = ["--warmup", "1", "--steps", "3"]
SMALL_ATTENTION = ["--d-models", "8,4", "--seq-lens", "16,8", "--batch", "2", "--precisions", "fp32,bf16", *FEW_STEPS]
SMALL_SILU = ["--rows", "16", "--columns", "32", *FEW_STEPS]


def command_of(program, command, out, arguments):
    # Hides any GPU.
    environment = os.environ | {"PROFKIT": "", "OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""}
    return {"args": [program, command, *arguments, *(["--out", str(out)] if out else [])], "env": environment, "text": True}


def run(program, command, out, arguments, **settings):
    done = subprocess.run(**command_of(program, command, out, arguments), capture_output=True, timeout=200, **settings)
    print(f"{' '.join(done.args[1:])}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def succeed(program, command, out, arguments, **settings):
    done = run(program, command, out, arguments, **settings)
    assert done.returncode == 0, done
    return done


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def measured_cells(done):
    return [line for line in done.stderr.splitlines() if line.startswith("[")]


def check_attention_rows(program, out):
    done = succeed(program, "attention", out, SMALL_ATTENTION)
    assert len(measured_cells(done)) == 16, done.stderr
    rows = rows_of(out / "attention.csv")
    keys = [(row["seq_len"], row["d_model"], row["precision"], row["impl"]) for row in rows]
    expected = [(t, d, p, i) for t in ("8", "16") for d in ("4", "8") for p in ("fp32", "bf16") for i in ("naive", "fused")]
    assert keys == expected, f"from small to large: {keys}"
    for row in rows:
        assert (row["batch"], row["warmup"], row["steps"], row["status"]) == ("2", "1", "3", "ok"), row
        for column in ("forward_ms", "forward_std", "backward_ms", "backward_std"):
            assert float(row[column]) >= 0, (column, row)
        assert row["before_backward_MiB"] == row["peak_allocated_MiB"] == "n/a", f"the CPU has no allocator of LibTorch's with statistics: {row}"
        assert row["backend"] in ({"n/a"} if row["impl"] == "naive" else {"flash", "math"}), row
        assert row["device"].startswith("CPU"), row
    in_json = json.loads((out / "attention.json").read_text())
    assert [row["forward_ms"] for row in in_json] == [float(row["forward_ms"]) for row in rows], in_json
    assert in_json[0]["peak_allocated_MiB"] is None, in_json[0]

    # Rows are sorted by size, starting with the dimension of the head.
    text = (out / "attention.md").read_text()
    assert text in done.stdout, done.stdout
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith(("| 4 ", "| 8 "))]
    times, ratios = lines[:16], lines[16:]
    assert [line[:2] for line in times[::4]] == [["4", "8"], ["4", "16"], ["8", "8"], ["8", "16"]], times
    assert len(ratios) == 8, f"a line for each size and precision: {ratios}"
    by_key = {(row["d_model"], row["seq_len"], row["precision"], row["impl"]): row for row in rows}
    for d_model, length, batch, precision, forward, *_ in ratios:
        naive, fused = (float(by_key[d_model, length, precision, impl]["forward_ms"]) for impl in ("naive", "fused"))
        assert forward == ("n/a" if fused == 0 else f"{naive / fused:.2f}"), (forward, naive, fused)


def check_resuming(program, out):
    before = (out / "attention.csv").read_bytes()
    done = succeed(program, "attention", out, SMALL_ATTENTION)
    assert not measured_cells(done) and "16 of 16 measured before" in done.stderr, done.stderr
    assert (out / "attention.csv").read_bytes() == before
    # Only new configurations are measured.
    more = ["--d-models", "4,8", "--seq-lens", "16,24", "--batch", "2", "--precisions", "fp32,bf16", "--impls", "fused", *FEW_STEPS]
    done = succeed(program, "attention", out, more)
    assert len(measured_cells(done)) == 4, done.stderr
    rows = rows_of(out / "attention.csv")
    assert (out / "attention.csv").read_bytes().startswith(before) and len(rows) == 20, rows
    assert {row["seq_len"] for row in rows[16:]} == {"24"}, rows[16:]


def check_kill(program, out):
    # The last cell takes seconds, so the program can be killed before it is done.
    arguments = ["--d-models", "16", "--seq-lens", "8,16,32,1024", "--precisions", "fp32", "--impls", "naive", "--warmup", "0", "--steps", "20"]
    path = out / "attention.csv"
    with subprocess.Popen(**command_of(program, "attention", out, arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 100
        while not path.exists() and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        running.kill()
    left = rows_of(path)
    assert 1 <= len(left) <= 3, f"killed in the middle: {left}"
    done = succeed(program, "attention", out, arguments)
    rows = rows_of(path)
    assert rows[: len(left)] == left and len(measured_cells(done)) == 4 - len(left), (left, rows)
    assert [row["seq_len"] for row in rows] == ["8", "16", "32", "1024"] and all(row["status"] == "ok" for row in rows), rows
    assert sorted(file.name for file in out.iterdir()) == ["attention.csv", "attention.json", "attention.md"]


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (LITTLE_MEMORY, LITTLE_MEMORY))


def check_out_of_memory(program, out):
    # A tensor of scores has 4 x 8192 x 8192 numbers, 1 GiB: naive attention runs out of memory in its forward pass.
    arguments = ["--d-models", "8", "--seq-lens", "64,8192", "--batch", "4", "--precisions", "fp32", "--warmup", "0", "--steps", "2"]
    done = succeed(program, "attention", out, arguments, preexec_fn=limit_memory)
    rows = {(row["seq_len"], row["impl"]): row for row in rows_of(out / "attention.csv")}
    assert list(rows) == [("64", "naive"), ("64", "fused"), ("8192", "naive"), ("8192", "fused")], rows
    failed = rows.pop(("8192", "naive"))
    assert failed["status"] == "OOM" and failed["forward_ms"] == failed["backward_ms"] == failed["backend"] == "n/a", failed
    for row in rows.values():
        assert row["status"] == "ok" and float(row["forward_ms"]) > 0 and float(row["backward_ms"]) > 0, row
    # Thousands of times the work, so that a row with the wrong figures is noticed.
    assert float(rows["8192", "fused"]["forward_ms"]) > 10 * float(rows["64", "fused"]["forward_ms"]), rows
    assert "| 8 | 8192 | 4 | fp32 | OOM | OOM | OOM | OOM |" in done.stdout, done.stdout


def check_silu(program, out):
    done = succeed(program, "silu", out, SMALL_SILU)
    rows = rows_of(out / "silu.csv")
    assert [(row["impl"], row["rows"], row["columns"], row["precision"], row["status"]) for row in rows] == [
        (impl, "16", "32", "fp32", "ok") for impl in ("naive", "native")
    ], rows
    for row in rows:
        measured_on_gpu = [row[column] for column in row if column.endswith(("ward_us", "_kernels", "GB/s"))]
        assert measured_on_gpu == ["n/a"] * 6, row
        assert float(row["forward_host_us"]) > 0 and float(row["backward_host_us"]) > 0, row
    text = (out / "silu.md").read_text()
    assert text in done.stdout and "naive / native" in text, done.stdout
    naive, native = (float(row["forward_host_us"]) for row in rows)
    assert f"| {naive / native:.2f} |" in text, (naive / native, text)
    before = (out / "silu.csv").read_bytes()
    done = succeed(program, "silu", out, SMALL_SILU)
    assert not measured_cells(done) and (out / "silu.csv").read_bytes() == before and (out / "silu.md").read_text() == text, done
    done = succeed(program, "silu", out, [*SMALL_SILU, "--precision", "bf16"])
    assert len(measured_cells(done)) == 2 and [row["precision"] for row in rows_of(out / "silu.csv")] == ["fp32"] * 2 + ["bf16"] * 2

    # 2 x 4 GiB.
    done = succeed(program, "silu", None, ["--rows", "32768", "--columns", "32768", "--steps", "1", "--warmup", "0"], preexec_fn=limit_memory)
    assert done.stdout.count("| OOM |") == 2, done.stdout


def check_without_directory(program):
    done = succeed(program, "attention", None, ["--d-models", "8", "--seq-lens", "8", "--precisions", "fp32", "--warmup", "0", "--steps", "1"])
    assert "T5." in done.stdout and len(measured_cells(done)) == 2, done
    assert "| ok |" in done.stdout and "nan" not in done.stdout, f"of one step there is no deviation: {done.stdout}"


def check_bad_input(program, folder):
    (folder / "file").write_text("")
    other = folder / "other"
    other.mkdir()
    (other / "attention.csv").write_text("a,b\n1,2\n")
    cases = [
        ("attention", ["--precisions", "fp32,tf32", "--device", "cpu"], ["--precisions tf32", "GPU"]),
        ("attention", ["--precisions", "fp8"], ["--precisions", "fp8", "bf16"]),
        ("attention", ["--impls", "flash"], ["--impls", "naive", "fused"]),
        ("attention", ["--d-models", "8,0"], ["--d-models", "0"]),
        ("attention", ["--seq-lens", "many"], ["--seq-lens", "many"]),
        ("attention", ["--batch", "-1"], ["--batch", "-1"]),
        ("attention", ["--ctx", "8"], ["--ctx"]),
        ("attention", [*SMALL_ATTENTION, "--out", str(folder / "file")], ["--out", "file"]),
        ("attention", [*SMALL_ATTENTION, "--out", str(other)], ["--out", "attention.csv", "different columns"]),
        ("attention", ["--device", "cuda"], ["--device cuda", "--device cpu"]),
        ("silu", ["--precision", "tf32"], ["--precision", "tf32", "bf16"]),
        ("silu", ["--rows", "0"], ["--rows", "0"]),
        ("silu", ["--steps", "-3"], ["--steps", "-3"]),
        ("silu", ["--d-models", "8"], ["--d-models"]),
    ]
    for command, arguments, words in cases:
        done = run(program, command, None, arguments)
        lines = done.stderr.splitlines()
        assert done.returncode == BAD_INPUT and not done.stdout, done
        assert len(lines) == 1 and lines[0].startswith("transformer_train: "), f"{done}; expected one line"
        assert all(word in lines[0] for word in words), f"{done}; expected {words}"


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_attention_rows(program, folder / "rows")
        check_resuming(program, folder / "rows")
        check_kill(program, folder / "kill")
        check_out_of_memory(program, folder / "memory")
        check_silu(program, folder / "silu")
        check_without_directory(program)
        check_bad_input(program, folder)


if __name__ == "__main__":
    main()
