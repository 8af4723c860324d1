# SPDX-License-Identifier: Apache-2.0
"""Checks of `profkit compare`: it finds no change between runs of one program, and finds the one scope that was made slower."""
import collections
import itertools
import json

from checks.programs import Run, program_in, run_logged, train

SMALL = Run("small", 128, "train", "fp32")
RUNS, WARMUP, STEPS = 20, 5, 30
SAME_BAR = 0.95
SIDE = 5  # runs per side, if both sides have several
PERCENT = 5
SLOWER = {"stencil": "memory", "multiply-add": "arithmetic", "short kernels": "arithmetic"}
PLAIN_RUNS = 5
KERNELS = {"stencil": "stencil(", "multiply-add": "multiply_add(", "short kernels": "short_work("}


def compare(place, a, b, *options):
    """@return the output of `profkit compare` as JSON."""
    return json.loads(run_logged([program_in(place.build, "profkit"), "compare", a, b, "--format", "json", *options], place.out / "compare.log"))


def changed(result):
    return [row for row in result["rows"] if row["verdict"] in ("FASTER", "SLOWER")]


def told(rows):
    return ", ".join(f"{row['of']} {row['name'][:60]} {100 * (row['change'] or 0):+.1f} % {row['verdict']}" for row in rows[:4]) or "none"


def side_of(place, name, runs):
    """A folder with links to runs."""
    folder = place.out / "compare" / name
    folder.mkdir(parents=True, exist_ok=True)
    for link in folder.iterdir():
        link.unlink()
    for run in runs:
        (folder / run.name).symlink_to(run.resolve(), target_is_directory=True)
    return folder


def count_same(checks, name, results):
    """Checks the error rates with both ways of counting."""
    clean = sum(not changed(result) for result in results)
    verdicts = collections.Counter()
    for result in results:
        verdicts.update(result["counts"])
    rows = sum(verdicts.values())
    quiet = (verdicts["SAME"] + verdicts["UNSURE"]) / rows
    loud = next((changed(result) for result in results if changed(result)), [])
    checks.add(f"the same program: nothing FASTER or SLOWER in at least {100 * SAME_BAR:g} % of comparisons, {name}: {SMALL.name}",
               clean >= SAME_BAR * len(results),
               f"{clean} of {len(results)}; of {rows} rows {100 * quiet:.3f} % SAME or UNSURE ({100 * verdicts['SAME'] / rows:.2f} % SAME); the first that says so: {told(loud)}")
    checks.add(f"the same program: at least {100 * SAME_BAR:g} % of rows are SAME or UNSURE, {name}: {SMALL.name}", quiet >= SAME_BAR, f"{100 * quiet:.3f} %")
    return [f"| {name} | {len(results)} | {clean} | {rows} | " + " | ".join(f"{100 * verdicts[each] / rows:.3f} %" for each in ("FASTER", "SLOWER", "SAME", "UNSURE", "NEW", "GONE")) + " |"]


def check_same(checks, place):
    runs = []
    for number in range(RUNS):
        runs.append(place.out / "compare" / f"run_{number:02}")
        train(place, SMALL.options(WARMUP, STEPS), runs[-1], "compare.log")
    pairs = [compare(place, a, b) for a, b in itertools.combinations(runs, 2)]
    lines = count_same(checks, "one run a side, all pairs", pairs)
    # Sides whose runs alternated, as recommended for measurements, in every rotation.
    several = []
    for turn in range(RUNS):
        order = runs[turn:] + runs[:turn]
        several.append(compare(place, side_of(place, "a", order[0:2 * SIDE:2]), side_of(place, "b", order[1:2 * SIDE:2])))
    lines += count_same(checks, f"{SIDE} runs a side that took turns", several)
    return lines


def check_slower(checks, place):
    program, lines = program_in(place.build, "profkit_gpu_programs"), []

    def measure(name, count, *options):
        folders = [place.out / "compare" / f"{name.replace(' ', '_')}_{number}" for number in range(count)]
        for folder in folders:
            run_logged([program, "slower_scope", "--out", folder, *options], place.out / "compare.log")
        return folders

    plain = measure("plain", PLAIN_RUNS)
    plain_side = side_of(place, "plain_side", plain)
    quiet = [compare(place, a, b) for a, b in itertools.combinations(plain, 2)]
    checks.add("no scope of a plain run is FASTER or SLOWER than in another", not any(map(changed, quiet)), "; ".join(told(changed(each)) for each in quiet))
    for scope, around in SLOWER.items():
        slower = measure(f"slower {scope}", PLAIN_RUNS, "--slower", scope, "--percent", PERCENT)
        expected = {f"step/{around}/{scope}"}
        allowed = expected | {"step", f"step/{around}", "step time"}
        # A single run per side uses assumed noise, and leaves such a change undecided.
        rows = changed(compare(place, plain_side, side_of(place, "slower_side", slower)))
        found = {row["name"] for row in rows if row["verdict"] == "SLOWER" and row["of"] != "kernel"}
        beside = [row for row in rows if row["verdict"] == "FASTER" or
                  not (row["name"] in allowed if row["of"] != "kernel" else KERNELS[scope] in row["name"])]
        lines.append(f"| {scope} | " + "; ".join(f"{row['of']} {row['name'][:50]} {100 * row['change']:+.2f} % ({100 * row['range'][0]:+.2f} to {100 * row['range'][1]:+.2f})"
                                                 for row in rows) + " |")
        checks.add(f"a scope that does {PERCENT} % more work is SLOWER with {PLAIN_RUNS} runs a side, and nothing but what is around it: {scope}",
                   expected <= found and not beside, told(rows))
    return lines


def check_compare(checks, place):
    lines = ["# Runs compared", "", f"## The same program: {SMALL.name}, {RUNS} runs, {WARMUP} warm-up steps, {STEPS} measured", "",
             "| sides | comparisons | nothing FASTER or SLOWER | rows | FASTER | SLOWER | SAME | UNSURE | NEW | GONE |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    lines += check_same(checks, place)
    lines += ["", f"## One scope does {PERCENT} % more work, {PLAIN_RUNS} runs a side", "", "| scope | FASTER or SLOWER |", "|---|---|"]
    lines += check_slower(checks, place)
    (place.out / "compare.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
