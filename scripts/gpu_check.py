#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of scripts/gpu_check.sh, which builds the programs first. Exit code 1 if one fails."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from gpu_compare import check_compare
from gpu_cost import check_cost
from gpu_kernels import check_attribution, check_beside_nsys, check_journal, check_launch_cost, check_parity, check_recorded, check_torch_profiler, check_windows
from gpu_long import check_long
from gpu_memory import check_memory_by_scope, check_memory_polled, check_verdict, check_work
from gpu_nsys import check_capture
from gpu_programs import ROOT, Checks, Place, PyTorch, Run, environment, has_nsys, loop_ms, program_in, report_in, run_logged, step_ms, text_of, train
from gpu_scopes import check_backward, check_budget, check_graph
from gpu_trainer import check_attention_backends, check_memory, check_no_wait, check_sweep_memory

FUSED, LIBTORCH = ["--optimizer", "fused_adamw"], ["--optimizer", "adamw"]
# Which runs are timed against PyTorch eager, with which options of the trainer and of PyTorch, and over how many steps. Without options
# each has its own default optimizer: the trainer fused kernels, PyTorch one that handles many parameters in a kernel (foreach).
SPEED = [
    (Run("small", 128, "train", "fp32"), FUSED, FUSED, 30),
    (Run("small", 128, "train", "fp32"), [], [], 30),
    (Run("small", 128, "train", "fp32"), LIBTORCH, [], 30),
    (Run("small", 128, "train", "bf16"), FUSED, FUSED, 30),
    (Run("small", 512, "fwd", "fp32"), [], [], 30),
    (Run("medium", 512, "fwd_bwd", "fp32"), [], [], 10),
    (Run("medium", 512, "fwd_bwd", "bf16"), [], [], 20),
    (Run("medium", 512, "train", "fp32"), FUSED, FUSED, 10),
    (Run("2.7B", 512, "train", "bf16"), [], [], 5),
]
ALTERNATIONS = 5
# Which of them has a bar of its own.
MUCH_FASTER, MUCH = (Run("small", 128, "train", "fp32"), FUSED), 1.5
# Runs with --sync, whose host and GPU times have to agree.
SYNC = [Run("small", 128, "train", "fp32"), Run("medium", 512, "fwd_bwd", "fp32"), Run("medium", 512, "train", "bf16")]
WARMUP, STEPS = 5, 30
# These checks are of the trainer and of event timers: what kernels cost has its own.
PROFKIT = "kernels=off"
TEXT_RUN = ["--size", "small", "--ctx", "256", "--batch", "32", "--mode", "train", "--precision", "bf16", "--attention", "sdpa",
            "--optimizer", "fused_adamw", "--lr", "3e-4", "--warmup", "10", "--steps", "790", "--seed", "1"]


def check_gpu_tests(checks, place):
    program = program_in(place.build, "profkit_gpu_tests")
    result = place.out / "gpu_tests.xml"
    done = subprocess.run([str(program), "--reporter", f"junit::out={result}", "--reporter", "console"], capture_output=True, text=True,
                          check=False, timeout=120)
    (place.out / "gpu_tests.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    suite = next(xml.etree.ElementTree.parse(result).getroot().iter("testsuite"))
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    passed = done.returncode == 0 and count["tests"] > 0 and count["skipped"] == 0
    checks.add("GPU unit tests", passed, ", ".join(f"{number} {name}" for name, number in count.items()))


def check_examples(checks, place):
    """What the reports of the small CUDA examples have to say: 3 measured steps, of 2 kernels and of 3."""
    for name, kernels, row in (("cuda_streams", 6, r"^ *stream_1 .*"), ("cuda_graph", 9, r"^ *layer_1 .*")):
        printed = run_logged([program_in(place.build, f"example_{name}")], place.out / "examples.log", "warmup=1,steps=3,out=" + str(place.out / name))
        report = report_in(place.out / name)
        count = sum(each["count"] for each in report["kernels"])
        found = re.search(row, printed[printed.find("GPU work by scope"):], re.MULTILINE)
        checks.add(f"example {name}", count == kernels and found is not None, f"{count} kernels; {found[0].strip() if found else 'no such row: ' + row}")


def check_speed(checks, place):
    """By the loop timers of both sides: the trainer runs without profkit, PyTorch without a profiler."""
    for run, our_options, their_options, steps in SPEED:
        folder = place.out / "-".join(("speed", run.folder, *our_options[1:]))
        optimizers = f" ({(our_options or ['', 'its default'])[1]} against {(their_options or ['', 'its default'])[1]})" if run.mode == "train" else ""
        ours, theirs, warmup = [], [], min(WARMUP, steps)
        with PyTorch(run.options(warmup, steps) + their_options, place.out / "speed.log") as pytorch:
            for _ in range(ALTERNATIONS):
                theirs.append(pytorch.measure()["loop_ms"])
                _, printed = train(place, run.options(warmup, steps) + our_options, folder, "speed.log", "off")
                ours.append(loop_ms(printed))
        mine, other = statistics.median(ours), statistics.median(theirs)
        figures = (f"{mine:.2f} ms a step ({min(ours):.2f} to {max(ours):.2f}), PyTorch {other:.2f} ({min(theirs):.2f} to {max(theirs):.2f}), "
                   f"{other / mine:.2f} times as fast; medians of {ALTERNATIONS} alternations, {steps} steps each")
        # LibTorch's AdamW launches a dozen kernels for each parameter: a figure to know, not one to hold the trainer to.
        checks.add(f"not slower than PyTorch eager: {run.name}{optimizers}", None if our_options == LIBTORCH else mine <= other, figures)
        if (run, our_options) == MUCH_FASTER:
            checks.add(f"at least {MUCH} times as fast as PyTorch eager: {run.name}{optimizers}", other / mine >= MUCH, f"{other / mine:.2f} times")


def check_sync(checks, place):
    for run in SYNC:
        report, _ = train(place, run.options(WARMUP, STEPS) + ["--sync"], place.out / f"sync-{run.folder}", "sync.log", PROFKIT)
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
        checks.add(f"host and GPU timers agree within 2 % with --sync: {run.name}", worst <= 0.02,
                   f"worst {100 * worst:.2f} %; host / GPU ms: {', '.join(figures)}")


def losses_of(printed):
    """Means of the first and of the last steps."""
    return [float(loss) for loss in re.search(r"loss, nats per token: ([\d.]+) .* ([\d.]+) \(mean of the last", printed).groups()]


def check_precisions(checks, place):
    """Every precision and attention learns as fp32 written out does, on the same batches from the same weights."""
    name = "losses agree within 1 % of fp32, 40 steps of small/128 on text"
    if place.text is None:
        checks.add(name, None, "no text was given")
        return
    common = ["--size", "small", "--ctx", "128", "--batch", "16", "--lr", "1e-4", "--warmup", "2", "--steps", "38", "--data", str(place.text)]
    reference = None
    for precision, attention in (("fp32", "naive"), ("fp32", "sdpa"), ("tf32", "naive"), ("bf16", "naive"), ("bf16", "sdpa"), ("fp16", "naive"),
                                 ("fp16_scaled", "naive")):
        report, printed = train(place, [*common, "--precision", precision, "--attention", attention], place.out / f"precision-{precision}-{attention}",
                                "precisions.log", PROFKIT)
        first, last = losses_of(printed)
        reference = reference or (first, last)
        off = max(abs(first - reference[0]) / reference[0], abs(last - reference[1]) / reference[1])
        # Without a scaled loss the small gradients of fp16 become zero, and it learns more slowly.
        passed = None if precision == "fp16" else off < 0.01 and last < first - 1
        checks.add(f"{name}: {precision}, {attention} attention", passed,
                   f"{first:.3f} to {last:.3f} nats per byte, {100 * off:.2f} % off; {step_ms(report):.1f} ms a step")


def check_out_of_memory(checks, place):
    arguments = ["--size", "2.7B", "--ctx", "1024", "--batch", "64", "--mode", "train", "--warmup", "1", "--steps", "2"]
    folder = place.out / "out-of-memory"
    done = subprocess.run([str(program_in(place.build, "transformer_train")), *arguments, "--out", str(folder)], capture_output=True, text=True,
                          check=False, timeout=200)
    lines = done.stderr.strip().splitlines()
    report = report_in(folder)
    passed = done.returncode == 3 and len(lines) == 1 and "does not fit" in lines[0] and report["steps"]["measured"] == 0
    checks.add("what does not fit the device is one clear line, with a report", passed, f"exit code {done.returncode}: {lines[-1] if lines else ''}")


def check_text(checks, place):
    if place.text is None:
        checks.add("held-out loss below 2.0 nats per byte", None, "no text was given")
        return
    begin = time.monotonic()
    report, printed = train(place, [*TEXT_RUN, "--data", str(place.text)], place.out / "text", "text.log", PROFKIT)
    before, after = map(float, re.search(r"held-out loss, nats per byte: ([\d.]+) before training, ([\d.]+) after", printed).groups())
    checks.add("held-out loss below 2.0 nats per byte", after < 2.0,
               f"{before:.3f} before, {after:.3f} after 800 steps of small, ctx 256, batch 32, bf16, in {time.monotonic() - begin:.0f} s"
               f" ({step_ms(report):.1f} ms a step)")


def check_nsys(checks, place):
    name = "Nsight Systems counts the same NVTX ranges"
    if not has_nsys(place):
        checks.add(name, None, "no nsys")
        return
    program = program_in(place.build, "profkit_nsys")
    done = subprocess.run([sys.executable, str(ROOT / "tests/nsys/compare_ranges.py"), place.nsys, str(program)], capture_output=True, text=True,
                          check=False, timeout=200)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("ok"))
    if done.returncode != 0:
        print(done.stdout + done.stderr)
    checks.add(name, done.returncode == 0, f"{text_of(place.nsys, '--version')}: {len(lines)} names, {total} ranges")


def write_results(checks, facts, out):
    (out / "gpu_check.json").write_text(
        json.dumps({"environment": facts, "checks": [dict(zip(("name", "state", "figures"), row)) for row in checks.rows]}, indent=2) + "\n",
        encoding="utf-8")
    lines = ["# GPU checks", "", "Command: `scripts/gpu_check.sh`. A step is timed between CUDA events, in milliseconds.", ""]
    lines += [f"* {name}: {value}" for name, value in facts.items()]
    lines += ["", "| check | result | figures |", "|---|---|---|"]
    lines += [f"| {name} | {state} | {figures} |" for name, state, figures in checks.rows]
    for tables in sorted((*out.glob("sync-*/tables.md"), *out.glob("text/tables.md"),
                          *(path for path in out.glob("parity-*/tables.md") if not path.parent.name.endswith("-nsys")))):
        lines += ["", f"## {tables.parent.name}", "", tables.read_text(encoding="utf-8").replace("## T", "### T").strip()]
    (out / "gpu_check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


# In the order in which they run: what is quick and says most comes first.
CHECKS = {
    "gpu_tests": check_gpu_tests,
    "examples": check_examples,
    "attribution": check_attribution,
    "journal": check_journal,
    "windows": check_windows,
    "nsys": check_nsys,
    "beside_nsys": check_beside_nsys,
    "beside_torch_profiler": check_torch_profiler,
    "parity": check_parity,
    "capture": check_capture,
    "recorded": check_recorded,
    "no_wait": check_no_wait,
    "attention_backends": check_attention_backends,
    "memory": check_memory,
    "sweep_memory": check_sweep_memory,
    "memory_by_scope": check_memory_by_scope,
    "memory_polled": check_memory_polled,
    "work": check_work,
    "verdict": check_verdict,
    "budget": check_budget,
    "backward": check_backward,
    "graph": check_graph,
    "compare": check_compare,
    "launch_cost": check_launch_cost,
    "cost": check_cost,
    "sync": check_sync,
    "precisions": check_precisions,
    "out_of_memory": check_out_of_memory,
    "text": check_text,
    "speed": check_speed,
    "long": check_long,
}
# These run only when they are named: they would make a run of all checks too long.
ON_REQUEST = {"long"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--nsys", default="nsys")
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=[name for name in CHECKS if name not in ON_REQUEST], metavar="CHECK",
                        help=f"of {', '.join(CHECKS)}; without this, all but {', '.join(sorted(ON_REQUEST))}")
    parser.add_argument("--kills", type=int, default=20, help="how many programs the check journal kills")
    given = parser.parse_args()
    checks, facts = Checks(), environment()
    place = Place(given.build, given.out, given.nsys, given.text, given.kills)
    for name, check in CHECKS.items():
        if name not in given.only:
            continue
        with checks.failure_as_row(name.replace("_", " ")):
            check(checks, place)
        write_results(checks, facts, given.out)
    print("\n| check | result | figures |\n|---|---|---|")
    for row in checks.rows:
        print("| " + " | ".join(row) + " |")
    return 1 if checks.failed() else 0


sys.exit(main())
