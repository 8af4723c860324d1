#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of scripts/gpu_check.sh, which builds the programs first. Exit code 1 if one fails."""
import argparse
import collections
import datetime
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

Run = collections.namedtuple("Run", "size ctx mode precision")
FUSED, LIBTORCH = ["--optimizer", "fused_adamw"], ["--optimizer", "adamw"]
# Which runs are timed against PyTorch eager, with which options of the trainer and of PyTorch, and how often the two take turns. Without
# options each has its own default optimizer: the trainer fused kernels, PyTorch one that handles many parameters in a kernel (foreach).
SPEED = [
    (Run("small", 512, "fwd", "fp32"), [], [], 3),
    (Run("small", 128, "train", "fp32"), [], [], 3),
    (Run("small", 128, "train", "fp32"), FUSED, FUSED, 3),
    (Run("small", 128, "train", "fp32"), LIBTORCH, [], 3),
    (Run("medium", 512, "fwd_bwd", "fp32"), [], [], 3),
    (Run("medium", 512, "fwd_bwd", "bf16"), [], [], 3),
    (Run("2.7B", 512, "train", "bf16"), [], [], 1),
]
# Runs with --sync, whose host and GPU times have to agree.
SYNC = [Run("small", 128, "train", "fp32"), Run("medium", 512, "fwd_bwd", "fp32"), Run("medium", 512, "train", "bf16")]
WARMUP, STEPS = 5, 30
TEXT_RUN = ["--size", "small", "--ctx", "256", "--batch", "32", "--mode", "train", "--precision", "bf16", "--attention", "sdpa",
            "--optimizer", "fused_adamw", "--lr", "3e-4", "--warmup", "10", "--steps", "790", "--seed", "1"]


class Checks:
    """Rows of the table, printed as they come. `passed` is None for what is not judged: a figure alone, or a check that cannot run here."""

    def __init__(self):
        self.rows = []
        self.begin = time.monotonic()

    def add(self, name, passed, figures):
        state = {True: "PASS", False: "FAIL", None: "not judged"}[passed]
        self.rows.append((name, state, figures))
        print(f"[{time.monotonic() - self.begin:5.0f} s] {state:10} {name}: {figures}", flush=True)

    def failed(self):
        return any(state == "FAIL" for _, state, _ in self.rows)


def text_of(*command, timeout=60):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout).stdout.strip()
    except (OSError, subprocess.SubprocessError) as failure:
        return f"unknown ({failure.__class__.__name__})"


def environment():
    import torch

    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "gpu, driver": text_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
        "CUDA": text_of("nvcc", "--version").splitlines()[-2].strip(),
        "PyTorch": torch.__version__,
        "compiler": text_of("c++", "--version").splitlines()[0],
    }


def program_in(build, name):
    return next(path for path in build.glob(f"**/{name}") if path.is_file())


def train(arguments, build, out, log):
    """One run of the trainer, with its output in a log. Its report.json and what it printed."""
    program = program_in(build, "transformer_train")
    command = [str(program), *arguments, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    with open(log, "a", encoding="utf-8") as file:
        file.write("$ transformer_train " + " ".join(arguments) + "\n" + done.stdout + done.stderr + "\n")
    if done.returncode != 0:
        raise RuntimeError(f"transformer_train {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads((out / "report.json").read_text(encoding="utf-8")), done.stdout


def options_of(run):
    return ["--size", run.size, "--ctx", str(run.ctx), "--batch", "4", "--mode", run.mode, "--precision", run.precision,
            "--warmup", str(WARMUP), "--steps", str(STEPS)]


def step_ms(report):
    """Between CUDA events: what the trainer calls avg_ms."""
    return report["steps"]["gpu_mean_ms"]


def pytorch_ms(arguments, log):
    command = [sys.executable, str(ROOT / "examples/transformer_train/reference/benchmark.py"), *arguments, "--device", "cuda"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    with open(log, "a", encoding="utf-8") as file:
        file.write("$ benchmark.py " + " ".join(arguments) + "\n" + done.stdout + done.stderr + "\n")
    if done.returncode != 0:
        raise RuntimeError(f"benchmark.py {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["mean_ms"]


def check_gpu_tests(checks, build, out):
    program = program_in(build, "profkit_gpu_tests")
    result = out / "gpu_tests.xml"
    done = subprocess.run([str(program), "--reporter", f"junit::out={result}", "--reporter", "console"], capture_output=True, text=True,
                          check=False, timeout=120)
    (out / "gpu_tests.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    suite = next(xml.etree.ElementTree.parse(result).getroot().iter("testsuite"))
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    passed = done.returncode == 0 and count["tests"] > 0 and count["skipped"] == 0
    checks.add("GPU unit tests", passed, ", ".join(f"{number} {name}" for name, number in count.items()))


def check_speed(checks, build, out):
    for run, our_options, their_options, rounds in SPEED:
        name = "/".join((run.size, str(run.ctx), run.mode, run.precision))
        folder = out / "-".join(("speed", name.replace("/", "-"), *our_options[1:]))
        optimizers = f" ({our_options[1]} against {(their_options or ['', 'its default'])[1]})" if our_options else ""
        ours, theirs, report = [], [], None
        for _ in range(rounds):
            report, _ = train(options_of(run) + our_options, build, folder, out / "speed.log")
            ours.append(step_ms(report))
            theirs.append(pytorch_ms(options_of(run) + their_options, out / "speed.log"))
        mine, other = statistics.median(ours), statistics.median(theirs)
        peak = report["memory"]["libtorch"]["allocated"]["peak_bytes"] / 2**20
        # LibTorch's AdamW launches a dozen kernels for each parameter: a figure to know, not one to hold the trainer to.
        checks.add(f"not slower than PyTorch eager: {name}{optimizers}", None if our_options == LIBTORCH else mine <= other,
                   f"{mine:.2f} ms (std {report['steps']['gpu_std_ms']:.2f} in the last run), PyTorch {other:.2f} ms, {other / mine:.2f} times"
                   f" as fast; medians of {rounds}; {report['steps']['items_per_second']:.0f} tokens/s, peak {peak:.0f} MiB")


def check_sync(checks, build, out):
    for run in SYNC:
        name = f"{run.size}/{run.ctx}/{run.mode}/{run.precision}"
        report, _ = train(options_of(run) + ["--sync"], build, out / ("sync-" + name.replace("/", "-")), out / "sync.log")
        figures, worst = [], 0.0
        for scope in report["scopes"]:
            if scope["path"] not in ("step/forward", "step/backward", "step/optimizer"):
                continue
            host, gpu = scope["host_total_ms"], scope["gpu_event_total_ms"]
            worst = max(worst, abs(host - gpu) / host)
            figures.append(f"{scope['name']} {host / STEPS:.3f} / {gpu / STEPS:.3f}")
        host, gpu = report["steps"]["mean_ms"], report["steps"]["gpu_mean_ms"]
        worst = max(worst, abs(host - gpu) / host)
        figures.append(f"step {host:.3f} / {gpu:.3f}")
        checks.add(f"host and GPU timers agree within 2 % with --sync: {name}", worst <= 0.02,
                   f"worst {100 * worst:.2f} %; host / GPU ms: {', '.join(figures)}")


def losses_of(printed):
    """Means of the first and of the last steps."""
    return [float(loss) for loss in re.search(r"loss, nats per token: ([\d.]+) .* ([\d.]+) \(mean of the last", printed).groups()]


def check_precisions(checks, build, out, text):
    """Every precision and attention learns as fp32 written out does, on the same batches from the same weights."""
    name = "losses agree within 1 % of fp32, 40 steps of small/128 on text"
    if text is None:
        checks.add(name, None, "no text was given")
        return
    common = ["--size", "small", "--ctx", "128", "--batch", "16", "--lr", "1e-4", "--warmup", "2", "--steps", "38", "--data", str(text)]
    reference = None
    for precision, attention in (("fp32", "naive"), ("fp32", "sdpa"), ("tf32", "naive"), ("bf16", "naive"), ("bf16", "sdpa"), ("fp16", "naive")):
        report, printed = train([*common, "--precision", precision, "--attention", attention], build, out / f"precision-{precision}-{attention}",
                                out / "precisions.log")
        first, last = losses_of(printed)
        reference = reference or (first, last)
        off = max(abs(first - reference[0]) / reference[0], abs(last - reference[1]) / reference[1])
        # fp16 has no loss scaling yet: its small gradients become zero, and it learns more slowly.
        passed = None if precision == "fp16" else off < 0.01 and last < first - 1
        checks.add(f"{name}: {precision}, {attention} attention", passed,
                   f"{first:.3f} to {last:.3f} nats per byte, {100 * off:.2f} % off; {step_ms(report):.1f} ms a step")


def check_out_of_memory(checks, build, out):
    arguments = ["--size", "2.7B", "--ctx", "1024", "--batch", "64", "--mode", "train", "--warmup", "1", "--steps", "2"]
    folder = out / "out-of-memory"
    done = subprocess.run([str(program_in(build, "transformer_train")), *arguments, "--out", str(folder)], capture_output=True, text=True,
                          check=False, timeout=200)
    lines = done.stderr.strip().splitlines()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    passed = done.returncode == 3 and len(lines) == 1 and "does not fit" in lines[0] and report["steps"]["measured"] == 0
    checks.add("what does not fit the device is one clear line, with a report", passed, f"exit code {done.returncode}: {lines[-1] if lines else ''}")


def check_text(checks, build, out, text):
    if text is None:
        checks.add("held-out loss below 2.0 nats per byte", None, "no text was given")
        return
    begin = time.monotonic()
    report, printed = train([*TEXT_RUN, "--data", str(text)], build, out / "text", out / "text.log")
    before, after = map(float, re.search(r"held-out loss, nats per byte: ([\d.]+) before training, ([\d.]+) after", printed).groups())
    checks.add("held-out loss below 2.0 nats per byte", after < 2.0,
               f"{before:.3f} before, {after:.3f} after 800 steps of small, ctx 256, batch 32, bf16, in {time.monotonic() - begin:.0f} s"
               f" ({step_ms(report):.1f} ms a step)")


def check_nsys(checks, build, nsys):
    name = "Nsight Systems counts the same NVTX ranges"
    if shutil.which(nsys) is None:
        checks.add(name, None, "no nsys")
        return
    program = program_in(build, "profkit_nsys")
    done = subprocess.run([sys.executable, str(ROOT / "tests/nsys/compare_ranges.py"), nsys, str(program)], capture_output=True, text=True,
                          check=False, timeout=200)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("ok"))
    if done.returncode != 0:
        print(done.stdout + done.stderr)
    checks.add(name, done.returncode == 0, f"{text_of(nsys, '--version')}: {len(lines)} names, {total} ranges")


def write_results(checks, facts, out):
    (out / "gpu_check.json").write_text(
        json.dumps({"environment": facts, "checks": [dict(zip(("name", "state", "figures"), row)) for row in checks.rows]}, indent=2) + "\n",
        encoding="utf-8")
    lines = ["# GPU checks", "", "Command: `scripts/gpu_check.sh`. A step is timed between CUDA events, in milliseconds.", ""]
    lines += [f"* {name}: {value}" for name, value in facts.items()]
    lines += ["", "| check | result | figures |", "|---|---|---|"]
    lines += [f"| {name} | {state} | {figures} |" for name, state, figures in checks.rows]
    for tables in sorted((*out.glob("speed-*/tables.md"), *out.glob("sync-*/tables.md"), *out.glob("text/tables.md"))):
        lines += ["", f"## {tables.parent.name}", "", tables.read_text(encoding="utf-8").replace("## T", "### T").strip()]
    (out / "gpu_check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--nsys", default="nsys")
    given = parser.parse_args()
    checks, facts = Checks(), environment()
    for check, arguments in ((check_gpu_tests, (given.build, given.out)), (check_nsys, (given.build, given.nsys)),
                             (check_sync, (given.build, given.out)), (check_precisions, (given.build, given.out, given.text)),
                             (check_out_of_memory, (given.build, given.out)), (check_text, (given.build, given.out, given.text)),
                             (check_speed, (given.build, given.out))):
        try:
            check(checks, *arguments)
        except (RuntimeError, OSError, subprocess.SubprocessError, StopIteration, KeyError, TypeError, AttributeError) as failure:
            checks.add(check.__name__.replace("_", " "), False, f"{failure.__class__.__name__}: {failure}")
        write_results(checks, facts, given.out)
    print("\n| check | result | figures |\n|---|---|---|")
    for row in checks.rows:
        print("| " + " | ".join(row) + " |")
    return 1 if checks.failed() else 0


sys.exit(main())
