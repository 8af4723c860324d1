#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of profkit on the host and writes it as JSON, section by section. Sections that are not measured stay unchanged."""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_check
import bench_compile
import bench_instructions
import bench_peers
import bench_tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDED = ROOT / "bench/recorded.json"
BEGIN = time.monotonic()


def say(text):
    seconds = int(time.monotonic() - BEGIN)
    print(f"[{seconds // 60:02}:{seconds % 60:02}] {text}", flush=True)


def output_of(*command, **keywords):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **keywords).stdout


def machine(compiler):
    """A description of the machine."""
    cpu = re.search(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    clock = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {
        "cpu": cpu[1] if cpu else os.uname().machine,
        "cpus": os.cpu_count(),
        "kernel": os.uname().release,
        "clocksource": clock.read_text().strip() if clock.exists() else "unknown",
        "compiler": output_of(compiler, "--version").splitlines()[0],
    }


class Place:
    """The parameters of all sections."""

    def __init__(self, arguments):
        self.build = pathlib.Path(arguments.build)
        self.compiler = arguments.compiler
        self.nsys = arguments.nsys
        self.nvtx = arguments.nvtx
        self.quick = arguments.quick

    def program(self, name):
        found = self.build / "bench" / name
        if not found.exists():
            raise FileNotFoundError(f"{name} was not built")
        return found

    def rounds(self, many, few):
        return few if self.quick else many


def scopes(place):
    """Nanoseconds of each variant by round. A round is one process that measures all variants."""
    rounds = place.rounds(151, 31)
    found = {}
    for turn in range(rounds):
        if turn % 50 == 0:
            say(f"scopes: round {turn} of {rounds}")
        text = output_of(place.program("profkit_scope_cost"), "--benchmark_format=json", stderr=subprocess.DEVNULL)
        for each in json.loads(text)["benchmarks"]:
            found.setdefault(each["name"].split("/")[0], []).append(round(each["ns"], 3))
    return {"ns": found}


def instructions(place):
    say("instructions")
    version = output_of(place.compiler, "-dumpfullversion", "-dumpversion").strip()
    is_clang = "clang" in output_of(place.compiler, "--version")
    return {"compiler": f"{'Clang' if is_clang else 'GNU'} {version}",
            "counts": bench_instructions.count(place.program("profkit_scope_instructions"))}


def nsys(place):
    if shutil.which(place.nsys) is None:
        raise FileNotFoundError(f"there is no Nsight Systems ({place.nsys})")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(place.rounds(3, 1)):
            say(f"under Nsight Systems: run {number + 1}")
            file = pathlib.Path(folder) / "ranges.json"
            output_of(place.nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true",
                      f"--output={folder}/report", place.program("profkit_nvtx_cost"), file, stderr=subprocess.STDOUT)
            measured = json.loads(file.read_text())
            if not measured.pop("tool_attached"):
                raise RuntimeError("Nsight Systems did not listen to NVTX")
            for name, ns in measured.items():
                found.setdefault(name, []).extend(round(each) for each in ns)
    return {"version": output_of(place.nsys, "--version").strip(), "ns": found}


def memory(place):
    say("memory of scopes")
    return json.loads(output_of(place.program("profkit_log_memory")))


def order_statistics(values, count=101):
    """@return evenly spaced values of the sorted list, including its ends: enough for the tables if the order has no meaning."""
    ordered = sorted(values)
    if len(ordered) <= count:
        return ordered
    return [ordered[round(i * (len(ordered) - 1) / (count - 1))] for i in range(count)]


def first_use(place):
    say("first uses")
    program = place.program("profkit_first_use")
    found = {}
    for _ in range(place.rounds(5, 2)):
        for name, ns in json.loads(output_of(program)).items():
            found.setdefault(name, []).extend(ns)
    return {"ns": {name: order_statistics(ns) for name, ns in found.items()}, "system_calls": system_calls(program)}


def system_calls(program):
    """@return the system calls of a new thread in its first and second scope; None without strace."""
    if shutil.which("strace") is None:
        return None
    done = subprocess.run(["strace", "-f", str(program), "--calls"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    calls = [re.search(r"^(?:\[pid +\d+\] )?(\w+)\(", line) for line in done.stderr.splitlines()]
    names = [call[1] for call in calls if call]
    marks = [position for position, name in enumerate(names) if name == "getppid"]
    if len(marks) != 3:
        return None
    return {"first": names[marks[0] + 1:marks[1]], "second": names[marks[1] + 1:marks[2]]}


def compile_time(place):
    return bench_compile.measure(place.compiler, ROOT / "include", place.nvtx, place.rounds(7, 2), say)


def projects(place):
    return bench_compile.measure_projects(place.compiler, ROOT, place.rounds(3, 1), say)


def last_json_line(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise ValueError("the program printed no JSON")


def analysis(place):
    say("analysis")
    return last_json_line(output_of(place.program("profkit_analyze_cost"), *([1_000_000] if place.quick else [])))


def trace(place):
    say("traces")
    return last_json_line(output_of(place.program("profkit_trace_cost"), *([100_000] if place.quick else [])))


def peers(place):
    return bench_peers.measure(place, ROOT, place.rounds(21, 3), say)


SECTIONS = {"scopes": scopes, "instructions": instructions, "nsys": nsys, "memory": memory, "first_use": first_use,
            "compile": compile_time, "projects": projects, "analysis": analysis, "trace": trace, "peers": peers}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"default: all of {' '.join(SECTIONS)}")
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--results", default=bench_tables.HOST_RESULTS, type=pathlib.Path)
    parser.add_argument("--nsys", default="nsys")
    parser.add_argument("--nvtx", help="folder of nvtx3/nvtx3.hpp")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--check", action="store_true", help="compare with bench/recorded.json and write nothing")
    parser.add_argument("--record", action="store_true", help="also write the measurements to bench/recorded.json")
    arguments = parser.parse_args()
    wanted = arguments.sections or ([*bench_check.SECTIONS] if arguments.check else [*SECTIONS])
    for name in wanted:
        if name not in SECTIONS:
            parser.error(f"no section '{name}'. Valid: {' '.join(SECTIONS)}")
    place = Place(arguments)
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() and not arguments.check else {}
    missing = []
    for name in wanted:
        try:
            measured = SECTIONS[name](place)
        except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError, bench_instructions.CannotCount) as reason:
            missing.append(name)
            say(f"{name} is skipped: {reason}")
            continue
        load = round(statistics.mean(os.getloadavg()[:2]), 1)
        results[name] = {"date": datetime.date.today().isoformat(), "load": load, "machine": machine(place.compiler), "found": measured}
    if arguments.check:
        return bench_check.report(place.build / "tools/profkit/profkit", results, json.loads(RECORDED.read_text()))
    if arguments.record:
        now = {name: results[name] for name in wanted if name not in missing}
        RECORDED.write_text(bench_tables.packed_json(bench_check.renewed(now, json.loads(RECORDED.read_text()))))
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    arguments.results.write_text(bench_tables.packed_json(results))
    for document in bench_tables.DOCUMENTS:
        bench_tables.renew(document, results)
    print(bench_tables.all_tables(results))
    if missing:
        say(f"skipped: {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
