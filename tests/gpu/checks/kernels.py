# SPDX-License-Identifier: Apache-2.0
"""Checks of the collected kernels: exact attribution, cost of a launch, the same as Nsight Systems, classes, recorded profiles."""
import collections
import itertools
import json
import re
import sqlite3
import subprocess
import sys

import nsys_parity
from checks.programs import ROOT, Run, has_nsys, program_in, report_of_profile, run_logged, text_of, train, train_under_nsys, train_with_tables

PARITY = [Run("small", 512, "fwd", "fp32"), Run("small", 128, "train", "fp32"), Run("medium", 512, "fwd_bwd", "bf16")]
PARITY_WARMUP, PARITY_STEPS = 3, 30
# Other runs whose kernels must have classes.
CLASSES = [(Run("small", 256, "train", "bf16"), ["--attention", "sdpa"]), (Run("small", 256, "train", "fp16"), ["--optimizer", "adamw"])]
# The GPU waits before each forward pass until the host is ahead, whatever a launch costs. Otherwise a comparison of launch-bound runs would
# show how much each tool slows launching, because the spans of scopes contain the gaps between kernels.
HEAD_START = ["--head-start", "60"]
TIMED_ROWS = re.compile(r"\| (GPU projection of |\d+\. )")
RECORDED = [Run("small", 512, "fwd", "fp32"), Run("small", 128, "train", "fp32")]
RECORDED_WARMUP, RECORDED_LIMIT = 1, 2_000_000
# A graph must be captured before its step is replayed.
RECORDED_GRAPH = [*Run("small", 128, "train", "fp32").options(3, 2), "--graph"]
RECORDED_LIMITS = [*Run("tiny", 128, "train", "bf16").options(2, 4), "--attention", "sdpa", "--measure-roof"]
# Runs whose streamed figures are compared with those of the whole profile.
WINDOWS = [(Run("small", 128, "train", "fp32"), []), (Run("small", 256, "train", "bf16"), ["--attention", "sdpa", "--clip-grad", "1"]),
           (Run("small", 128, "train", "fp32"), ["--graph"])]
WINDOWS_STEPS = 100


def different(a, b, path=""):
    """@return the paths at which two JSON documents differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [each for key in sorted(a.keys() | b.keys()) for each in different(a.get(key), b.get(key), f"{path}/{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [each for i, pair in enumerate(zip(a, b)) for each in different(*pair, f"{path}/{i}")]
    return [] if a == b else [f"{path} {json.dumps(a)[:60]} {json.dumps(b)[:60]}"]


def check_windows(checks, place):
    """Compares the figures computed during a run with those of its whole profile; also for a long run that keeps few records."""
    for run, options in WINDOWS:
        name = " ".join((run.name, *options))
        folder = place.out / "-".join(("windows", run.folder, *options)).replace("--", "")
        saved = place.out / f"{folder.name}.profile"
        arguments = [*run.options(5, WINDOWS_STEPS), *options, "--save-profile", saved]
        streamed, _ = train(place, arguments, folder, "windows.log", "records=1000000000")
        differences = [each for each in different(streamed, report_of_profile(place, saved, "windows.log"))
                       if not each.startswith(("/profkit/files ", "/profkit/process_id "))]  # where the report is, not what it says
        size = saved.stat().st_size
        saved.unlink()
        checks.add(f"the figures computed during a run are those of its whole profile: {name}", not differences,
                   f"{len(differences)} differ {'; '.join(differences[:5])}; a profile of {size:,} bytes")
    run, saved, steps = WINDOWS[0][0], place.out / "slowest.profile", 10 * WINDOWS_STEPS
    arguments = [*run.options(5, steps), "--save-profile", saved]
    report, _ = train(place, arguments, place.out / "windows-slowest", "windows.log", "keep=slowest:3")
    kept = report_of_profile(place, saved, "windows.log")
    counts = report["steps"]["measured"], kept["steps"]["measured"]
    kernels = sum(each["count"] for each in report["kernels"]), sum(each["count"] for each in kept["kernels"])
    checks.add(f"keep=slowest:3 keeps three steps, and the figures of all: {run.name}", counts == (steps, 3) and kernels[0] * 3 == kernels[1] * steps,
               f"steps {counts[0]}, kept {counts[1]}; kernels {kernels[0]}, kept {kernels[1]}; a profile of {saved.stat().st_size:,} bytes")
    saved.unlink()


def compare(checks, run, nsys_folder, folder, has_head_start):
    """Without a head start, times of single kernels and of scopes are shown but not judged."""
    what = "--head-start" if has_head_start else "as it is, names, counts, total time"
    title = f"{run.name}{', ' + ' '.join(HEAD_START) if has_head_start else ''}, {PARITY_WARMUP} warm-up steps, {PARITY_STEPS} measured"
    done = subprocess.run([sys.executable, str(ROOT / "tests/nsys/nsys_parity.py"), str(nsys_folder / "nsys.sqlite"), str(folder), title],
                          capture_output=True, text=True, check=False, timeout=200)
    lines = done.stdout.strip().splitlines()
    failed = [line for line in lines if line.endswith("| FAIL |")]
    judged = failed if has_head_start else [line for line in failed if not TIMED_ROWS.match(line)]
    passed = done.returncode in (0, 1) and not judged
    checks.add(f"the same as Nsight Systems: {run.name}, {what}", passed,
               "; ".join(lines[-1:] + [line.strip("| ").replace(" | ", ", ") for line in failed[:3]]) or done.stderr.strip()[-300:])
    return done.stdout or f"## {title}\n\n{done.stderr}\n"


def add_classes(checks, run, report, options=()):
    kernels, quality = report["kernels"], report["quality"]
    if kernels is None:
        checks.add(f"kernels have a class: {run.name}", False, "kernels were not collected")
        return
    total = sum(each["total_ms"] for each in kernels)
    other = sorted((each for each in kernels if each["class"] == "other"), key=lambda each: -each["total_ms"])
    share = sum(each["total_ms"] for each in other) / total
    classes = ", ".join(f"{each['class']} {100 * each['total_ms'] / total:.1f} %" for each in report["kernel_classes"])
    names = ", ".join(each["name"][:60].replace("|", "/") for each in other[:5])
    checks.add(f"kernels have a class, other is under 1 % of GPU time: {' '.join([run.name, *options])}", share < 0.01,
               f"other {100 * share:.3f} %{f' ({names})' if names else ''}; {classes}")
    lost = {key: quality[key] for key in ("dropped_kernels", "invalid_kernels", "unknown_launches")}
    checks.add(f"no kernel is lost: {run.name}", not any(lost.values()),
               f"{sum(each['count'] for each in kernels)} kernels; " + ", ".join(f"{key} {value}" for key, value in lost.items()) +
               f"; launched outside scopes {quality['unattributed_kernels']} ({quality['unattributed_ms']:.3f} ms)")


def check_parity(checks, place):
    """Also the classes of the kernels, on the same runs."""
    parts = []
    for run, extra in itertools.product(PARITY, (HEAD_START, [])):
        arguments = [*run.options(PARITY_WARMUP, PARITY_STEPS), *extra]
        folder = place.out / f"parity-{run.folder}{'-head-start' if extra else ''}"
        nsys_folder = folder.with_name(folder.name + "-nsys")
        report, _ = train_with_tables(place, arguments, folder, "parity.log")
        if not extra:
            add_classes(checks, run, report)
        if has_nsys(place):
            train_under_nsys(place, arguments, nsys_folder, "parity.log", profkit="kernels=off")
            parts.append(compare(checks, run, nsys_folder, folder, bool(extra)))
            discard_nsys(nsys_folder)
    for run, options in CLASSES:
        report, _ = train(place, [*run.options(PARITY_WARMUP, 5), *options], place.out / f"classes-{run.folder}", "parity.log")
        add_classes(checks, run, report, options)
    if not parts:
        checks.add("the same kernels as Nsight Systems", None, "no nsys")
        return
    lines = ["# Parity with Nsight Systems", "",
             f"The same binary runs twice with the same arguments: under {text_of(place.nsys, '--version')} with `-t cuda,nvtx`",
             "and `PROFKIT=kernels=off`, and alone with profkit's collector. `tests/nsys/nsys_parity.py` compares the measured steps.",
             "Times are in ms, summed over all measured steps.", "",
             f"With `{' '.join(HEAD_START)}` the GPU waits before each forward pass until the host is ahead of it. Without it, launching",
             "limits two of the three runs. The spans of their scopes then contain gaps between kernels, and Nsight Systems slows",
             "launching more than profkit does.", ""]
    (place.out / "nsys_parity.md").write_text("\n".join(lines) + "\n" + "\n".join(part.strip() + "\n" for part in parts), encoding="utf-8")


def discard_nsys(folder):
    """Removes the files of nsys, which are large, after the comparison."""
    for file in folder.glob("nsys.*"):
        file.unlink()


def count_kernels(database):
    return sqlite3.connect(database).execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]


def check_beside_nsys(checks, place):
    """If kernels are requested under nsys, profkit leaves them to nsys, and reports that."""
    name = "Nsight Systems sees all kernels when profkit is asked for them too"
    if not has_nsys(place):
        checks.add(name, None, "no nsys")
        return
    arguments = RECORDED[1].options(1, 3)
    counts = {}
    for profkit in ("off", ""):
        folder = place.out / f"beside-nsys-{profkit or 'on'}"
        report, _, database = train_under_nsys(place, arguments, folder, "beside_nsys.log", profkit)
        counts[profkit] = count_kernels(database)
        discard_nsys(folder)
    states = [(each["status"], each["reason"] or "") for each in report["quality"]["collectors"] if each["name"] == "kernels"]
    status, reason = states[0] if states else ("no collector", "")
    passed = counts[""] == counts["off"] > 0 and status == "not collected" and "Nsight Systems" in reason and report["kernels"] is None
    checks.add(name, passed, f"{counts['']} kernels, {counts['off']} with profkit off; profkit: kernels: {status} ({reason})")


def seen_by_nsys(database, warmup):
    """@return the reference for a recorded profile: counts of the measured steps in another run with the same arguments."""
    database = sqlite3.connect(database)
    ranges = nsys_parity.read_ranges(database)
    steps = nsys_parity.Steps(ranges, warmup)
    operations = nsys_parity.read_operations(database)
    kernels = nsys_parity.count_kernels(operations, steps)
    charged = collections.defaultdict(collections.Counter)
    for inside, operation in nsys_parity.launches_in_ranges(operations, ranges, steps):
        charged[inside.name][operation[5] or "copies and memsets"] += 1
    return {"kernels": {name: {"count": each.count, "total_ms": each.total} for name, each in sorted(kernels.items())},
            "range_instances": dict(sorted(collections.Counter(each.name for each in ranges if steps.hold(each.begin)).items())),
            "launched_in_range": {name: dict(sorted(counts.items())) for name, counts in sorted(charged.items())}}


def check_recorded(checks, place):
    """Records profiles for tests without a GPU, with the counts of nsys from the same run."""
    graph = place.out / "recorded" / "small-128-train-fp32-graph.profile"
    train(place, [*RECORDED_GRAPH, "--save-profile", str(graph)], place.out / "recorded" / "graph", "recorded.log")
    checks.add("a recorded profile is under 2 MB: with --graph", graph.stat().st_size < RECORDED_LIMIT, f"{graph.stat().st_size:,} bytes")
    limits = place.out / "recorded" / "tiny-128-train-bf16.profile"
    train(place, [*RECORDED_LIMITS, "--save-profile", str(limits)], place.out / "recorded" / "limits", "recorded.log")
    checks.add("a recorded profile is under 2 MB: with --measure-roof", limits.stat().st_size < RECORDED_LIMIT, f"{limits.stat().st_size:,} bytes")
    kinds = place.out / "recorded" / "validation-steps.profile"
    run_logged([program_in(place.build, "profkit_gpu_programs"), "validation_steps", kinds], place.out / "recorded.log")
    checks.add("a recorded profile is under 2 MB: steps of two kinds", kinds.stat().st_size < RECORDED_LIMIT, f"{kinds.stat().st_size:,} bytes")
    for run in RECORDED:
        folder = place.out / "recorded" / run.folder
        saved = place.out / "recorded" / f"{run.folder}.profile"
        arguments = run.options(RECORDED_WARMUP, 2)
        train(place, [*arguments, "--save-profile", str(saved)], folder, "recorded.log")
        size = saved.stat().st_size
        checks.add(f"a recorded profile is under 2 MB: {run.name}", size < RECORDED_LIMIT, f"{size:,} bytes")
        if has_nsys(place):
            _, _, database = train_under_nsys(place, arguments, folder, "recorded.log", profkit="kernels=off")
            seen = json.dumps(seen_by_nsys(database, RECORDED_WARMUP), indent=1) + "\n"
            saved.with_suffix(".nsys.json").write_text(seen, encoding="utf-8")
            discard_nsys(folder)
