# SPDX-License-Identifier: Apache-2.0
"""The promises of the trainer on a GPU: it does not wait inside a step, its attention uses the reported backend, its memory timelines are
correct, and a sweep continues after out of memory."""
import csv
import re
import subprocess
import sys
import xml.etree.ElementTree

from checks.programs import ROOT, Run, program_in, run_logged, train, train_with_tables

WAITS = re.compile(r"synchronize|^cudaMemcpy(2D|3D)?$|^cuMemcpy(HtoD|DtoH)_v2$", re.IGNORECASE)
BACKENDS = ("flash", "efficient", "cudnn", "math")


def waiting_calls(folder):
    """@return the CUDA calls of a run of `train_with_tables` with --api-calls, and those that wait for the device, each with its count."""
    with open(folder / "cuda_api_sum.csv", encoding="utf-8", newline="") as file:
        calls = {row["Name"]: int(row["Num Calls"]) for row in csv.DictReader(file)}
    return calls, {call: count for call, count in calls.items() if WAITS.search(call)}


def check_no_wait(checks, place):
    """Clipping and loss scaling do not wait. Other trainers wait for the norm, and to know whether to skip the step."""
    for precision, options in (("fp32", []), ("fp32", ["--clip-grad", "0.5"]), ("fp16_scaled", ["--clip-grad", "0.5"]), ("fp32", ["--graph"]),
                               ("fp16_scaled", ["--clip-grad", "0.5", "--graph"])):
        run, folder = Run("small", 128, "train", precision), place.out / "no-wait"
        name = " ".join((run.name, *options))
        report, _ = train_with_tables(place, [*run.options(4, 10), *options, "--api-calls"], folder, "no_wait.log")
        calls, waits = waiting_calls(folder)
        checks.add(f"no CUDA call waits for the device inside a step: {name}", bool(calls) and not waits,
                   f"{sum(calls.values())} calls of {len(calls)} functions in {report['steps']['measured']} steps; that wait: {waits or 'none'}")


def check_attention_backends(checks, place):
    for backend in BACKENDS:
        _, printed = train(place, [*Run("small", 256, "train", "bf16").options(2, 3), "--attention", "sdpa", "--sdpa-backend", backend],
                           place.out / "backend", "backends.log")
        line = re.search(r"^scaled_dot_product_attention: (\S+), by its kernels (\S+)$", printed, re.MULTILINE)
        checks.add(f"the backend of the attention that was asked for runs: {backend}", line is not None and {line[1], line[2]} == {backend},
                   line[0] if line else "no line says so")
    refused = subprocess.run([str(program_in(place.build, "transformer_train")), "--size", "tiny", "--attention", "sdpa", "--sdpa-backend", "flash"],
                             capture_output=True, text=True, check=False, timeout=120)
    lines = refused.stderr.strip().splitlines()
    checks.add("a backend that cannot run in this precision is one clear line", refused.returncode == 2 and len(lines) == 1 and "flash" in lines[0],
               f"exit code {refused.returncode}: {lines[-1] if lines else ''}")


def marked_bytes(picture, mark):
    """@return the title of a mark in the memory timeline."""
    group = next(each for each in xml.etree.ElementTree.parse(picture).getroot().iter() if each.get("id") == mark)
    return int(next(each.text for each in group.iter() if each.tag.endswith("title")).split()[0])


def check_memory(checks, place):
    checker = ROOT / "examples/transformer_train/tests/check_memory_snapshot.py"
    for mode in ("fwd", "train"):
        folder = place.out / f"memory-{mode}"
        report, _ = train(place, [*Run("small", 512, mode, "fp32").options(3, 3), "--memory-snapshot"], folder, "memory.log")
        peak = report["memory"]["libtorch"]["allocated"]["peak_bytes"]
        printed = run_logged([sys.executable, checker, folder / "memory_snapshot.pickle", "--peak", peak], place.out / "memory.log")
        drawn = marked_bytes(folder / "memory_timeline.svg", "peak")
        figures = ", ".join(line.strip(' ,"').replace('"', "") for line in printed.splitlines() if re.search(r"segments|events|read_by", line))
        checks.add(f"the memory of a step, as picture and as snapshot: small/512/{mode}/fp32", drawn == peak and "true" in figures,
                   f"peak in the picture {drawn:,} bytes, by LibTorch's allocator {peak:,}; snapshot: {figures}")
        (folder / "memory_snapshot.pickle").unlink()


def check_sweep_memory(checks, place):
    """After out of memory, the peak of the next cell equals that of a separate run."""
    def row_of_tiny(name, sizes):
        folder = place.out / name
        run_logged([program_in(place.build, "transformer_train"), "sweep", "--sizes", sizes, "--ctx", "1024", "--batch", "64", "--modes", "train",
                    "--warmup", "1", "--steps", "2", "--out", folder], place.out / "sweep.log")
        with open(folder / "sweep.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return rows[-1], [row["status"] for row in rows]

    after, statuses = row_of_tiny("sweep-after", "2.7B,tiny")
    alone, _ = row_of_tiny("sweep-alone", "tiny")
    columns = ("peak_allocated_MiB", "peak_reserved_MiB")
    checks.add("a sweep goes on after what does not fit, with the right peak", statuses == ["OOM", "ok"] and all(after[c] == alone[c] for c in columns),
               f"2.7B {statuses[0]}, then tiny: " + ", ".join(f"{column} {after[column]}, by itself {alone[column]}" for column in columns))
