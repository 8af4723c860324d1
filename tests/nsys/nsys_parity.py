#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the data of Nsight Systems and profkit from two runs of the same program, over the measured steps. Prints a Markdown table.

usage: nsys_parity.py SQLITE DIRECTORY [TITLE]     exit code: 0 equal within the limits, 1 not, 2 cannot be compared
SQLITE     nsys export --type=sqlite of a run with `-t cuda,nvtx` and PROFKIT=kernels=off
DIRECTORY  the --out directory of another run of the trainer, with the same arguments and collected kernels; also the tables that
           `profkit report PROFILE --nsys DIRECTORY` writes from the profile that this run saved

A kernel belongs to the measured steps if its launching API call began inside one of them, on whatever thread. Times are in milliseconds.
"""
import bisect
import collections
import csv
import json
import pathlib
import sqlite3
import sys

# In per cent of the value of nsys. Names and counts must be equal.
TOTAL_BAR, KERNEL_BAR, PROJECTION_BAR = 1.0, 2.0, 2.0
TOP_KERNELS = 20
# The ranges whose projection onto the GPU is compared, if the run has them.
PROJECTED = ("forward", "attention_sublayer", "attention projections", "rope q", "rope k", "attention scores + mask", "softmax",
             "attention x value", "scaled dot product attention", "output projection", "optimizer")
PUSH_POP, DOMAIN = 59, 75
OPERATIONS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
PROCESS = 0xFFFFFFFFFF000000 - (1 << 64)  # a signed number, like SQLite's

Range = collections.namedtuple("Range", "begin end thread name payload")
Kernel = collections.namedtuple("Kernel", "count total")


class Incomparable(Exception):
    """One of the two sides lacks data for the comparison."""


def read_ranges(database):
    """@return the push/pop ranges of the domain profkit."""
    domains = set(database.execute(
        f"""SELECT event.domainId, event.globalTid & {PROCESS} FROM NVTX_EVENTS AS event LEFT JOIN StringIds AS name ON name.id = event.textId
            WHERE event.eventType = {DOMAIN} AND coalesce(name.value, event.text) = 'profkit'"""))
    rows = database.execute(
        f"""SELECT event.domainId, event.globalTid & {PROCESS}, event.start, event.end, event.globalTid, coalesce(name.value, event.text, ''),
              event.uint64Value
            FROM NVTX_EVENTS AS event LEFT JOIN StringIds AS name ON name.id = event.textId
            WHERE event.eventType = {PUSH_POP} AND event.end IS NOT NULL""")
    return [Range(*row[2:]) for row in rows if row[:2] in domains]


def has_table(database, name):
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


class Steps:
    """@return the measured steps on the clock of nsys."""

    def __init__(self, ranges, warmup):
        steps = sorted((each.begin, each.end) for each in ranges if each.name == "step" and (each.payload or 0) >= warmup)
        self.begins, self.ends = [begin for begin, _ in steps], [end for _, end in steps]

    def hold(self, moment):
        at = bisect.bisect_right(self.begins, moment) - 1
        return at >= 0 and moment <= self.ends[at]


def read_operations(database):
    """@return kernels, copies and memsets with their launch: (call begin, call end, thread, begin, end, mangled name or None), in the order
    of the calls. A runtime launch may also have a driver launch with the same correlation: the outer one counts."""
    database.execute(
        f"""CREATE TEMP TABLE launch AS
            SELECT correlationId AS id, globalTid & {PROCESS} AS process, globalTid AS thread, min(start) AS begin, max(end) AS end
            FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY correlationId, globalTid & {PROCESS}""")
    database.execute("CREATE INDEX temp.launch_by_id ON launch (id, process)")
    operations = []
    for table in OPERATIONS:
        if not has_table(database, table):
            continue
        name, names = "NULL", ""
        if table.endswith("KERNEL"):
            name, names = "coalesce(name.value, '?')", "LEFT JOIN StringIds AS name ON name.id = operation.mangledName"
        operations += database.execute(
            f"""SELECT launch.begin, launch.end, launch.thread, operation.start, operation.end, {name}
                FROM {table} AS operation
                JOIN launch ON launch.id = operation.correlationId AND launch.process = operation.globalPid {names}""").fetchall()
    return sorted(operations, key=lambda operation: operation[:3])


def count_kernels(operations, steps):
    count, total = collections.Counter(), collections.Counter()
    for begin, _, _, first, last, name in operations:
        if name is not None and steps.hold(begin):
            count[name] += 1
            total[name] += last - first
    return {name: Kernel(count[name], total[name] / 1e6) for name in count}


def spellings(database):
    """@return the name of each kernel in nsys, by mangled name."""
    return dict(database.execute(
        """SELECT DISTINCT coalesce(mangled.value, '?'), coalesce(demangled.value, '?') FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel
           LEFT JOIN StringIds AS mangled ON mangled.id = kernel.mangledName
           LEFT JOIN StringIds AS demangled ON demangled.id = kernel.demangledName"""))


def launches_in_ranges(operations, ranges, steps):
    """@return pairs of a range in the measured steps and an operation launched in it, on its thread."""
    by_thread = collections.defaultdict(list)
    for each in ranges:
        if steps.hold(each.begin):
            by_thread[each.thread].append(each)
    launched = collections.defaultdict(list)
    for operation in operations:
        launched[operation[2]].append(operation)
    for thread, inside in by_thread.items():
        inside.sort(key=lambda each: (each.begin, -each.end))
        is_open, following = [], 0
        for operation in launched[thread]:
            call_begin, call_end = operation[:2]
            while following < len(inside) and inside[following].begin <= call_begin:
                is_open = [each for each in is_open if each.end >= inside[following].begin] + [inside[following]]
                following += 1
            is_open = [each for each in is_open if each.end >= call_begin]
            for each in is_open:
                if each.end >= call_end:
                    yield each, operation


def projections(operations, ranges, steps):
    """@return the sum over the ranges with one name of the time from the first start to the last end of the operations launched in them, on
    their thread."""
    spans = {}
    for inside, (_, _, _, first, last, _) in launches_in_ranges(operations, ranges, steps):
        span = spans.get(inside, (first, last))
        spans[inside] = (min(first, span[0]), max(last, span[1]))
    totals = collections.Counter()
    for inside, (first, last) in spans.items():
        totals[inside.name] += (last - first) / 1e6
    return totals


def read_csv(path, key, value):
    """@return one column of a summary by the names in another, for ranges of the domain profkit."""
    with open(path, encoding="utf-8", newline="") as file:
        return {row[key].removeprefix("profkit:"): float(row[value]) for row in csv.DictReader(file)}


def kernels_of(report):
    if report["kernels"] is None:
        reasons = [each["reason"] for each in report["quality"]["collectors"] if each["name"] == "kernels"]
        raise Incomparable("profkit collected no kernels: " + (reasons[0] or "no reason given" if reasons else "no collector"))
    kernels, readable = {}, {}
    for each in report["kernels"]:
        name = each["mangled"] or each["name"]
        before = kernels.get(name, Kernel(0, 0.0))
        kernels[name] = Kernel(before.count + each["count"], before.total + each["total_ms"])
        readable[name] = each["name"]
    return kernels, readable


class Table:
    def __init__(self):
        self.rows = []

    def add(self, check, nsys, ours, difference, passed):
        self.rows.append((check, nsys, ours, difference, "PASS" if passed else "FAIL"))

    def equal(self, check, nsys, ours):
        self.add(check, f"{nsys:,}", f"{ours:,}", f"{ours - nsys:,}", nsys == ours)

    def close(self, check, nsys, ours, bar):
        if nsys is None or ours is None:
            self.add(check, *("not there" if value is None else f"{value:.3f}" for value in (nsys, ours)), "", False)
            return
        off = 100 * (ours - nsys) / nsys if nsys else (0.0 if ours == nsys else float("inf"))
        self.add(check, f"{nsys:.3f}", f"{ours:.3f}", f"{off:+.3f} % (bar {bar:g} %)", abs(off) <= bar)

    def failed(self):
        return sum(row[-1] == "FAIL" for row in self.rows)

    def markdown(self):
        lines = ["| check | nsys | profkit | difference | |", "|---|---:|---:|---:|---|"]
        return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows])


def short(name):
    return name if len(name) <= 100 else name[:97] + "..."


def compare_kernels(table, theirs, ours, readable):
    table.equal("kernels: different names", len(theirs), len(ours))
    table.equal("kernels: launches", sum(each.count for each in theirs.values()), sum(each.count for each in ours.values()))
    none = Kernel(0, 0.0)
    different = [name for name in sorted(theirs.keys() | ours.keys()) if theirs.get(name, none).count != ours.get(name, none).count]
    table.add("kernels: names with another count", "", "", f"{len(different)}", not different)
    for name in different:
        table.equal(f"launches of `{short(readable.get(name, name))}`", theirs.get(name, none).count, ours.get(name, none).count)
    table.close("kernels: total time", sum(each.total for each in theirs.values()), sum(each.total for each in ours.values()), TOTAL_BAR)
    top = sorted(theirs, key=lambda name: -theirs[name].total)[:TOP_KERNELS]
    for place, name in enumerate(top, 1):
        table.close(f"{place}. `{short(readable.get(name, name))}`, {theirs[name].count:,} launches", theirs[name].total,
                    ours[name].total if name in ours else None, KERNEL_BAR)


def compare_spellings(table, theirs, spelling, found):
    """Compares the names in cuda_gpu_kern_sum.csv, character by character, and their counts."""
    expected = collections.Counter()
    for mangled, kernel in theirs.items():
        expected[spelling[mangled]] += kernel.count
    different = [name for name in sorted(expected.keys() | found.keys()) if expected[name] != found.get(name, 0)]
    table.add("kernels: names spelled otherwise in cuda_gpu_kern_sum.csv", "", "", f"{len(different)}", not different)
    for name in different:
        table.equal(f"instances of `{name}`", expected[name], found.get(name, 0))


def compare_ranges(table, theirs, ours):
    table.equal("NVTX ranges: different names", len(theirs), len(ours))
    table.equal("NVTX ranges: instances", sum(theirs.values()), sum(ours.values()))
    different = [name for name in sorted(theirs.keys() | ours.keys()) if theirs.get(name, 0) != ours.get(name, 0)]
    table.add("NVTX ranges: names with another count", "", "", f"{len(different)}", not different)
    for name in different:
        table.equal(f"instances of `{name}`", theirs.get(name, 0), ours.get(name, 0))


def compare(database, folder, table):
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    ours, readable = kernels_of(report)
    ranges = read_ranges(database)
    steps = Steps(ranges, report["steps"]["warmup"])
    if not steps.begins:
        raise Incomparable("nsys has no measured step: no range \"step\" in the domain profkit")
    for needed in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
        if not has_table(database, needed):
            raise Incomparable(f"nsys has no table {needed}")
    operations = read_operations(database)
    table.equal("measured steps", len(steps.begins), report["steps"]["measured"])
    theirs = count_kernels(operations, steps)
    compare_kernels(table, theirs, ours, readable)
    instances = read_csv(folder / "cuda_gpu_kern_sum.csv", "Name", "Instances")
    compare_spellings(table, theirs, spellings(database), {name: int(count) for name, count in instances.items()})
    counts = read_csv(folder / "nvtx_pushpop_sum.csv", "Range", "Instances")
    compare_ranges(table, collections.Counter(each.name for each in ranges if steps.hold(each.begin)),
                   {name: int(count) for name, count in counts.items()})
    expected = projections(operations, ranges, steps)
    found = read_csv(folder / "nvtx_gpu_proj_sum.csv", "Range", "Total Proj Time (ns)")
    wanted = [name for name in PROJECTED if name in expected or name in found]
    if not wanted:
        raise Incomparable("no range with GPU work is known to both")
    for name in wanted:
        table.close(f"GPU projection of `{name}`", expected.get(name), found[name] / 1e6 if name in found else None, PROJECTION_BAR)


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    database, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    table = Table()
    try:
        if not database.is_file():
            raise Incomparable(f"{database}: there is no such file")
        compare(sqlite3.connect(database), folder, table)
    except (Incomparable, OSError, KeyError, sqlite3.Error) as failure:
        print(f"{table.markdown()}\n\ncannot be compared: {failure.__class__.__name__}: {failure}")
        return 2
    title = sys.argv[3] if len(sys.argv) == 4 else folder.name
    verdict = f"{len(table.rows)} checks, {table.failed()} failed"
    print(f"## {title}\n\n{table.markdown()}\n\n{verdict}")
    return 1 if table.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
