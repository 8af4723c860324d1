# SPDX-License-Identifier: Apache-2.0
"""Checks that run small programs: unit tests, examples, exact attribution, kills, the cost of a launch, NVTX ranges."""
import math
import re
import subprocess
import sys
import xml.etree.ElementTree

from checks.programs import ROOT, has_nsys, program_in, report_in, run_logged, text_of

# The maximum cost of a launch with profkit, as a multiple of the cost that CUPTI's kernel records alone add.
LAUNCH_COST_BAR = 1.1
# The programs that tests/gpu/kernels_in_journal.cpp kills do four kinds of work.
KINDS_OF_KILLS = 4


def check_gpu_tests(checks, place):
    program = program_in(place.build, "profkit_gpu_tests")
    result = place.out / "gpu_tests.xml"
    done = subprocess.run([str(program), "--reporter", f"junit::out={result}", "--reporter", "console"], capture_output=True, text=True,
                          check=False, timeout=120)
    (place.out / "gpu_tests.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    suite = next(xml.etree.ElementTree.parse(result).getroot().iter("testsuite"))
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    passed = done.returncode == 0 and count["tests"] > 0 and count["skipped"] == 0
    failed = [f"{case.get('name')}: {' '.join((each.text or '').split())[:1200]}" for case in suite.iter("testcase") for each in case
              if each.tag in ("failure", "error")]
    checks.add("GPU unit tests", passed, "; ".join([", ".join(f"{number} {name}" for name, number in count.items()), *failed[:3]]))


def check_examples(checks, place):
    """Checks the kernels of each scope in the small CUDA examples, in 3 measured steps."""
    for name, expected in (("cuda_streams", {"stream_0": 3, "stream_1": 3}), ("cuda_graph", {"layer_0": 3, "layer_1": 6})):
        run_logged([program_in(place.build, f"example_{name}")], place.out / "examples.log", "warmup=1,steps=3,out=" + str(place.out / name))
        report = report_in(place.out / name)
        count = sum(each["count"] for each in report["kernels"])
        found = {scope: sum(each["kernels"] for each in report["scopes"] if each["path"].split("/")[-1] == scope) for scope in expected}
        checks.add(f"example {name}", count == sum(expected.values()) and found == expected, f"{count} kernels; by scope {found}")


def check_attribution(checks, place):
    name = "every operation is charged to its scope: a million launches, 4 threads, 8 streams"
    program = program_in(place.build, "profkit_gpu_programs")
    done = subprocess.run([str(program), "attribution_exact"], capture_output=True, text=True, check=False, timeout=200)
    (place.out / "attribution.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = [line for line in done.stdout.splitlines() if "matched" in line or "threads" in line or "figures" in line]
    checks.add(name, done.returncode == 0 and bool(lines), "; ".join(lines) or f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")


def check_journal(checks, place):
    name = "kill -9 loses at most the last 100 ms of kernels and scopes, on a busy GPU"
    program = program_in(place.build, "profkit_gpu_programs")
    of_each = math.ceil(place.kills / KINDS_OF_KILLS)
    done = subprocess.run([str(program), "kernels_in_journal", str(of_each), str(place.out / "kernels_in.journal")], capture_output=True, text=True,
                          check=False, timeout=100 + 20 * of_each)
    (place.out / "journal.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines() if "lost at most" in line]
    checks.add(name, done.returncode == 0 and bool(lines), "; ".join(lines) or f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")


def check_launch_cost(checks, place):
    name = f"a launch costs at most {LAUNCH_COST_BAR} times what CUPTI kernel records add"
    program = program_in(place.build, "profkit_launch_cost")
    table = run_logged([program, "11"], place.out / "launch_cost.log")
    (place.out / "launch_cost.md").write_text(table, encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (-?\d+) \| (\S+) \|$", table, re.MULTILINE)
    ratio = next(float(ratio) for what, _, _, ratio in rows if what == "profkit kernels")
    checks.add(name, ratio <= LAUNCH_COST_BAR, "; ".join(f"{what}: {ns} ns (+{added}, {ratio} times)" for what, ns, added, ratio in rows))


def check_nsys(checks, place):
    name = "Nsight Systems counts the same NVTX ranges"
    if not has_nsys(place):
        checks.add(name, None, "no nsys")
        return
    program = program_in(place.build, "profkit_nsys")
    done = subprocess.run([sys.executable, str(ROOT / "tests/nsys/compare_ranges.py"), place.nsys, str(program)], capture_output=True, text=True,
                          check=False, timeout=200)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("ok"))
    if done.returncode != 0:
        print(done.stdout + done.stderr)
    checks.add(name, done.returncode == 0, f"{text_of(place.nsys, '--version')}: {len(lines)} names, {total} ranges")


def check_torch_profiler(checks, place):
    """PyTorch's profiler keeps CUPTI once it was used. profkit reports that, and does not disturb its results."""
    library = program_in(place.build, "libprofkit_kernel_status.so")
    done = subprocess.run([sys.executable, str(ROOT / "tests/gpu/beside_torch_profiler.py"), str(library)], capture_output=True, text=True,
                          check=False, timeout=120)
    checks.add("beside the profiler of PyTorch", done.returncode == 0, done.stdout.strip() or done.stderr.strip()[-300:])
