# SPDX-License-Identifier: Apache-2.0
"""Checks of the trainer's results and speed: compared with PyTorch eager, in every precision, and when memory runs out."""
import concurrent.futures
import contextlib
import csv
import re
import statistics
import subprocess
import sys
import time

from checks.programs import ROOT, PyTorch, Run, loop_ms, program_in, report_in, run_logged, step_ms, train, train_with_tables
from checks.trainer import waiting_calls

FUSED, LIBTORCH = ["--optimizer", "fused_adamw"], ["--optimizer", "adamw"]
# Runs timed against PyTorch eager, with options of the trainer and of PyTorch, and the number of steps. Without options each uses its
# default optimizer: the trainer fused kernels, PyTorch one that handles many parameters in a kernel (foreach).
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
# The run with a separate bar.
MUCH_FASTER, MUCH = (Run("small", 128, "train", "fp32"), FUSED), 1.5
# Runs with fused operations that are timed against the compiled model.
FUSED_SPEED = [(Run("small", 128, "train", "fp32"), 50), (Run("medium", 512, "train", "bf16"), 50)]
FUSED_ROUNDS = 3
COMPILED = 'torch.compile(mode="reduce-overhead")'
# Runs of the forward pass that AOTInductor compiled, the number of steps, and the largest difference of a loss from the plain model's. In
# bf16 compiled kernels round in other places.
COMPILED_FORWARD = [(Run("small", 512, "fwd", "fp32"), 50, 1e-5), (Run("medium", 512, "fwd", "bf16"), 50, 5e-3)]
COMPILED_ROUNDS = 3
PLAIN, PACKAGE, TORCH_COMPILE = "the plain model", "--package", "torch.compile"
# The same kernels run in C++ and in Python, so more than noise is a fault.
COMPILED_BAR = 1.05
COMPILED_SCOPE = "step/forward/compiled forward"
# Runs with --sync, whose host and GPU times must agree.
SYNC = [Run("small", 128, "train", "fp32"), Run("medium", 512, "fwd_bwd", "fp32"), Run("medium", 512, "train", "bf16")]
WARMUP, STEPS = 5, 30
# These checks are about the trainer and event timers; another check covers the cost of kernels.
PROFKIT = "kernels=off"
TEXT_RUN = ["--size", "small", "--ctx", "256", "--batch", "32", "--mode", "train", "--precision", "bf16", "--attention", "sdpa",
            "--optimizer", "fused_adamw", "--lr", "3e-4", "--warmup", "10", "--steps", "790", "--seed", "1"]


def check_speed(checks, place):
    """Compares the loop timers of both sides: the trainer runs without profkit, PyTorch without a profiler."""
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
        # LibTorch's AdamW launches a dozen kernels per parameter: its time is shown but not judged.
        checks.add(f"not slower than PyTorch eager: {run.name}{optimizers}", None if our_options == LIBTORCH else mine <= other, figures)
        if (run, our_options) == MUCH_FASTER:
            checks.add(f"at least {MUCH} times as fast as PyTorch eager: {run.name}{optimizers}", other / mine >= MUCH, f"{other / mine:.2f} times")


def first_losses(folder):
    with open(folder / "losses.csv", encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)][:20]


def check_fused(checks, place):
    """The model with fused operations: equal values, and its speed compared with the compiled model with naive attention, alternating.
    All use fused AdamW."""
    done = subprocess.run([str(program_in(place.build, "torch_checks")), "fused_model", "cuda"], capture_output=True, text=True, check=False,
                          timeout=300)
    (place.out / "fused_model.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    checks.add("fused operations give the losses and gradients of the plain model", done.returncode == 0,
               f"exit code {done.returncode}: {(done.stdout.strip() or done.stderr.strip())[-300:]}")
    for run, steps in FUSED_SPEED:
        plain = ["--graph", *(["--attention", "sdpa"] if run.precision == "bf16" else [])]
        kinds = {"--graph": plain, "--graph --fused": ["--graph", "--fused"]}
        folders = {kind: place.out / f"fused-{run.folder}{'-fused' if '--fused' in kind else ''}" for kind in kinds}
        times = {kind: [] for kind in (*kinds, COMPILED)}
        with PyTorch([*run.options(10, steps), *FUSED, "--compile", "reduce-overhead"], place.out / "fused.log") as pytorch:
            for _ in range(FUSED_ROUNDS):
                times[COMPILED].append(pytorch.measure()["loop_ms"])
                for kind, options in kinds.items():
                    _, printed = train(place, [*run.options(WARMUP, steps), *FUSED, *options], folders[kind], "fused.log", "off")
                    times[kind].append(loop_ms(printed))
        middle = {kind: statistics.median(values) for kind, values in times.items()}
        figures = "; ".join(f"{kind} {middle[kind]:.2f} ms a step ({min(values):.2f} to {max(values):.2f})" for kind, values in times.items())
        checks.add(f"--graph --fused is level with {COMPILED}: {run.name}", middle["--graph --fused"] <= middle[COMPILED],
                   f"{figures}; medians of {FUSED_ROUNDS} rounds, {steps} steps each")
        plain_losses, fused_losses = (first_losses(folder) for folder in folders.values())
        off = max(abs(a / b - 1) for a, b in zip(fused_losses, plain_losses))
        checks.add(f"20 losses of --fused are those of the plain model: {run.name}", off < (1e-3 if run.precision == "fp32" else 1e-2),
                   f"{100 * off:.3f} % apart at most")
        report, _ = train(place, [*run.options(WARMUP, 10), *FUSED, "--graph", "--fused"], place.out / f"fused-{run.folder}-kernels", "fused.log")
        quality = report["quality"]
        checks.add(f"every operation of --graph --fused is charged to a scope: {run.name}",
                   quality["unknown_graph_operations"] == quality["unattributed_operations"] == 0 < quality["graph_operations"],
                   f"{quality['graph_operations']} operations in 10 steps")


def export_forward(place, run):
    """@return the package of the compiled forward pass."""
    package = place.out / f"aoti-{run.folder}.pt2"
    run_logged([sys.executable, ROOT / "examples/transformer_train/reference/export_forward.py", "--size", run.size, "--ctx", run.ctx, "--batch", 4,
                "--precision", run.precision, "--device", "cuda", "--out", package], place.out / f"aoti-{run.folder}.log")
    return package


def row_of_kernels(report, steps):
    return [f"{report['gpu']['kernels'] / steps:g}", f"{report['gpu']['gpu_kernel_ms'] / steps:.2f}"]


def check_aoti(checks, place):
    """The forward pass compiled with AOTInductor, run from C++: the losses of the plain model, all kernels in its scope, and its speed compared
    with the plain model and with the model that torch.compile compiles, alternating."""
    lines = ["# Compiled forward pass", "",
             f"Medians of {COMPILED_ROUNDS} alternating rounds, without profiler: ms per step from the beginning of the first measured step to the",
             "end of the last. Kernels and GPU work (the durations of kernels, copies and memsets) are of other runs, with profkit.", ""]
    with contextlib.ExitStack() as stack:
        pytorch = {run: stack.enter_context(PyTorch([*run.options(10, steps), "--compile", "default"], place.out / f"aoti-{run.folder}-torch.log"))
                   for run, steps, _ in COMPILED_FORWARD}
        # All compile at the same time, each in its own process. PyTorch does it in its first measurement, which is discarded.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            compiled = [pool.submit(each.measure) for each in pytorch.values()]
            packages = {run: pool.submit(export_forward, place, run) for run in pytorch}
        for each in compiled:
            each.result()
        for run, steps, largest in COMPILED_FORWARD:
            options = {PLAIN: [], PACKAGE: ["--package", packages[run].result()]}
            folders = {kind: place.out / f"aoti-{run.folder}-{'package' if kind == PACKAGE else 'plain'}" for kind in options}
            times = {kind: [] for kind in (PLAIN, PACKAGE, TORCH_COMPILE)}
            for _ in range(COMPILED_ROUNDS):
                times[TORCH_COMPILE].append(pytorch[run].measure()["loop_ms"])
                for kind, more in options.items():
                    _, printed = train(place, [*run.options(WARMUP, steps), *more], folders[kind], "aoti.log", "off")
                    times[kind].append(loop_ms(printed))
            middle = {kind: statistics.median(values) for kind, values in times.items()}
            figures = "; ".join(f"{kind} {middle[kind]:.2f} ms a step ({min(values):.2f} to {max(values):.2f})" for kind, values in times.items())
            checks.add(f"--package takes at most {COMPILED_BAR} times as long as torch.compile: {run.name}",
                       middle[PACKAGE] <= COMPILED_BAR * middle[TORCH_COMPILE], f"{figures}; medians of {COMPILED_ROUNDS} rounds, {steps} steps each")
            plain_losses, losses = (first_losses(folder) for folder in folders.values())
            off = max(abs(a / b - 1) for a, b in zip(losses, plain_losses))
            checks.add(f"20 losses of --package are those of the plain model: {run.name}", len(losses) == len(plain_losses) == 20 and off < largest, f"{off:.1e} apart at most")
            reports = {kind: train_with_tables(place, [*run.options(WARMUP, 10), *more, "--api-calls"], folders[kind], "aoti.log")[0]
                       for kind, more in options.items()}
            report = reports[PACKAGE]
            scope = next((each for each in report["scopes"] if each["path"] == COMPILED_SCOPE), {"kernels": 0, "gpu_kernel_ms": 0.0})
            kernels, quality = report["gpu"]["kernels"], report["quality"]
            outside, dropped = quality["unattributed_operations"], quality["dropped_kernels"]
            checks.add(f"every kernel of --package is charged to its scope: {run.name}", outside == dropped == 0 < scope["kernels"] == kernels,
                       f"{scope['kernels']} of {kernels} kernels in 10 steps, {scope['gpu_kernel_ms'] / 10:.2f} ms a step; {outside} operations outside scopes")
            calls, waits = waiting_calls(folders[PACKAGE])
            checks.add(f"no CUDA call of --package waits for the device inside a step: {run.name}", bool(calls) and not waits,
                       f"{sum(calls.values())} calls of {len(calls)} functions in 10 steps; that wait: {waits or 'none'}")
            lines += [f"## {run.name}", "", "| what runs | ms per step | min to max | kernels per step | GPU work, ms per step |", "|---|" + "---:|" * 4]
            for kind, values in times.items():
                row = [kind, f"{middle[kind]:.2f}", f"{min(values):.2f} to {max(values):.2f}", *(row_of_kernels(reports[kind], 10) if kind in reports else ["n/a"] * 2)]
                lines.append("| " + " | ".join(row) + " |")
            lines.append("")
    (place.out / "aoti.md").write_text("\n".join(lines), encoding="utf-8")


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
    """@return the mean losses of the first and of the last steps."""
    return [float(loss) for loss in re.search(r"loss, nats per token: ([\d.]+) .* ([\d.]+) \(mean of the last", printed).groups()]


def check_precisions(checks, place):
    """Every precision and attention learns like fp32 with naive attention, with the same batches and initial weights."""
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
        # Without loss scaling, small gradients of fp16 become zero, so it learns more slowly.
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
