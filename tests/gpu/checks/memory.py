# SPDX-License-Identifier: Apache-2.0
"""Memory by scope, shares of the roof and the verdict of the steps, in GPU runs of the trainer."""
import os

from checks.programs import Run, train

MIB = 1024 * 1024


def allocator_in(report, source):
    return next(each for each in report["allocators"] if each["source"] == source)


def memory_of(scope, source):
    return next(each for each in scope["memory"] if each["source"] == source)


def scope_in(report, path):
    return next(each for each in report["scopes"] if each["path"] == path)


def check_memory_by_scope(checks, place):
    """The memory in use and its peak equal LibTorch's own figures to the byte."""
    for run, options in ((Run("small", 128, "train", "fp32"), []), (Run("medium", 512, "train", "bf16"), ["--attention", "sdpa"]),
                         (Run("small", 256, "train", "fp16_scaled"), ["--clip-grad", "1"]), (Run("small", 128, "train", "fp32"), ["--graph"])):
        report, _ = train(place, [*run.options(4, 10), *options], place.out / "scope-memory", "scope_memory.log")
        name = " ".join((run.name, *options))
        ours, theirs = allocator_in(report, "libtorch"), report["memory"]["libtorch"]["requested"]
        step = memory_of(scope_in(report, "step"), "libtorch")
        checks.add(f"the peak of the steps is LibTorch's own to the byte: {name}",
                   step["wide_peak_bytes"] == theirs["peak_bytes"] == ours["max_bytes"] and theirs["peak_bytes"] > 0,
                   f"{step['wide_peak_bytes']} bytes, LibTorch {theirs['peak_bytes']}; after the last step {ours['last_bytes']}, LibTorch "
                   f"{theirs['last_bytes']}; LibTorch's blocks {report['memory']['libtorch']['allocated']['peak_bytes']}")
        checks.add(f"what the allocator has after the steps is what LibTorch says: {name}", ours["last_bytes"] == theirs["last_bytes"],
                   f"{ours['last_bytes']} bytes, LibTorch {theirs['last_bytes']}")
        changes = sum(memory_of(each, "libtorch")["own_change_bytes"] for each in report["scopes"] if each["memory"])
        rest = ours["outside_change_bytes"] + ours["between_steps_change_bytes"]
        checks.add(f"the scopes' changes add up to the allocator's: {name}",
                   changes + rest == ours["last_bytes"] - ours["first_bytes"] and ours["unknown_releases"] == ours["reused_addresses"] == 0,
                   f"{changes} in scopes, {ours['outside_change_bytes']} outside, {ours['between_steps_change_bytes']} between steps; together "
                   f"{ours['last_bytes'] - ours['first_bytes']}; unknown releases {ours['unknown_releases']}, addresses given twice "
                   f"{ours['reused_addresses']}")
        if "--graph" in options:
            continue
        forward = memory_of(scope_in(report, "step/forward"), "libtorch")
        inside = [memory_of(each, "libtorch") for each in report["scopes"] if each["path"].startswith("step/forward/") and each["depth"] == 2]
        driver = memory_of(scope_in(report, "step"), "cuda driver")
        checks.add(f"a scope's peak is at least that of each scope inside: {name}",
                   forward["peak_bytes"] >= max(each["peak_bytes"] for each in inside) and forward["retained_bytes"] > 0,
                   f"forward: peak {forward['peak_bytes'] / MIB:.1f} MiB over its start, own {forward['own_peak_bytes'] / MIB:.1f}, retained "
                   f"{forward['retained_bytes'] / MIB / report['steps']['measured']:.1f} a step; highest inside "
                   f"{max(each['peak_bytes'] for each in inside) / MIB:.1f}; the driver gave at most {driver['wide_peak_bytes'] / MIB:.1f}")


def check_memory_polled(checks, place):
    """An allocator of LibTorch without allocation events, and sources that can only be polled."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
    try:
        report, _ = train(place, Run("small", 128, "train", "fp32").options(3, 5), place.out / "polled", "polled.log", "memory=scopes")
    finally:
        del os.environ["PYTORCH_CUDA_ALLOC_CONF"]
    step = {each["source"]: each for each in scope_in(report, "step")["memory"]}
    wanted = {"libtorch", "host", "cuda device", "cuda driver"}
    forward = memory_of(scope_in(report, "step/forward"), "libtorch")
    passed = wanted <= set(step) and step["libtorch"]["polled"] and not step["cuda driver"]["polled"] and forward["retained_bytes"] > 0
    checks.add("where LibTorch's allocator cannot be heard it is asked at scopes, as are host and device", passed,
               "; ".join(f"{source}{' (polled)' if each['polled'] else ''}: peak over the step's start {each['peak_bytes'] / MIB:.1f} MiB"
                         for source, each in step.items()) + f"; forward retains {forward['retained_bytes'] / MIB / 5:.1f} a step; "
               f"{report['steps']['mean_ms']:.1f} ms a step with the readings")


def check_work(checks, place):
    """No scope exceeds the roof, matrix products are close to one large product, and MFU follows from its parts."""
    for run, peak in ((Run("small", 512, "train", "fp32"), 66.9), (Run("medium", 512, "train", "bf16"), 989.4), (Run("medium", 512, "fwd", "tf32"), 494.7)):
        report, _ = train(place, [*run.options(5, 15), "--measure-roof"], place.out / f"work-{run.folder}", "work.log")
        model, limits = report["model"], report["limits"]
        step_s = 1e-3 * max(report["steps"]["mean_ms"], report["steps"]["gpu_mean_ms"])
        by_hand = model["flops_per_step"] / step_s / (1e12 * model["peak_tflops"])
        checks.add(f"MFU is the model's operations over time and the printed peak: {run.name}",
                   abs(model["peak_tflops"] / peak - 1) < 0.002 and abs(model["mfu"] / by_hand - 1) < 0.01 and 0 < model["mfu"] < 1,
                   f"{100 * model['mfu']:.1f} % of {model['peak_tflops']} TFLOP/s ({model['device']}, {model['precision']} dense, {model['source']}); "
                   f"{model['flops_per_step'] / 1e9:.1f} GFLOP a step ({model['flops_source']})")
        measured = {"TFLOP/s": [each["tflops_per_s"] for each in limits["measured"] if each["tflops_per_s"]],
                    "GB/s": [each["gb_per_s"] for each in limits["measured"] if each["gb_per_s"]]}
        checks.add(f"the measured roof is below the printed one: {run.name}",
                   0 < max(measured["TFLOP/s"]) < 1.02 * peak and 0 < max(measured["GB/s"]) < 4900,
                   "; ".join(f"{', '.join(f'{value:.1f}' for value in values)} {unit}" for unit, values in measured.items()))
        said = [each for each in report["scopes"] if each["work"] and each["work"]["roof_share"]]
        worst = max(said, key=lambda each: each["work"]["roof_share"])
        shown = {name: next((each["work"] for each in said if each["name"] == name), None)
                 for name in ("attention projections", "attention scores", "softmax", "weighted values", "ffn projections", "lm_head")}
        checks.add(f"no scope is above the roof: {run.name}", len(said) > 0 and worst["work"]["roof_share"] <= 1.0,
                   f"{len(said)} scopes, highest {100 * worst['work']['roof_share']:.0f} % ({worst['path']}); " +
                   ", ".join(f"{name} {work['tflops_per_s'] or 0:.1f} TFLOP/s {100 * work['roof_share']:.0f} % ({work['bound']})"
                             for name, work in shown.items() if work))


def interval_of(steps):
    """@return the 95 % interval of a mean as text; n/a where the report has none."""
    return "n/a" if steps["ci95_low_ms"] is None else f"{steps['ci95_low_ms']:.2f} to {steps['ci95_high_ms']:.2f}"


def check_verdict(checks, place):
    """The clocks are read, the verdict has a reason, and steps=auto stops as it reports."""
    run = Run("small", 128, "train", "fp32")
    report, _ = train(place, [*run.options(20, 60), "--graph"], place.out / "verdict", "verdict.log")
    steps = report["steps"]
    clocks = steps["clocks"] or []
    checks.add("the steps of a graph are stable, and the device's clocks were read: small/128/train/fp32",
               steps["gpu_verdict"] == "stable" and len(clocks) == 1 and clocks[0]["readings"] > 0,
               f"host: {steps['verdict']} ({steps['verdict_reason']}); GPU: {steps['gpu_verdict']} ({steps['gpu_verdict_reason']}); "
               f"{steps['warmup_verdict']}; clocks {clocks}")
    report, _ = train(place, run.options(5, 30), place.out / "verdict-eager", "verdict.log")
    steps = report["steps"]
    checks.add("the verdict of eager steps: small/128/train/fp32", None,
               f"{steps['mean_ms']:.2f} ms, 95 % interval {interval_of(steps)}: {steps['verdict']} ({steps['verdict_reason']}); {steps['warmup_verdict']}")
    report, _ = train(place, ["--size", "small", "--ctx", "128", "--batch", "4", "--warmup", "5", "--graph"], place.out / "verdict-auto",
                      "verdict.log", "steps=auto:0.5%")
    steps, stop = report["steps"], report["steps"]["stop"]
    checks.add("steps=auto stops once the mean is known to 0.5 %: small/128/train/fp32 --graph",
               stop is not None and stop["reached_percent"] <= 0.5 and 60 <= steps["measured"] < 1000,
               f"after {steps['measured']} steps, {stop and stop['reached_percent']} % by {stop and stop['by']}; the host's mean is "
               f"{steps['mean_ms']:.2f} ms, 95 % interval {interval_of(steps)}")
