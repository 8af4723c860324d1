# SPDX-License-Identifier: Apache-2.0
"""Tests gpu_bench.py with programs that print given figures: ratios, bars, omissions, and continuing an earlier run.

usage: gpu_bench_test.py [PROGRAM]      PROGRAM: profkit; without it, the comparison with recorded rounds is not tested"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import gpu_bench

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = """#!/bin/sh
echo "$2" >>"$(dirname "$0")/calls"
case "$2" in
  nothing) ns=3000 ;;
  "CUPTI kernel records") ns=4000 ;;
  "profkit kernels") ns=4200 ;;
  "graph: nothing") ns=500 ;;
  "graph: CUPTI kernel records") ns=900 ;;
  "graph: profkit kernels") exit 3 ;;
  *) ns=3300 ;;
esac
[ "$1" = turns ] || { echo $ns; exit; }
[ -z "$UNDER_NSYS" ] || ns=5400
while read -r _; do sleep 0.05; echo '{"ns": '$ns'}'; done
"""
STEP = """#!/bin/sh
kineto=
case "$*" in
  "launch none") ns=3100 ;;
  "launch kineto") ns=5500 ;;
  off) ms=20 ;;
  kineto) ms=30 kineto=', "operations": 1000' ;;
  kineto_cpu) ms=40 ;;
  cupti_off) exit 3 ;;
  *) ms=24 ;;
esac
[ -z "$UNDER_NSYS" ] || ms=28
while read -r _; do
  sleep 0.05
  [ -n "$ms" ] || { echo '{"ns": '$ns', "operations": 175000}'; continue; }
  echo '{"loop_ms": '$ms', "steps_ms": ['$ms,$ms,$ms,$ms,$ms,$ms,$ms,$ms,$ms,$ms']'"$kineto"'}'
done
"""
# Like nsys, it starts the program in a session of its own, and `shutdown` ends it.
NSYS = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
  --version) echo "nsys 1"; exit ;;
  shutdown) kill -9 "$(cat "$here/$3")"; echo "$TMPDIR" >"$here/stopped"; exit ;;
esac
shift
while :; do
  case "$1" in
    --session-new=*) file=$here/--session=${1#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
exec 3<&0
UNDER_NSYS=1 setsid sh -c 'echo $$ >"$0"; exec "$@"' "$file" "$@" <&3 &
wait
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


def commands_with(text):
    """@return the command lines of running programs that contain a text."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_text(encoding="utf-8", errors="replace").replace("\0", " "))
    return [each for each in found if text in each]


def check_recorded(profkit):
    """@param profkit the program"""
    def parts(kernels):
        nothing = [4000.0, 4100.0, 3900.0, 4050.0]
        return {"launch": {"figures": {name: {"values": [by * each for each in nothing]} for name, by in
                                       (("nothing", 1), ("profkit scopes", 1.01), ("CUPTI kernel records", 1.25),
                                        ("profkit scopes and kernels", kernels))}}}
    recorded = {"parts": parts(1.3)}
    with contextlib.redirect_stdout(io.StringIO()):
        expect(not gpu_bench.check(profkit, parts(1.31), recorded), "what is as recorded")
        expect(gpu_bench.check(profkit, parts(2.0), recorded), "a launch with kernels takes longer")
        expect(gpu_bench.check(profkit, {}, recorded), "nothing was measured")


def main():
    if len(sys.argv) > 1:
        check_recorded(pathlib.Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        build, out = pathlib.Path(folder, "build"), pathlib.Path(folder, "out")
        build.mkdir()

        def put(name, text):
            (build / name).write_text(text, encoding="utf-8")
            (build / name).chmod(0o755)
        put("profkit_launch_cost", LAUNCH)
        put("profkit_gpu_scope_cost", SCOPE)

        def run(*parts, nsys="no_nsys"):
            done = subprocess.run([sys.executable, "-B", str(HERE / "gpu_bench.py"), "--build", str(build), "--out", str(out), "--seconds", "2",
                                   "--nsys", str(nsys), "--only", *parts], capture_output=True, text=True, check=False, timeout=100)
            return done.returncode, json.loads((out / "gpu_bench.json").read_text(encoding="utf-8"))["parts"], done.stdout + done.stderr

        code, parts, shown = run("launch", "gpu_scope")
        expect(code == 0, shown)
        launch = parts["launch"]["comparisons"][0]
        expect(abs(launch["ratio"] - 1.2) < 1e-9 and launch["bar"] == 1.1 and launch["met"] is False, f"the ratio of a launch: {launch}")
        facts = parts["launch"]["facts"]
        expect("no Nsight Systems (no_nsys)" in facts["left out: nsys, CUDA"], f"nsys that is not there: {facts}")
        expect("step_cost was not built" in facts["left out: Kineto CUDA records"], f"Kineto without LibTorch: {facts}")
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

        put("step_cost", STEP)
        put("nsys", NSYS)
        (out / "gpu_bench.json").unlink()
        code, parts, shown = run("launch", "step", nsys=build / "nsys")
        expect(code == 0, shown)
        ratios = {each["name"]: each for part in parts.values() for each in part["comparisons"]}
        expect(ratios["a launch: what profkit adds, over what Kineto (CUDA) adds"]["ratio"] == 0.5, f"Kineto on launches: {ratios}")
        expect(ratios["a launch: what profkit adds, over what Nsight Systems (CUDA) adds"]["ratio"] == 0.5, f"nsys on launches: {ratios}")
        kineto = ratios["a step: what profkit's kernels add, over what Kineto (CUDA) adds"]
        expect(kineto["ratio"] == 0.4 and kineto["bar"] == 0.5 and kineto["met"], f"Kineto on steps: {kineto}")
        nsys = ratios["a step: what profkit's kernels add, over what Nsight Systems (CUDA) adds"]
        expect(nsys["ratio"] == 0.5, f"nsys on steps: {nsys}")
        slow = ratios["a step: with Kineto (CPU and CUDA), over no profiler"]
        expect(slow["ratio"] == 2 and slow["rounds"] == min(3, kineto["rounds"]), f"a program with fewer rounds: {slow}")
        facts = parts["step"]["facts"]
        expect(facts["trainer, Kineto CUDA: operations recorded in a turn"] == 1000, f"recorded operations: {facts}")
        expect("ended early" in facts["left out: trainer, CUPTI kernel records switched off again"], f"a program that ends: {facts}")
        folder = pathlib.Path((build / "stopped").read_text(encoding="utf-8").strip())
        expect(not folder.exists(), "the folder of nsys's reports was not removed")
        expect(not commands_with(str(build)), f"programs that still run: {commands_with(str(build))}")

        put("step_cost", "#!/bin/sh\n[ -n \"$UNDER_NSYS\" ] && exec sleep 100\n" + STEP)
        (out / "gpu_bench.json").unlink()
        code, parts, shown = run("step", nsys=build / "nsys")
        reason = parts["step"]["facts"]["left out: trainer, nsys CUDA"]
        expect("took longer" in reason and code == 0, f"a program that hangs under nsys: {shown}")
    print("passed")


main()
