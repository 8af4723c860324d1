# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks that need a GPU, in rounds, and writes the results after each round: gpu_bench.json and gpu_bench.md.

The compared variants alternate, so that other load on the machine affects all of them. Figures are medians of the rounds, with minimum and
maximum. A ratio of additions is that of the medians of the differences in each round; another ratio is the median of the ratios in each round.
Both have a bootstrap interval from 5 rounds on. The number of rounds depends on the time of a part."""
import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import bench_ratios
import bench_statistics
from bench_tables import packed_json

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/gpu"))
from checks.programs import environment, line_of_a_turn, program_in, text_of

# A program that measures once per input line, and its arguments.
Program = collections.namedtuple("Program", "name arguments is_under_nsys", defaults=[False])
# A figure divided by a reference, in each round. With a base, each is the difference to its base. The ratio should be at most the target.
Comparison = collections.namedtuple("Comparison", "name figure base reference reference_base target")

LAUNCH = ("nothing", "CUPTI kernel records", "profkit kernels", "profkit kernels, in a step without them", "profkit scopes",
          "profkit scopes and kernels", "CUPTI records, switched off again", "CUPTI kernel and runtime records", "profkit scopes, kernels and all API calls")
GRAPH = ("graph: nothing", "graph: CUPTI kernel records", "graph: profkit kernels")
SWITCH = ("switch to a step with kernels", "switch back", "start of the collection")
TURNS = {
    "launch": {name: Program("profkit_launch_cost", ["turns", name]) for name in LAUNCH} | {
        "nothing, with LibTorch": Program("step_cost", ["launch", "none"]),
        "Kineto CUDA records": Program("step_cost", ["launch", "kineto"]),
        "nsys, CUDA": Program("profkit_launch_cost", ["turns", "nothing"], is_under_nsys=True),
    },
    "step": {
        "trainer, no profiler": Program("step_cost", ["off"]),
        "trainer, profkit scopes": Program("step_cost", ["kernels=off"]),
        "trainer, profkit kernels=every:10": Program("step_cost", ["kernels=every:10"]),
        "trainer, profkit kernels": Program("step_cost", [""]),
        "trainer, profkit kernels without the bridge": Program("step_cost", ["", "no_bridge"]),
        "trainer, CUPTI kernel records": Program("step_cost", ["cupti"]),
        "trainer, CUPTI kernel records switched off again": Program("step_cost", ["cupti_off"]),
        "trainer, Kineto CUDA": Program("step_cost", ["kineto"]),
        "trainer, Kineto CPU and CUDA": Program("step_cost", ["kineto_cpu"]),
        "trainer, nsys CUDA": Program("step_cost", ["off"], is_under_nsys=True),
    },
}
MAX_ROUNDS = {"trainer, Kineto CPU and CUDA": 3}  # because it takes seconds to end

COMPARISONS = {
    "launch": [
        Comparison("added per launch: profkit / CUPTI kernel records", "profkit kernels", "nothing",
                   "CUPTI kernel records", "nothing", 1.1),
        Comparison("added per launch: profkit / Kineto (CUDA)", "profkit kernels", "nothing", "Kineto CUDA records",
                   "nothing, with LibTorch", None),
        Comparison("added per launch: profkit / Nsight Systems (CUDA)", "profkit kernels", "nothing", "nsys, CUDA",
                   "nothing", None),
        Comparison("launch: with LibTorch in the process / without", "nothing, with LibTorch", None, "nothing", None, None),
        Comparison("launch: in a step without kernels / no profiler", "profkit kernels, in a step without them", None,
                   "nothing", None, None),
        Comparison("launch: CUPTI records switched off again / no profiler",
                   "CUPTI records, switched off again", None, "nothing", None, None),
    ],
    "gpu_scope": [
        Comparison("PROF_GPU_SCOPE / two event records", "PROF_GPU_SCOPE", None, "two event records", None, 1.1),
        Comparison("PROF_GPU_SCOPE / two event records with queries", "PROF_GPU_SCOPE", None, "two event records with queries", None, 1.1),
        Comparison("two event records: driver / runtime", "two event records of the driver", None, "two event records",
                   None, None),
    ],
    "step": [
        Comparison("added per step: profkit kernels / Kineto (CUDA)", "trainer, profkit kernels", "trainer, no profiler",
                   "trainer, Kineto CUDA", "trainer, no profiler", 0.5),
        Comparison("added per step: profkit kernels / Nsight Systems (CUDA)", "trainer, profkit kernels",
                   "trainer, no profiler", "trainer, nsys CUDA", "trainer, no profiler", None),
        Comparison("added per step: profkit kernels / CUPTI kernel records", "trainer, profkit kernels",
                   "trainer, no profiler", "trainer, CUPTI kernel records", "trainer, no profiler", None),
        Comparison("added per step: profkit kernels without the bridge / Kineto (CUDA)", "trainer, profkit kernels without the bridge",
                   "trainer, no profiler", "trainer, Kineto CUDA", "trainer, no profiler", 0.5),
        Comparison("typical step: kernels=every:10 / scopes only", "trainer, profkit kernels=every:10, typical", None,
                   "trainer, profkit scopes, typical", None, 1.01),
        Comparison("typical step: CUPTI records switched off again / no profiler",
                   "trainer, CUPTI kernel records switched off again, typical", None, "trainer, no profiler, typical", None, None),
        Comparison("step: kernels=every:10 / scopes only", "trainer, profkit kernels=every:10", None, "trainer, profkit scopes",
                   None, None),
        Comparison("step: kernels=every:10 / no profiler", "trainer, profkit kernels=every:10", None, "trainer, no profiler", None,
                   None),
        Comparison("step: scopes / no profiler", "trainer, profkit scopes", None, "trainer, no profiler", None, None),
        Comparison("step: kernels / no profiler", "trainer, profkit kernels", None, "trainer, no profiler", None, None),
        Comparison("step: Kineto (CUDA) / no profiler", "trainer, Kineto CUDA", None, "trainer, no profiler", None, None),
        Comparison("step: Kineto (CPU and CUDA) / no profiler", "trainer, Kineto CPU and CUDA", None, "trainer, no profiler",
                   None, None),
        Comparison("step: Nsight Systems (CUDA) / no profiler", "trainer, nsys CUDA", None, "trainer, no profiler", None, None),
    ],
    "graph": [
        Comparison("added per graph node: profkit / CUPTI kernel records", "graph: profkit kernels", "graph: nothing",
                   "graph: CUPTI kernel records", "graph: nothing", 1.1),
    ],
    "switch": [],
}
# What profkit adds, compared with recorded rounds: the figure minus its base, as a share of what the reference adds. Kineto is the reference
# of a step with kernels, because it adds the most: the share varies less.
GATES = {
    "launch": [Comparison("launch with kernels", "profkit scopes and kernels", "nothing", "CUPTI kernel records", "nothing", None)],
    "step": [Comparison("step with scopes", "trainer, profkit scopes", "trainer, no profiler", "trainer, CUPTI kernel records",
                        "trainer, no profiler", None),
             Comparison("step with kernels", "trainer, profkit kernels", "trainer, no profiler", "trainer, Kineto CUDA",
                        "trainer, no profiler", None)],
    "gpu_scope": [Comparison("PROF_GPU_SCOPE", "PROF_GPU_SCOPE", "two event records", "two event records", None, None)],
    "graph": [Comparison("graph node", "graph: profkit kernels", "graph: nothing", "graph: CUPTI kernel records", "graph: nothing", None)],
}
GROWTH = 0.5  # the gate asks whether an addition grew by this share
UNITS = {"launch": "ns a launch", "gpu_scope": "ns a scope", "step": "ms a step", "graph": "ns a node", "switch": "us each"}
# Shares of the available time, and maximum numbers of rounds.
SHARES = {"launch": (0.27, 15), "gpu_scope": (0.04, 60), "step": (0.51, 25), "graph": (0.11, 15), "switch": (0.07, 7)}


CYCLE = 10  # period of kernels=every:10


def typical(steps_ms):
    """@return ms per step without occasional disturbances, such as other programs. One step in a cycle of ten may be collected, so this
    is the mean over the positions in the cycle of the median of the steps at each position."""
    return statistics.fmean(statistics.median(steps_ms[place::CYCLE]) for place in range(CYCLE))


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


def program(build, name):
    found = program_in(build, name)
    if found is None:
        raise RuntimeError(f"{name} was not built")
    return str(found)


def order(names, round_number):
    """Rotates the order in each round, and reverses every second round."""
    names = list(names)
    first = round_number % len(names)
    turned = names[first:] + names[:first]
    return turned if round_number % 2 == 0 else turned[::-1]


def rounds_of_processes(executable, names, scale):
    """Runs one process per figure."""
    def rounds(deadline):
        number = 0
        while True:
            values = {}
            for name in order(names, number):
                done = subprocess.run([executable, "run", name], capture_output=True, text=True, check=False, timeout=max(5, deadline.left() + 10))
                if done.returncode != 0:
                    raise RuntimeError(f"{name}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
                values[name] = float(done.stdout) * scale
            yield values
            number += 1
    return rounds


def rounds_of_gpu_scope(executable, max_rounds, facts):
    """Runs one process that prints its rounds."""
    def rounds(_deadline):
        with subprocess.Popen([executable, str(max_rounds)], stdout=subprocess.PIPE, text=True) as process:
            try:
                for line in process.stdout:
                    values = json.loads(line)
                    if "first_gpu_scope_ns" in values:
                        facts["first GPU scope of a process, us"] = round(values["first_gpu_scope_ns"] / 1000, 1)
                    else:
                        yield values
                if process.wait() != 0:
                    raise RuntimeError(f"gpu_scope_cost: exit code {process.returncode}")
            finally:
                process.kill()
    return rounds


class Group(subprocess.Popen):
    """A program that leads a process group. `stop` is a command that ends the processes that it starts outside the group."""

    def __init__(self, command, log, variables=None, stop=None):
        self.stop = stop
        self.variables = os.environ | {"PROFKIT": ""} | (variables or {})
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=self.variables,
                         start_new_session=True)

    def kill(self):
        if self.stop:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(self.stop, capture_output=True, check=False, timeout=20, env=self.variables)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def __exit__(self, *_):
        self.kill()
        self.wait()


@contextlib.contextmanager
def started_under_nsys(nsys, command, log):
    """Starts a program under Nsight Systems, and kills it at the end, so that no report is made."""
    if shutil.which(nsys) is None:
        raise RuntimeError(f"there is no Nsight Systems ({nsys})")
    with tempfile.TemporaryDirectory(prefix="profkit-nsys-", ignore_cleanup_errors=True) as folder:
        session = f"--session{{}}={pathlib.Path(folder).name}"
        options = ["--trace=cuda", "--sample=none", "--cpuctxsw=none", session.format("-new"), f"--output={folder}/report"]
        stop = [nsys, "shutdown", "--kill=sigkill", session.format("")]
        with Group([nsys, "profile", *options, *command], log, {"TMPDIR": folder}, stop) as process:
            yield process


def turn_of(process, timeout):
    line = line_of_a_turn(process, timeout)
    if line is None:
        raise RuntimeError(f"{' '.join(process.args[-2:])}: it ended early (see gpu_bench.log), or took longer than {timeout:.0f} s")
    return json.loads(line)


def figures_of(name, result, facts):
    """@return the figures of one turn of a program."""
    if result.get("operations"):
        facts[f"{name}: operations recorded in a turn"] = result["operations"]
    if "ns" in result:
        return {name: result["ns"]}
    return {name: result["loop_ms"], f"{name}, typical": typical(result["steps_ms"])}


def started(each, given, log):
    """@return a context manager that runs a program.
    @raises RuntimeError if there is no such program"""
    command = [program(given.build, each.name), *each.arguments]
    return started_under_nsys(given.nsys, command, log) if each.is_under_nsys else Group(command, log)


def rounds_one_at_a_time(wanted, given, facts):
    """Starts each program anew in each round, because CUDA calls take longer while other processes have a CUDA context. The figure is that
    of the second turn. Programs that cannot run are left out. Their errors are in gpu_bench.log."""
    def rounds(deadline):
        with open(given.out / "gpu_bench.log", "a", encoding="utf-8") as log:
            running = list(wanted)
            for number in itertools.count():
                values = {}
                for name in order(running, number):
                    try:
                        with started(wanted[name], given, log) as process:
                            turn_of(process, max(30, deadline.left()))
                            values |= figures_of(name, turn_of(process, 60), facts)
                    except (RuntimeError, OSError) as problem:
                        facts[f"left out: {name}"] = str(problem)
                        running.remove(name)
                if not running:
                    raise RuntimeError(f"no program can run: {next(iter(facts.values()))}")
                yield values
    return rounds


def rounds_of_turns(wanted, given, facts):
    """Runs the programs side by side, in turns. Those that cannot run are left out. Their errors are in gpu_bench.log."""
    def rounds(deadline):
        with contextlib.ExitStack() as stack:
            log = stack.enter_context(open(given.out / "gpu_bench.log", "a", encoding="utf-8"))
            running = {}
            for name, each in wanted.items():
                try:
                    running[name] = stack.enter_context(started(each, given, log))
                except (RuntimeError, OSError) as problem:
                    facts[f"left out: {name}"] = str(problem)
            with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:  # the first turn of each loads kernels and the profiler
                first = {name: pool.submit(turn_of, process, max(10, deadline.left())) for name, process in running.items()}
            for name, result in first.items():
                if result.exception() is not None:
                    facts[f"left out: {name}"] = str(result.exception())
                    del running[name]
            if not running:
                raise RuntimeError(f"no program can run: {next(iter(facts.values()))}")
            for number in itertools.count():
                values = {}
                for name in order([each for each in running if number < MAX_ROUNDS.get(each, number + 1)], number):
                    values |= figures_of(name, turn_of(running[name], 60), facts)
                yield values
    return rounds


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values), "values": values}


def above_and_below(comparison, values):
    """@return the two sides of a ratio in one round."""
    return (values[comparison.figure] - (values[comparison.base] if comparison.base else 0),
            values[comparison.reference] - (values[comparison.reference_base] if comparison.reference_base else 0))


def columns_of(comparison):
    return [comparison.figure, comparison.reference, *(name for name in (comparison.base, comparison.reference_base) if name)]


def compare(comparison, rounds, resamples=bench_statistics.RESAMPLES):
    """@return the ratio with its interval and verdict. None if no round has a ratio."""
    sides = [above_and_below(comparison, values) for values in rounds if all(name in values for name in columns_of(comparison))]
    if not sides:
        return None
    ratio_of = bench_statistics.ratio_of_medians if comparison.reference_base else bench_statistics.median_of_ratios
    found = bench_statistics.with_interval(*zip(*sides), ratio_of, resamples)
    if found is None:
        return None
    verdict = None if comparison.target is None else bench_statistics.verdict(found.low, found.high, comparison.target)
    return {"name": comparison.name, "ratio": found.ratio, "low": found.low, "high": found.high, "target": comparison.target,
            "verdict": verdict, "rounds": found.rounds}


class Results:
    """The results so far, on disk after each round."""

    def __init__(self, out):
        self.out = out
        self.file = out / "gpu_bench.json"
        self.parts = {}
        self.environment = {}
        if self.file.exists():
            known = json.loads(self.file.read_text(encoding="utf-8"))
            self.parts = {name: part for name, part in known["parts"].items() if part["finished"]}
            self.environment = known["environment"]

    def put(self, name, rounds, facts, finished, failure=None, resamples=bench_statistics.RESAMPLES):
        """Stores all rounds. @param resamples 0: no intervals"""
        names = list(dict.fromkeys(each for values in rounds for each in values))
        figures = {each: spread([values[each] for values in rounds if each in values]) for each in names}
        comparisons = [found for found in (compare(each, rounds, resamples) for each in COMPARISONS[name]) if found]
        self.parts[name] = {"unit": UNITS[name], "figures": figures, "comparisons": comparisons, "facts": facts, "finished": finished,
                            "failure": failure}
        self.write()

    def write(self):
        content = json.dumps({"schema": 1, "environment": self.environment, "parts": self.parts})
        content = json.loads(content, parse_float=lambda number: float(f"{float(number):.6g}"))
        for path, text in ((self.file, packed_json(content)), (self.out / "gpu_bench.md", markdown(content))):
            new = path.with_name(path.name + ".new")
            new.write_text(text, encoding="utf-8")
            new.replace(path)


def markdown(content):
    lines = ["# What profkit costs on a GPU", "",
             "Command: `bench/gpu_bench.sh`. All variants of a table alternate in each round. Times are medians of the rounds, and",
             "ratios have a 95 % bootstrap interval from 5 rounds on. A ratio of additions is that of their medians; another ratio is the",
             "median of the ratios within each round.", ""]
    lines += [f"* {name}: {value}" for name, value in content["environment"].items()]
    rows = [(part, each) for part, found in content["parts"].items() for each in found["comparisons"]]
    if rows:
        lines += ["", "| what | ratio | 95 % interval | target | | rounds |", "|---|---:|---:|---:|---|---:|"]
    for _, each in rows:
        target = "" if each["target"] is None else f"{each['target']:g}"
        ratio = "n/a" if each["low"] is None else f"{each['ratio']:.3f}"
        lines.append(f"| {each['name']} | {ratio} | {bench_statistics.interval_text(each['low'], each['high'], '{:.3f}')} | {target} | "
                     f"{each['verdict'] or ''} | {each['rounds']} |")
    for name, part in content["parts"].items():
        lines += ["", f"## {name}, {part['unit']}", ""]
        if part["failure"]:
            lines += [f"Ended early: {part['failure']}", ""]
        if part["figures"]:
            lines += ["| what | median | min | max | rounds |", "|---|---:|---:|---:|---:|"]
        for what, figure in part["figures"].items():
            digits = 3 if name == "step" else 1
            lines.append(f"| {what} | {figure['median']:.{digits}f} | {figure['min']:.{digits}f} | {figure['max']:.{digits}f} | {figure['rounds']} |")
        if part["facts"]:
            lines += [""] + [f"* {what}: {value}" for what, value in part["facts"].items()]
    return "\n".join(lines) + "\n"


def measure(name, rounds_of, seconds, results, facts):
    """Measures at least one round, until the time is over."""
    _, max_rounds = SHARES[name]
    deadline = Deadline(seconds)
    begin = time.monotonic()
    rounds = []
    failure = None
    max_round = 0.0
    generator = rounds_of(deadline)
    try:
        at = time.monotonic()
        for values in generator:
            rounds.append(values)
            # The first process may load files that later ones find cached.
            max_round = time.monotonic() - at if len(rounds) < 3 else max(max_round, time.monotonic() - at)
            results.put(name, rounds, facts, False, resamples=0)  # intervals take a while
            at = time.monotonic()
            if len(rounds) >= max_rounds or deadline.left() < max_round:
                break
    except (RuntimeError, OSError, subprocess.SubprocessError, ValueError, KeyError) as problem:
        failure = f"{problem.__class__.__name__}: {problem}"
    finally:
        generator.close()
    judged = {each.name for each in COMPARISONS[name] if each.target is not None}
    results.put(name, rounds, facts, False, failure)
    missing = judged - {each["name"] for each in results.parts[name]["comparisons"]}
    failure = failure or (f"no ratio of {'; '.join(sorted(missing))}" if missing else None)
    results.put(name, rounds, facts, failure is None and bool(rounds), failure)
    found = "; ".join(f"{each['name']}: {each['ratio']:.3f}" for each in results.parts[name]["comparisons"])
    print(f"[{time.monotonic() - begin:4.0f} s] {name}: {len(rounds)} rounds{', ' + failure if failure else ''}; {found}", flush=True)


def gate_rounds(comparison, part):
    """@return (base + addition) / base in each round. The base is the median of what the reference adds: it is positive, unlike that of some rounds.
    Empty if the rounds are not stored."""
    figures = part.get("figures", {})
    columns = {name: figures.get(name, {}).get("values", []) for name in columns_of(comparison)}
    sides = [above_and_below(comparison, dict(zip(columns, values))) for values in zip(*columns.values())]
    base = statistics.median(below for _, below in sides) if sides else 0
    return [(base + above) / base for above, _ in sides] if base > 0 else []


def gate(program, comparison, recorded, measured):
    """@param recorded, measured a part
    @return a line to print, and the outcome: see bench_ratios"""
    before, now = gate_rounds(comparison, recorded), gate_rounds(comparison, measured)
    name = f"added: {comparison.name}"
    addition = statistics.fmean(before) - 1 if before else 0
    problem = ("no recorded rounds" if not before else "not measured" if not now else
               f"{len(before)} recorded and {len(now)} measured rounds; at least {bench_statistics.MIN_ROUNDS} are needed"
               if min(len(before), len(now)) < bench_statistics.MIN_ROUNDS else
               "the recorded rounds do not show an addition" if addition <= 0 or min(before) <= 0 else
               "a round is faster than without a recorder by more than the reference adds" if min(now) <= 0 else None)
    if problem:
        return f"UNDECIDED {name}: {problem}", bench_ratios.UNDECIDED
    return bench_ratios.compare_one(program, name, before, now, f"{100 * GROWTH * addition / (1 + addition):.1f}%")


def check(program, parts, recorded):
    """Compares additions with recorded rounds by `profkit compare`, and prints the outcome.
    @return the exit code: 1 if an addition grew, or none was measured; else 3 if one is undecided"""
    found = [gate(program, each, recorded["parts"].get(part, {}), parts[part]) for part, gates in GATES.items() if part in parts for each in gates]
    code = bench_ratios.worst([code for _, code in found]) if found else bench_ratios.WORSE
    print("\n".join([*(line for line, _ in found), *([] if found else ["FAIL nothing was measured"]), bench_ratios.summary(code)]))
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0, help="time for all parts together")
    parser.add_argument("--nsys", default=os.environ.get("NSYS") or "nsys", help="Nsight Systems; default: $NSYS, or nsys")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), metavar="PART", help=f"of {', '.join(COMPARISONS)}")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE",
                        help="compare with a gpu_bench.json; exit code 1: an addition grew; 3: undecided")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = Results(given.out)
    try:
        results.environment = environment() | {"Nsight Systems": text_of(given.nsys, "--version")}
    except (ImportError, IndexError) as problem:
        results.environment = {"unknown": str(problem)}
    wanted = [name for name in COMPARISONS if name in given.only and name not in results.parts]
    total = sum(SHARES[name][0] for name in wanted)
    deadline = Deadline(given.seconds)
    for name in wanted:
        facts = {}
        try:
            if name == "gpu_scope":
                rounds = rounds_of_gpu_scope(program(given.build, "profkit_gpu_scope_cost"), SHARES[name][1], facts)
            elif name in TURNS:
                rounds = (rounds_one_at_a_time if name == "launch" else rounds_of_turns)(TURNS[name], given, facts)
            else:
                names, scale = {"graph": (GRAPH, 1.0), "switch": (SWITCH, 0.001)}[name]
                rounds = rounds_of_processes(program(given.build, "profkit_launch_cost"), names, scale)
        except RuntimeError as problem:
            results.put(name, [], facts, False, str(problem))
            print(f"{name}: {problem}", flush=True)
            continue
        # The rest of the time goes to the remaining parts.
        share = SHARES[name][0] / total
        total -= SHARES[name][0]
        measure(name, rounds, max(1.0, deadline.left() * share), results, facts)
    failed = [name for name in given.only if not results.parts.get(name, {}).get("finished")]
    print((given.out / "gpu_bench.md").read_text(encoding="utf-8") if results.file.exists() else "nothing was measured")
    code = 0
    if given.check:
        code = check(program_in(given.build, "profkit"), results.parts, json.loads(given.check.read_text(encoding="utf-8")))
    return 1 if failed else code


if __name__ == "__main__":
    sys.exit(main())
