# SPDX-License-Identifier: Apache-2.0
"""Tests gpu_bench.py with programs that print given figures: ratios, bars, omissions, and continuing an earlier run."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = """#!/bin/sh
echo "$2" >>"$(dirname "$0")/calls"
case "$2" in
  nothing) echo 3000 ;;
  "CUPTI kernel records") echo 4000 ;;
  "profkit kernels") echo 4200 ;;
  "graph: nothing") echo 500 ;;
  "graph: CUPTI kernel records") echo 900 ;;
  "graph: profkit kernels") exit 3 ;;
  *) echo 3300 ;;
esac
"""
SCOPE = """#!/bin/sh
echo '{"first_gpu_scope_ns": 100000}'
for ns in 2000 2100 2300; do
  echo '{"two event records": 2000, "two event records of the driver": 1800, "PROF_GPU_SCOPE": '$ns', "PROF_SCOPE": 20}'
done
"""


def expect(is_true, what):
    if not is_true:
        sys.exit(f"FAIL: {what}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        build, out = pathlib.Path(folder, "build"), pathlib.Path(folder, "out")
        build.mkdir()
        for name, text in (("profkit_launch_cost", LAUNCH), ("profkit_gpu_scope_cost", SCOPE)):
            (build / name).write_text(text, encoding="utf-8")
            (build / name).chmod(0o755)

        def run(*parts):
            done = subprocess.run([sys.executable, "-B", str(HERE / "gpu_bench.py"), "--build", str(build), "--out", str(out), "--seconds", "4",
                                   "--only", *parts], capture_output=True, text=True, check=False, timeout=100)
            return done.returncode, json.loads((out / "gpu_bench.json").read_text(encoding="utf-8"))["parts"], done.stdout + done.stderr

        code, parts, shown = run("launch", "gpu_scope")
        expect(code == 0, shown)
        launch = parts["launch"]["comparisons"][0]
        expect(abs(launch["ratio"] - 1.2) < 1e-9 and launch["bar"] == 1.1 and launch["met"] is False, f"the ratio of a launch: {launch}")
        scope = parts["gpu_scope"]["comparisons"][0]
        expect(scope["ratio"] == 1.05 and scope["met"] and scope["most"] == 1.15 and scope["rounds"] == 3, f"the ratio of a GPU scope: {scope}")
        expect(parts["gpu_scope"]["figures"]["PROF_GPU_SCOPE"]["median"] == 2100, "the median of a GPU scope")
        expect(parts["gpu_scope"]["facts"] == {"first GPU scope of a process, us": 100.0}, "the first GPU scope")

        calls = (build / "calls").read_text(encoding="utf-8")
        code, parts, shown = run("launch", "graph", "step")
        expect(code == 1, "a part that failed is not said")
        expect((build / "calls").read_text(encoding="utf-8").count("nothing\n") - calls.count("nothing\n") <= 1, "a finished part ran again")
        expect(not parts["graph"]["finished"] and "exit code 3" in parts["graph"]["failure"], f"a program that fails: {parts['graph']}")
        expect("was not built" in parts["step"]["failure"], "a program that is not there")
        expect(parts["gpu_scope"]["finished"] and parts["launch"]["finished"], "what an earlier run found is lost")
        text = (out / "gpu_bench.md").read_text(encoding="utf-8")
        expect("| 1.200 | 1.200 to 1.200 | 1.1 | missed |" in text and "| 1.050 | 1.000 to 1.150 | 1.1 | met | 3 |" in text, text)
    print("passed")


main()
