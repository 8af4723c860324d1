#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of PROFKIT=metrics=FILE: their format, values, replacement and failures.

usage: metrics.py PROGRAM CASE      PROGRAM: profkit_watched
"""
import json
import os
import re
import shutil
import subprocess
import time

from cases import require, run_case, running

COVERAGE = {"LLVM_PROFILE_FILE": os.environ.get("LLVM_PROFILE_FILE", os.devnull)}  # not in the test folder


def start(program, folder, options, *arguments, name="watched", **environment):
    running.append(subprocess.Popen([name, *arguments], executable=program, cwd=folder, env={"PROFKIT": options, **COVERAGE, **environment},
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return running[-1]


NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
LABEL = rf'{NAME}="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (-?[0-9][0-9.eE+-]*)")


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found.group(1), found.group(1)), text)


def parse(text):
    """Reads the text format strictly. @return {name: {sorted labels: value}}"""
    require(text.endswith("\n"), "the last line has no end")
    types, helps, samples, current = {}, set(), {}, None
    for line in text[:-1].split("\n"):
        if found := re.fullmatch(rf"# HELP ({NAME}) [^\n]+", line):
            current = found.group(1)
            require(current not in helps, f"a second HELP: {line}")
            helps.add(current)
        elif found := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|summary)", line):
            require(found.group(1) == current and current not in types, f"TYPE does not follow HELP: {line}")
            types[current] = found.group(2)
        else:
            found = SAMPLE.fullmatch(line)
            require(found, f"not a sample: {line!r}")
            name, labels = found.group(1), re.findall(LABEL, found.group(2))
            family = re.sub("_(sum|count)$", "", name) if types.get(current) == "summary" else name
            require(family == current and name.startswith("profkit_"), f"a sample outside its family: {line}")
            key = tuple(sorted((label.split("=", 1)[0], unescaped(label.split("=", 1)[1][1:-1])) for label in labels))
            require(len({label for label, _ in key}) == len(key), f"a label twice: {line}")
            require(key not in samples.setdefault(name, {}), f"a sample twice: {line}")
            samples[name][key] = float(found.group(3))
            require((types[current] == "counter") == name.endswith("_total"), f"only counters end in _total: {line}")
    return samples


def value(samples, name, **labels):
    found = [number for key, number in samples[name].items() if set(labels.items()) <= set(key)]
    require(len(found) == 1, f"{len(found)} samples of {name} with {labels}")
    return found[0]


def ask_promtool(text):
    """promtool, if it is installed or named by PROMTOOL, has no complaint."""
    promtool = shutil.which(os.environ.get("PROMTOOL", "promtool"))
    if promtool:
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        require(done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr)


def finish(process):
    said = process.communicate(timeout=60)
    require(process.returncode == 0, f"exit code {process.returncode}: {said}")
    return said[1]


def format(program, folder):  # pylint: disable=redefined-builtin
    """The last metrics have the figures of the report; odd names are escaped."""
    name = 'odd "na\\me"\n\xff'.encode("latin-1")
    process = start(program, folder, "metrics=run.prom,out=report", "60", name=name, RANK="1", WORLD_SIZE="2")
    require(finish(process) == "", "it warns")
    require(sorted(path.name for path in folder.iterdir()) == ["report", "run.rank1.prom"], list(folder.iterdir()))
    text = (folder / "run.rank1.prom").read_text(encoding="utf-8")
    ask_promtool(text)
    samples = parse(text)
    report = json.loads((folder / "report/rank1/report.json").read_text(encoding="utf-8"))
    for key in [key for family in samples.values() for key in family]:
        labels = dict(key)
        require(labels["rank"] == "1" and labels["pid"] == str(process.pid) and labels["program"].startswith('odd "na\\me"\n'), labels)
    require(value(samples, "profkit_steps_total", kind="measured") == 58 and value(samples, "profkit_steps_total", kind="warmup") == 2, samples)
    require(value(samples, "profkit_session_ended") == 1, samples)
    host = report["steps"]
    for quantile, member in ("0.5", "median_ms"), ("0.95", "p95_ms"), ("0.99", "p99_ms"):
        require(abs(value(samples, "profkit_step_seconds", quantile=quantile) - host[member] / 1e3) < 1e-6, (quantile, host))
    require(value(samples, "profkit_step_seconds_count") == 58, samples)
    require(abs(value(samples, "profkit_step_seconds_sum") - host["mean_ms"] * 58 / 1e3) < 1e-6, host)
    resident = report["memory"]["host"]["resident"]
    require(value(samples, "profkit_memory_bytes", source="host", quantity="resident") == resident["last_bytes"], resident)
    require("profkit_gpu_busy_ratio" not in samples, "a figure that was not measured is there")


def replaced(program, folder):
    """The file is whole at any time, has the steps so far after 15 s, and survives kill -9."""
    process = start(program, folder, "metrics=run.prom", "1000000", "1000")
    file, steps, begin = folder / "run.prom", 0, time.monotonic()
    while steps == 0 and time.monotonic() < begin + 60:
        time.sleep(0.05)
        if file.exists():
            samples = parse(file.read_text(encoding="utf-8"))
            require(value(samples, "profkit_session_ended") == 0, samples)
            steps = value(samples, "profkit_steps_total", kind="measured")
    require(steps > 0, "no steps in the metrics")
    require(14 < time.monotonic() - begin < 45, f"the metrics came after {time.monotonic() - begin} s")
    process.kill()
    process.wait()
    ask_promtool(file.read_text(encoding="utf-8"))
    require(value(parse(file.read_text(encoding="utf-8")), "profkit_steps_total", kind="measured") == steps, "they changed")
    require([path.name for path in folder.iterdir()] == ["run.prom"], list(folder.iterdir()))


def failures(program, folder):
    """A file that cannot be written is a warning in the report; the program and its report go on."""
    (folder / "folder.prom").mkdir()
    (folder / "read_only.prom").write_text("kept")
    (folder / "read_only.prom").chmod(0o444)
    cases = [("missing/run.prom", "No such file or directory"), ("folder.prom", "Is a directory")]
    if os.geteuid() != 0:
        cases.append(("read_only.prom", "Permission denied"))
    for file, reason in cases:
        process = start(program, folder, f"metrics={file},out=report", "20")
        said = finish(process)
        require(f"cannot write {folder / file}: {reason}" in said.replace(f"cannot write {file}", f"cannot write {folder / file}"), said)
        report = json.loads((folder / "report/report.json").read_text(encoding="utf-8"))
        row, = [each for each in report["quality"]["collectors"] if each["name"] == "metrics"]
        require(row["status"] == "not written" and reason in row["reason"], row)
        require(report["steps"]["measured"] == 18, report["steps"])
    require((folder / "read_only.prom").read_text() == "kept" and not (folder / "missing").exists(), "it touched other files")


if __name__ == "__main__":
    run_case(globals())
