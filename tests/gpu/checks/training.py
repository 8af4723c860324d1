# SPDX-License-Identifier: Apache-2.0
"""Checks of the trainer's results and speed: compared with PyTorch eager, in every precision, and when memory runs out."""
import csv
import re
import statistics
import subprocess
import time

from checks.programs import PyTorch, Run, loop_ms, program_in, report_in, step_ms, train

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
        middle = {kind: statistics.median(of) for kind, of in times.items()}
        figures = "; ".join(f"{kind} {middle[kind]:.2f} ms a step ({min(of):.2f} to {max(of):.2f})" for kind, of in times.items())
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
