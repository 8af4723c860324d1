# SPDX-License-Identifier: Apache-2.0
"""The cost of profiling (T9): the trainer and PyTorch eager, each without and with increasing levels of profiling, alternating."""
import collections
import concurrent.futures
import contextlib
import math
import re
import statistics

from checks.programs import PyTorch, Run, has_nsys, loop_ms, train, train_under_nsys

# Run, rounds, warm-up steps, measured steps, and whether the cost of kernels is judged separately.
RUNS = [(Run("small", 128, "train", "fp32"), 11, 5, 30, False), (Run("medium", 512, "train", "fp32"), 5, 3, 10, True)]
# Variants of the trainer: name, and PROFKIT.
TRAINER = [("trainer, no profiler", "off"), ("trainer, profkit scopes", "kernels=off"), ("trainer, profkit scopes and kernels", "")]
# Variants of PyTorch: name, --profiler, and the maximum number of rounds, because the last one needs seconds to end.
PYTORCH = [("PyTorch eager, no profiler", "none", 99), ("PyTorch eager, torch.profiler CUDA", "cuda", 99),
           ("PyTorch eager, torch.profiler CPU + CUDA", "cpu+cuda", 3)]
NSYS = "trainer under nsys -t cuda,nvtx"
PHASES = ("forward", "backward", "optimizer")
SCOPES_BAR, KERNELS_BAR, KINETO_PART = 1.0, 2.0, 0.5

# Times of one turn in ms; phases and step are (mean, std), or None if not timed.
Turn = collections.namedtuple("Turn", "loop phases step")


def turn_of_trainer(report, printed):
    """@return the phases from the trainer's own timer, which needs no profiler."""
    line = re.search(r"^phase times: (.*)", printed, re.MULTILINE)
    found = dict((phase, (float(mean), float(std))) for phase, mean, std in re.findall(r"(\w+) ([\d.]+) \+- ([\d.]+) ms", line[1]))
    steps = report["steps"]
    return Turn(loop_ms(printed), [found.get(phase) for phase in PHASES],
                (steps["gpu_mean_ms"], steps["gpu_std_ms"]) if steps["gpu_mean_ms"] is not None else None)


def turn_of_pytorch(result):
    return Turn(result["loop_ms"], [None] * len(PHASES), (result["mean_ms"], result["std_ms"]))


def take_turns(run, rounds, warmup, steps, place, trainer=tuple(TRAINER), pytorch=tuple(PYTORCH), under_nsys=True):
    """@return all turns by name."""
    arguments = run.options(warmup, steps)
    turns = collections.defaultdict(list)
    folder, log = place.out / f"cost-{run.folder}", place.out / "cost.log"
    with contextlib.ExitStack() as stack:
        others = {which: stack.enter_context(PyTorch([*arguments, "--profiler", which], log)) for _, which, _ in pytorch}
        with concurrent.futures.ThreadPoolExecutor() as pool:  # the first measurement of each loads kernels and the profiler
            list(pool.map(PyTorch.measure, others.values()))
        for number in range(rounds):
            # Alternating direction, so that a machine that slows down affects all variants.
            order = slice(None, None, 1 if number % 2 == 0 else -1)
            for name, profkit in trainer[order]:
                turns[name].append(turn_of_trainer(*train(place, [*arguments, "--phase-times"], folder, "cost.log", profkit)))
            for name, which, max_rounds in pytorch[order]:
                if number < max_rounds:
                    turns[name].append(turn_of_pytorch(others[which].measure()))
    if under_nsys and has_nsys(place):
        report, printed, database = train_under_nsys(place, [*arguments, "--phase-times"], place.out / f"cost-{run.folder}-nsys", "cost.log", "kernels=off")
        turns[NSYS].append(turn_of_trainer(report, printed))
        for file in database.parent.glob("nsys.*"):
            file.unlink()
    return turns


def median_of(pairs):
    if any(pair is None for pair in pairs):
        return "n/a"
    mean = statistics.median(mean for mean, _ in pairs)
    deviations = [std for _, std in pairs if std is not None]
    return f"{mean:.3f} ± {statistics.median(deviations):.3f}" if deviations else f"{mean:.3f}"


class Costs:
    """@return the median loop times of one run, and what each variant adds to the one without a profiler."""

    def __init__(self, turns):
        self.turns = turns
        self.loop = {name: statistics.median(turn.loop for turn in each) for name, each in turns.items()}

    def added(self, name):
        base = PYTORCH[0][0] if name.startswith("PyTorch") else TRAINER[0][0]
        return self.loop[name] - self.loop[base], 100 * (self.loop[name] / self.loop[base] - 1)

    def interval(self, name):
        """@return an interval of at least 93 % for the median of what a variant of the trainer adds in a round, in percent. From order
        statistics (David and Nagaraja, Order Statistics, 7.1): with n rounds, the share below the k-th of both sides is binomial."""
        added = sorted(100 * (with_it.loop / without.loop - 1) for with_it, without in zip(self.turns[name], self.turns[TRAINER[0][0]]))
        count = len(added)
        outside, skipped = 2 * 0.5**count, 0
        while skipped + 1 < count // 2 and outside + 2 * math.comb(count, skipped + 1) * 0.5**count < 0.07:
            skipped += 1
            outside += 2 * math.comb(count, skipped) * 0.5**count
        return added[skipped], added[-1 - skipped]

    def rows(self):
        for name, turns in self.turns.items():
            loops = [turn.loop for turn in turns]
            cells = [median_of([turn.phases[at] for turn in turns]) for at in range(len(PHASES))] + [median_of([turn.step for turn in turns])]
            added, percent = self.added(name)
            spread = f"{min(loops):.3f} to {max(loops):.3f}"
            yield [name, str(len(turns)), *cells, f"{self.loop[name]:.3f}", spread, f"{added:+.3f}", f"{percent:+.2f} %"]


def judge_kernels(costs):
    """(target, met or None, figures)"""
    ours, _ = costs.added(TRAINER[2][0])
    theirs, _ = costs.added(PYTORCH[1][0])
    # If the device is the limit, both add what CUPTI's records cost the device itself; the device time hides the rest.
    is_judged = theirs > KERNELS_BAR / 100 * costs.loop[PYTORCH[0][0]]
    return ("kernels add less than half of what torch.profiler CUDA adds", ours < KINETO_PART * theirs if is_judged else None,
            f"{ours:+.3f} ms against {theirs:+.3f} ms a step" + ("" if is_judged else f"; both add less than {KERNELS_BAR:g} %"))


def judge_added(costs, what, name, bar):
    """(target, met or None, figures). Not judged if the rounds differ too much to tell."""
    _, percent = costs.added(name)
    low, high = costs.interval(name)
    met = None if low < bar < high else percent < bar
    return f"{what} add less than {bar:g} %", met, f"{percent:+.2f} %, rounds {low:+.2f} to {high:+.2f} %"


def judge(costs, has_kernel_bar):
    """(target, met or None, figures)"""
    targets = [judge_added(costs, "scopes only", TRAINER[1][0], SCOPES_BAR), judge_kernels(costs)]
    if has_kernel_bar:
        targets.append(judge_added(costs, "kernels", TRAINER[2][0], KERNELS_BAR))
    return targets


def check_cost(checks, place):
    lines = ["# T9. What profiling costs", "",
             "The programs alternate on one machine. The table gives the number of rounds; all values are medians of the rounds, in ms",
             "per step.", "",
             "* **Phases:** mean ± standard deviation of the steps of a run, between the trainer's own CUDA events (`--phase-times`).",
             "* **Step:** the same, between CUDA events of profkit or PyTorch. n/a: not measured.",
             "* **Loop:** from the beginning of the first measured step to the end of the last, divided by the number of steps. Its",
             "  CUDA events do not depend on any profiler.",
             "* **Added:** the loop, compared with the same program without profiler. What a profiler does at its end does not count.", "",
             "Each side uses its default AdamW.", ""]
    for run, rounds, warmup, steps, has_kernel_bar in RUNS:
        costs = Costs(take_turns(run, rounds, warmup, steps, place))
        lines += [f"## {run.name}, {warmup} warm-up steps, {steps} measured", "",
                  "| what runs | rounds | forward | backward | optimizer | step | loop | loop, min to max | added ms | added |",
                  "|---|" + "---:|" * 9]
        lines += ["| " + " | ".join(row) + " |" for row in costs.rows()]
        lines += ["", "| target | | found |", "|---|---|---|"]
        checks.add(f"not slower than PyTorch eager: {run.name}", costs.loop[TRAINER[0][0]] <= costs.loop[PYTORCH[0][0]],
                   f"{costs.loop[TRAINER[0][0]]:.2f} ms, PyTorch {costs.loop[PYTORCH[0][0]]:.2f} ms a step, no profiler; medians of {rounds}")
        for target, met, figures in judge(costs, has_kernel_bar):
            checks.add(f"cost, {run.name}: {target}", met, figures)
            state = {True: "met", False: "not met", None: "not judged"}[met]
            lines.append(f"| {target} | {state} | {figures} |")
        lines.append("")
        (place.out / "cost.md").write_text("\n".join(lines), encoding="utf-8")
