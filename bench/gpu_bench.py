# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks that need a GPU, in rounds, and writes the results after each round: gpu_bench.json and gpu_bench.md.

The compared variants alternate, so that other load on the machine affects all of them. Figures are medians of the rounds, with minimum and
maximum; a ratio is the median of the ratios within each round. The number of rounds depends on the time of a part."""
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
from bench_tables import packed_json

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/gpu"))
from checks.programs import environment, line_of_a_turn, program_in, text_of

# A program that measures once per input line, and its arguments.
Program = collections.namedtuple("Program", "name arguments is_under_nsys", defaults=[False])
# A figure divided by a reference, in each round. With a base, each is the difference to its base. The ratio should be at most the bar.
Comparison = collections.namedtuple("Comparison", "name of base reference reference_base bar")

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
        Comparison("a launch: what profkit adds, over what CUPTI's bare kernel records add", "profkit kernels", "nothing",
                   "CUPTI kernel records", "nothing", 1.1),
        Comparison("a launch: what profkit adds, over what Kineto (CUDA) adds", "profkit kernels", "nothing", "Kineto CUDA records",
                   "nothing, with LibTorch", None),
        Comparison("a launch: what profkit adds, over what Nsight Systems (CUDA) adds", "profkit kernels", "nothing", "nsys, CUDA",
                   "nothing", None),
        Comparison("a launch in a process with LibTorch, over one without", "nothing, with LibTorch", None, "nothing", None, None),
        Comparison("a launch in a step without kernels, over one that nothing watches", "profkit kernels, in a step without them", None,
                   "nothing", None, None),
        Comparison("a launch where CUPTI's bare records were switched off again, over one that nothing watches",
                   "CUPTI records, switched off again", None, "nothing", None, None),
    ],
    "gpu_scope": [
        Comparison("PROF_GPU_SCOPE, over two bare event records", "PROF_GPU_SCOPE", None, "two event records", None, 1.1),
        Comparison("two event records of the driver, over two of the runtime", "two event records of the driver", None, "two event records",
                   None, None),
    ],
    "step": [
        Comparison("a step: what profkit's kernels add, over what Kineto (CUDA) adds", "trainer, profkit kernels", "trainer, no profiler",
                   "trainer, Kineto CUDA", "trainer, no profiler", 0.5),
        Comparison("a step: what profkit's kernels add, over what Nsight Systems (CUDA) adds", "trainer, profkit kernels",
                   "trainer, no profiler", "trainer, nsys CUDA", "trainer, no profiler", None),
        Comparison("a step: what profkit's kernels add, over what CUPTI's bare kernel records add", "trainer, profkit kernels",
                   "trainer, no profiler", "trainer, CUPTI kernel records", "trainer, no profiler", None),
        Comparison("a typical step: with kernels=every:10, over scopes alone", "trainer, profkit kernels=every:10, typical", None,
                   "trainer, profkit scopes, typical", None, 1.01),
        Comparison("a typical step: where CUPTI's bare records were switched off again, over no profiler",
                   "trainer, CUPTI kernel records switched off again, typical", None, "trainer, no profiler, typical", None, None),
        Comparison("a step: with kernels=every:10, over scopes alone", "trainer, profkit kernels=every:10", None, "trainer, profkit scopes",
                   None, None),
        Comparison("a step: with kernels=every:10, over no profiler", "trainer, profkit kernels=every:10", None, "trainer, no profiler", None,
                   None),
        Comparison("a step: with scopes, over no profiler", "trainer, profkit scopes", None, "trainer, no profiler", None, None),
        Comparison("a step: with kernels, over no profiler", "trainer, profkit kernels", None, "trainer, no profiler", None, None),
        Comparison("a step: with Kineto (CUDA), over no profiler", "trainer, Kineto CUDA", None, "trainer, no profiler", None, None),
        Comparison("a step: with Kineto (CPU and CUDA), over no profiler", "trainer, Kineto CPU and CUDA", None, "trainer, no profiler",
                   None, None),
        Comparison("a step: with Nsight Systems (CUDA), over no profiler", "trainer, nsys CUDA", None, "trainer, no profiler", None, None),
    ],
    "graph": [
        Comparison("a node of a graph: what profkit adds, over what CUPTI's bare records add", "graph: profkit kernels", "graph: nothing",
                   "graph: CUPTI kernel records", "graph: nothing", 1.1),
    ],
    "switch": [],
}
# What is compared with recorded rounds: ratios that are always positive.
RATIOS = [("launch", "profkit scopes", "nothing"), ("launch", "profkit scopes and kernels", "CUPTI kernel records"),
          ("step", "trainer, profkit scopes", "trainer, no profiler"), ("step", "trainer, profkit kernels", "trainer, CUPTI kernel records")]
MOST_SLOWER = "20%"
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


def rounds_of_gpu_scope(executable, most, facts):
    """Runs one process that prints its rounds."""
    def rounds(_deadline):
        with subprocess.Popen([executable, str(most)], stdout=subprocess.PIPE, text=True) as process:
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
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "rounds": len(values), "values": values}


def compare(comparison, rounds):
    """@return the median of the ratios of single rounds, and the ratio of the medians. None if no round has a ratio."""
    columns = [comparison.of, comparison.reference, *(name for name in (comparison.base, comparison.reference_base) if name)]
    complete = [values for values in rounds if all(name in values for name in columns)]

    def above_and_below(values):
        return (values[comparison.of] - (values[comparison.base] if comparison.base else 0),
                values[comparison.reference] - (values[comparison.reference_base] if comparison.reference_base else 0))
    ratios = [above / below for above, below in map(above_and_below, complete) if below > 0]
    if not ratios:
        return None
    above, below = above_and_below({name: statistics.median(values[name] for values in complete) for name in columns})
    ratio = statistics.median(ratios)
    return {"name": comparison.name, "ratio": ratio, "least": min(ratios), "most": max(ratios),
            "ratio_of_medians": above / below if below > 0 else None, "bar": comparison.bar,
            "met": None if comparison.bar is None else ratio <= comparison.bar, "rounds": len(ratios)}


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

    def put(self, name, rounds, facts, finished, failure=None):
        names = list(dict.fromkeys(each for values in rounds for each in values))
        figures = {each: spread([values[each] for values in rounds if each in values]) for each in names}
        comparisons = [found for found in (compare(each, rounds) for each in COMPARISONS[name]) if found]
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
             "ratios are medians of the ratios within each round.", ""]
    lines += [f"* {name}: {value}" for name, value in content["environment"].items()]
    rows = [(part, each) for part, found in content["parts"].items() for each in found["comparisons"]]
    if rows:
        lines += ["", "| what | ratio | least to most | bar | | rounds |", "|---|---:|---:|---:|---|---:|"]
    for _, each in rows:
        state = {True: "met", False: "missed", None: ""}[each["met"]]
        bar = "" if each["bar"] is None else f"{each['bar']:g}"
        lines.append(f"| {each['name']} | {each['ratio']:.3f} | {each['least']:.3f} to {each['most']:.3f} | {bar} | {state} | {each['rounds']} |")
    for name, part in content["parts"].items():
        lines += ["", f"## {name}, {part['unit']}", ""]
        if part["failure"]:
            lines += [f"Ended early: {part['failure']}", ""]
        if part["figures"]:
            lines += ["| what | median | least | most | rounds |", "|---|---:|---:|---:|---:|"]
        for what, of in part["figures"].items():
            digits = 3 if name == "step" else 1
            lines.append(f"| {what} | {of['median']:.{digits}f} | {of['least']:.{digits}f} | {of['most']:.{digits}f} | {of['rounds']} |")
        if part["facts"]:
            lines += [""] + [f"* {what}: {value}" for what, value in part["facts"].items()]
    return "\n".join(lines) + "\n"


def measure(name, rounds_of, seconds, results, facts):
    """Measures at least one round, until the time is over."""
    _, most = SHARES[name]
    deadline = Deadline(seconds)
    begin = time.monotonic()
    rounds = []
    failure = None
    longest = 0.0
    generator = rounds_of(deadline)
    try:
        at = time.monotonic()
        for values in generator:
            rounds.append(values)
            # The first process may load files that later ones find cached.
            longest = time.monotonic() - at if len(rounds) < 3 else max(longest, time.monotonic() - at)
            results.put(name, rounds, facts, False)
            at = time.monotonic()
            if len(rounds) >= most or deadline.left() < longest:
                break
    except (RuntimeError, OSError, subprocess.SubprocessError, ValueError, KeyError) as problem:
        failure = f"{problem.__class__.__name__}: {problem}"
    finally:
        generator.close()
    bars = {each.name for each in COMPARISONS[name] if each.bar is not None}
    results.put(name, rounds, facts, False, failure)
    missing = bars - {each["name"] for each in results.parts[name]["comparisons"]}
    failure = failure or (f"no ratio of {'; '.join(sorted(missing))}" if missing else None)
    results.put(name, rounds, facts, failure is None and bool(rounds), failure)
    found = "; ".join(f"{each['name']}: {each['ratio']:.3f}" for each in results.parts[name]["comparisons"])
    print(f"[{time.monotonic() - begin:4.0f} s] {name}: {len(rounds)} rounds{', ' + failure if failure else ''}; {found}", flush=True)


def ratio_rounds(parts):
    """@return the ratios of each round by name, as far as they were measured."""
    found = {}
    for part, name, of in RATIOS:
        figures = parts.get(part, {}).get("figures", {})
        values = [figures.get(each, {}).get("values", []) for each in (name, of)]
        if all(values):
            found[f"{name} / {of}"] = [a / b for a, b in zip(*values)]
    return found


def check(program, parts, recorded):
    """Compares with recorded rounds by `profkit compare`. @return whether a ratio is worse, or none was compared"""
    lines, is_worse = bench_ratios.compare(program, ratio_rounds(recorded["parts"]), ratio_rounds(parts), MOST_SLOWER)
    print("\n".join(lines or ["FAIL no ratio was measured on both sides"]))
    return is_worse or not lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0, help="time for all parts together")
    parser.add_argument("--nsys", default=os.environ.get("NSYS") or "nsys", help="Nsight Systems; default: $NSYS, or nsys")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), metavar="PART", help=f"of {', '.join(COMPARISONS)}")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE", help="compare with a gpu_bench.json; exit code 1 if something is worse")
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
    is_worse = False
    if given.check:
        is_worse = check(program_in(given.build, "profkit"), results.parts, json.loads(given.check.read_text(encoding="utf-8")))
    return 1 if failed or is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
