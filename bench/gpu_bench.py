# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks that need a GPU, in rounds, and writes the results after each round: gpu_bench.json and gpu_bench.md.

The compared variants alternate, so that other load on the machine affects all of them. Figures are medians of the rounds, with minimum and
maximum; a ratio is the median of the ratios within each round. The number of rounds depends on the time of a part."""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/gpu"))
from checks.programs import ROOT, environment, line_of_a_turn, program_in

# A figure divided by a reference, in each round. With a base, each is the difference to its base. The ratio should be at most the bar.
Comparison = collections.namedtuple("Comparison", "name of base reference reference_base bar")

LAUNCH = ("nothing", "CUPTI kernel records", "profkit kernels", "profkit kernels, in a step without them", "profkit scopes",
          "profkit scopes and kernels", "CUPTI records, switched off again", "CUPTI kernel and runtime records", "profkit scopes, kernels and all API calls")
GRAPH = ("graph: nothing", "graph: CUPTI kernel records", "graph: profkit kernels")
SWITCH = ("switch to a step with kernels", "switch back", "start of the collection")
TRAINER = {"trainer, no profiler": "off", "trainer, profkit scopes": "kernels=off", "trainer, profkit kernels=every:10": "kernels=every:10",
           "trainer, profkit kernels": "", "trainer, CUPTI kernel records": "cupti",
           "trainer, CUPTI kernel records switched off again": "cupti_off"}
PYTORCH = {"PyTorch eager, no profiler": "none", "PyTorch eager, torch.profiler CUDA": "cuda"}
STEP_OPTIONS = ["--size", "small", "--ctx", "128", "--batch", "4", "--mode", "train", "--precision", "fp32", "--warmup", "5", "--steps", "30",
                "--seed", "0"]

COMPARISONS = {
    "launch": [
        Comparison("a launch: what profkit adds, over what CUPTI's bare kernel records add", "profkit kernels", "nothing",
                   "CUPTI kernel records", "nothing", 1.1),
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
        Comparison("a step: what profkit's kernels add, over what torch.profiler CUDA adds to PyTorch's", "trainer, profkit kernels",
                   "trainer, no profiler", "PyTorch eager, torch.profiler CUDA", "PyTorch eager, no profiler", 0.5),
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
        Comparison("a step: torch.profiler CUDA, over no profiler", "PyTorch eager, torch.profiler CUDA", None, "PyTorch eager, no profiler",
                   None, None),
    ],
    "graph": [
        Comparison("a node of a graph: what profkit adds, over what CUPTI's bare records add", "graph: profkit kernels", "graph: nothing",
                   "graph: CUPTI kernel records", "graph: nothing", 1.1),
    ],
    "switch": [],
}
UNITS = {"launch": "ns a launch", "gpu_scope": "ns a scope", "step": "ms a step", "graph": "ns a node", "switch": "us each"}
# Shares of the available time, and maximum numbers of rounds.
SHARES = {"launch": (0.22, 15), "gpu_scope": (0.06, 60), "step": (0.50, 25), "graph": (0.14, 15), "switch": (0.08, 7)}


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


class Turns:
    """A long-running program that measures once per input line."""

    def __init__(self, command):
        self.shown = " ".join(command[-2:])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=os.environ | {"PROFKIT": ""})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def measure(self, timeout):
        line = line_of_a_turn(self.process, timeout)
        if line is None:
            raise RuntimeError(f"{self.shown}: it ended early, or took longer than {timeout:.0f} s")
        return json.loads(line)


def rounds_of_step(build, facts):
    def rounds(deadline):
        executable = program(build, "step_cost")
        benchmark = ROOT / "examples/transformer_train/reference/benchmark.py"
        commands = {name: [executable, profkit] for name, profkit in TRAINER.items()}
        commands |= {name: [sys.executable, str(benchmark), *STEP_OPTIONS, "--device", "cuda", "--turns", "--profiler", which]
                     for name, which in PYTORCH.items()}
        with contextlib.ExitStack() as stack:
            programs = {name: stack.enter_context(Turns(command)) for name, command in commands.items()}
            with concurrent.futures.ThreadPoolExecutor() as pool:  # the first measurement of each loads kernels and the profiler
                first = {name: pool.submit(each.measure, max(10, deadline.left())) for name, each in programs.items()}
            for name, result in list(first.items()):
                if result.exception() is not None:  # the others are measured
                    facts[f"left out: {name}"] = str(result.exception())
                    del programs[name]
            number = 0
            while programs:
                values = {}
                for name in order(programs, number):
                    result = programs[name].measure(60)
                    values[name] = result["loop_ms"]
                    if "steps_ms" in result:
                        values[f"{name}, typical"] = typical(result["steps_ms"])
                    if "collected_steps" in result:
                        facts[f"{name}: steps with kernels, operations in them"] = [result["collected_steps"], result["operations"]]
                yield values
                number += 1
    return rounds


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "rounds": len(values), "values": values}


def compare(comparison, rounds):
    """@return the median of the ratios of single rounds, and the ratio of the medians. None if a round lacks one of the figures."""
    ratios = []
    columns = [comparison.of, comparison.reference, *(name for name in (comparison.base, comparison.reference_base) if name)]
    if any(name not in values for values in rounds for name in columns):
        return None
    for values in rounds:
        below = values[comparison.reference] - (values[comparison.reference_base] if comparison.reference_base else 0)
        above = values[comparison.of] - (values[comparison.base] if comparison.base else 0)
        if below > 0:
            ratios.append(above / below)
    if not ratios:
        return None
    median = {name: statistics.median(values[name] for values in rounds) for name in columns}
    below = median[comparison.reference] - (median[comparison.reference_base] if comparison.reference_base else 0)
    above = median[comparison.of] - (median[comparison.base] if comparison.base else 0)
    ratio = statistics.median(ratios)
    return {"name": comparison.name, "ratio": ratio, "least": min(ratios), "most": max(ratios),
            "ratio_of_medians": above / below if below > 0 else None, "bar": comparison.bar, "met": None if comparison.bar is None else ratio <= comparison.bar, "rounds": len(ratios)}


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
        comparisons = [found for found in (compare(each, rounds) for each in COMPARISONS[name]) if found] if rounds else []
        self.parts[name] = {"unit": UNITS[name], "figures": figures, "comparisons": comparisons, "facts": facts, "finished": finished,
                            "failure": failure}
        self.write()

    def write(self):
        content = {"schema": 1, "environment": self.environment, "parts": self.parts}
        for path, text in ((self.file, json.dumps(content, indent=1) + "\n"), (self.out / "gpu_bench.md", markdown(content))):
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
    results.put(name, rounds, facts, failure is None and bool(rounds), failure)
    found = "; ".join(f"{each['name']}: {each['ratio']:.3f}" for each in results.parts[name]["comparisons"])
    print(f"[{time.monotonic() - begin:4.0f} s] {name}: {len(rounds)} rounds{', ' + failure if failure else ''}; {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=170.0, help="time for all parts together")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), metavar="PART", help=f"of {', '.join(COMPARISONS)}")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = Results(given.out)
    try:
        results.environment = environment()
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
            elif name == "step":
                rounds = rounds_of_step(given.build, facts)
            else:
                names, scale = {"launch": (LAUNCH, 1.0), "graph": (GRAPH, 1.0), "switch": (SWITCH, 0.001)}[name]
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
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
