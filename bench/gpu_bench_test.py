# SPDX-License-Identifier: Apache-2.0
"""Tests gpu_bench.py with programs that print given figures: ratios, targets, omissions, and continuing an earlier run.

usage: gpu_bench_test.py [PROGRAM]      PROGRAM: profkit; without it, the comparison with recorded rounds is not tested"""
import contextlib
import copy
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import bench_tables
import gpu_bench

ROUNDS = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.0]
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
for ns in 2000 2100 2100 2100 2200 2300; do
  echo '{"two event records": 2000, "two event records of the driver": 1800, "two event records with queries": 1900, "PROF_GPU_SCOPE": '$ns', "PROF_SCOPE": 20}'
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


def with_additions(parts, by):
    """@return the parts with what profkit adds times that in each round."""
    parts = copy.deepcopy(parts)
    for part, gates in gpu_bench.GATES.items():
        for gate in gates:
            figures = parts.get(part, {}).get("figures", {})
            if "values" in figures.get(gate.figure, {}):
                figures[gate.figure]["values"] = [base + by * (value - base) for value, base in
                                                  zip(figures[gate.figure]["values"], figures[gate.base]["values"])]
    return parts


def check_recorded(profkit):
    """@param profkit the program"""
    def outcome(parts, recorded):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            return gpu_bench.check(profkit, parts, {"parts": recorded}), printed.getvalue()

    committed = bench_tables.gpu_runs()[-1]["parts"]
    code, text = outcome(committed, committed)
    expect(code == 3 and "FAIL" not in text, f"the committed rounds compared with themselves: {text}")
    expect("UNDECIDED added: PROF_GPU_SCOPE: no recorded rounds" in text and "UNDECIDED added: graph node: no recorded rounds" in text, text)
    expect("UNDECIDED added: launch with kernels" not in text and "UNDECIDED added: step with kernels" not in text, text)
    for by in (2, 2.5, 3):
        code, text = outcome(with_additions(committed, by), committed)
        for gate in (each for gates in gpu_bench.GATES.values() for each in gates):
            is_seen = f"UNDECIDED added: {gate.name}" in text or f"FAIL profkit compare: scope added: {gate.name} is slower" in text
            expect(is_seen, f"an addition times {by} passes: {text}")
        expect(code == (3 if by == 2 else 1), f"additions times {by}: {text}")

    def parts(kernels, scope, node, rounds=8):
        """@param kernels, scope, node additions of profkit"""
        def values(value):
            return {"values": [value * each for each in ROUNDS[:rounds]]}
        launch = {"nothing": 4000, "CUPTI kernel records": 5000, "profkit scopes and kernels": 4000 + kernels}
        graph = {"graph: nothing": 500, "graph: CUPTI kernel records": 900, "graph: profkit kernels": 500 + node}
        figures = {"launch": launch, "gpu_scope": {"two event records": 2000, "PROF_GPU_SCOPE": 2000 + scope}, "graph": graph}
        return {part: {"figures": {name: values(value) for name, value in each.items()}} for part, each in figures.items()}
    recorded = parts(1100, 400, 420)
    code, text = outcome(parts(1120, 405, 425), recorded)
    expect(code == 0 and text.endswith("PASSED\n"), f"additions as recorded: {text}")
    for slower, name in ((parts(2200, 400, 420), "launch with kernels"), (parts(1100, 1000, 420), "PROF_GPU_SCOPE"),
                         (parts(1100, 400, 840), "graph node")):
        code, text = outcome(slower, recorded)
        expect(code == 1 and f"FAIL profkit compare: scope added: {name} is slower" in text and text.count("FAIL ") == 1, f"{name}: {text}")
    code, text = outcome(parts(1100, 400, 420, rounds=4), recorded)
    expect(code == 3 and text.count("8 recorded and 4 measured rounds; at least 5 are needed") == 3, f"few rounds: {text}")
    code, text = outcome({"launch": {"figures": {}}}, recorded)
    expect(code == 3 and "UNDECIDED added: launch with kernels: not measured" in text, f"a recorder that was left out: {text}")
    expect(outcome({}, recorded)[0] == 1, "nothing was measured")


def check_ratios():
    rounds = [{"nothing": 20, "CUPTI": 20 + cupti, "profkit": 20 + ours} for cupti, ours in ((4, 4), (-1, 1), (5, 6), (4, 5), (6, 4), (4, 8), (4, 5))]
    added = gpu_bench.compare(gpu_bench.Comparison("added", "profkit", "nothing", "CUPTI", "nothing", 1.1), rounds)
    expect(added["ratio"] == 5 / 4 and added["rounds"] == 7, f"rounds with a negative denominator count: {added}")
    expect(added["low"] < 1.1 < added["high"] and added["verdict"] == "undecided", f"an interval with the target inside: {added}")
    few = gpu_bench.compare(gpu_bench.Comparison("added", "profkit", "nothing", "CUPTI", "nothing", 2), rounds[:4])
    expect(few["low"] is None and few["verdict"] == "undecided", f"fewer than 5 rounds: {few}")
    content = {"environment": {}, "parts": {"step": {"unit": "", "comparisons": [added, few], "figures": {}, "facts": {}, "failure": None}}}
    text = gpu_bench.markdown(content)
    expect("| added | n/a | n/a | 2 | undecided | 4 |" in text and "| 1.1 | undecided | 7 |" in text, text)


def main():
    check_ratios()
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
        expect(abs(launch["ratio"] - 1.2) < 1e-9 and launch["target"] == 1.1 and launch["rounds"] > 0, f"the ratio of a launch: {launch}")
        facts = parts["launch"]["facts"]
        expect("no Nsight Systems (no_nsys)" in facts["left out: nsys, CUDA"], f"nsys that is not there: {facts}")
        expect("step_cost was not built" in facts["left out: Kineto CUDA records"], f"Kineto without LibTorch: {facts}")
        scope = parts["gpu_scope"]["comparisons"][0]
        expect(scope["ratio"] == 1.05 and scope["low"] >= 1 and scope["high"] <= 1.15 and scope["rounds"] == 6, f"the ratio of a GPU scope: {scope}")
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
        row = f"| 1.050 | {scope['low']:.3f} to {scope['high']:.3f} | 1.1 | {scope['verdict']} | 6 |"
        expect("| n/a | n/a | 1.1 | undecided |" in text and row in text, text)

        put("step_cost", STEP)
        put("nsys", NSYS)
        (out / "gpu_bench.json").unlink()
        code, parts, shown = run("launch", "step", nsys=build / "nsys")
        expect(code == 0, shown)
        ratios = {each["name"]: each for part in parts.values() for each in part["comparisons"]}
        expect(ratios["added per launch: profkit / Kineto (CUDA)"]["ratio"] == 0.5, f"Kineto on launches: {ratios}")
        expect(ratios["added per launch: profkit / Nsight Systems (CUDA)"]["ratio"] == 0.5, f"nsys on launches: {ratios}")
        kineto = ratios["added per step: profkit kernels / Kineto (CUDA)"]
        expect(kineto["ratio"] == 0.4 and kineto["target"] == 0.5, f"Kineto on steps: {kineto}")
        nsys = ratios["added per step: profkit kernels / Nsight Systems (CUDA)"]
        expect(nsys["ratio"] == 0.5, f"nsys on steps: {nsys}")
        slow = ratios["step: Kineto (CPU and CUDA) / no profiler"]
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
