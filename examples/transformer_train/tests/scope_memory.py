# SPDX-License-Identifier: Apache-2.0
"""Memory by scope in short CPU runs of the tiny model, verified by the check program and in the reports."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BATCH, CTX, STEPS = 2, 16, 2
SOURCE = "libtorch cpu"


def run(program, folder, arguments, profkit=""):
    environment = os.environ | {"PROFKIT": profkit, "OMP_WAIT_POLICY": "passive"}
    command = [program, "--size", "tiny", "--device", "cpu", "--batch", str(BATCH), "--ctx", str(CTX), "--warmup", "1", "--steps", str(STEPS),
               "--out", str(folder), "--save-profile", str(folder / "profile"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0 and "WARNING" not in done.stderr, f"{command}: exit code {done.returncode}, stderr: {done.stderr}"
    return json.loads((folder / "report.json").read_text())


def memory_of(scope):
    return {each["source"]: each for each in scope["memory"]}.get(SOURCE)


def check_run(program, checker, folder, arguments):
    report = run(program, folder, arguments)
    done = subprocess.run([checker, "scope_memory", str(folder / "profile"), str(BATCH), str(CTX)], capture_output=True, text=True, timeout=200)
    print(arguments, done.stdout)
    assert done.returncode == 0, f"{checker}: exit code {done.returncode}, {done.stdout}{done.stderr}"
    scopes = {scope["path"]: scope for scope in report["scopes"]}
    step = memory_of(scopes["step"])
    assert not step["polled"], step
    assert scopes["step"]["peak_bytes"] == step["peak_bytes"] <= step["wide_peak_bytes"], step
    forward = memory_of(scopes["step/forward"])
    assert 0 < forward["retained_bytes"] <= STEPS * forward["peak_bytes"] <= STEPS * forward["allocated_bytes"], forward


def check_off(program, folder):
    report = run(program, folder, ["--scope-memory", "off"])
    assert all(scope["peak_bytes"] is None for scope in report["scopes"]), report["scopes"]
    assert all(memory_of(scope) is None for scope in report["scopes"] if scope["memory"]), report["scopes"]


def main():
    program, checker = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_run(program, checker, folder / "train", [])
        check_run(program, checker, folder / "adamw", ["--optimizer", "adamw", "--clip-grad", "1", "--bridge", "off"])
        check_run(program, checker, folder / "fused", ["--attention", "sdpa", "--mode", "fwd_bwd"])
        check_off(program, folder / "off")


if __name__ == "__main__":
    main()
