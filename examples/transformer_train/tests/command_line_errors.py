# SPDX-License-Identifier: Apache-2.0
"""Invalid arguments end with one line on stderr that names them, and with the documented exit code."""

import csv
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile

BAD_INPUT, OUT_OF_MEMORY = 2, 3

# The same limit on every machine, as on one with little memory.
LITTLE_MEMORY = 3 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (LITTLE_MEMORY, LITTLE_MEMORY))


def run(program, arguments, profkit="", variables=None, **settings):
    # Hides any GPU.
    environment = os.environ | {"PROFKIT": profkit, "OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""} | (variables or {})
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=environment, **settings)


def check(done, code, words, prints_tables=False):
    what = f"{' '.join(done.args[1:])}: exit code {done.returncode}, stderr: {done.stderr!r}"
    print(what)
    assert done.returncode == code, f"{what}; expected exit code {code}"
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("transformer_train: "), f"{what}; expected one line"
    for word in words:
        assert word in lines[0], f"{what}; expected {word!r} in it"
    assert ("T1." in done.stdout) == prints_tables, f"{what}; stdout: {done.stdout!r}"


def check_bad_input(program, folder):
    (folder / "short.txt").write_text("too short")
    (folder / "file").write_text("")
    cases = [
        (["--size", "huge"], ["--size", "huge", "tiny", "2.7B"]),
        (["--mode", "sideways"], ["--mode", "fwd_bwd"]),
        (["--precision", "fp8"], ["--precision", "bf16"]),
        (["--ctx", "0"], ["--ctx", "0"]),
        (["--batch", "-1"], ["--batch", "-1"]),
        (["--batch", "many"], ["--batch", "many"]),
        (["--steps", "-3"], ["--steps", "-3"]),
        (["--lr", "0"], ["--lr", "above 0"]),
        (["--no-such-option"], ["--no-such-option"]),
        (["--device", "cpu", "--precision", "tf32"], ["--precision tf32", "fp32"]),
        (["--data", str(folder / "absent.txt")], ["--data", "absent.txt", "cannot be read"]),
        (["--data", str(folder)], ["--data", "directory"]),
        (["--data", str(folder / "short.txt"), "--ctx", "16"], ["--data", "short.txt", "9 bytes", "--ctx 16", "170"]),
        (["--out", str(folder / "file" / "below")], ["--out", "below", "directory"]),
        (["--save-profile", str(folder / "file" / "profile")], ["--save-profile", "file", "directory"]),
        (["--kernels", "maybe"], ["--kernels", "on", "off"]),
        (["--mode", "fwd", "--clip-grad", "1"], ["--clip-grad", "fwd_bwd", "train"]),
        (["--clip-grad", "-1"], ["--clip-grad", "at least 0"]),
        (["--sdpa-backend", "flash"], ["--sdpa-backend flash", "--attention sdpa"]),
        (["--memory-snapshot", "--out", str(folder / "memory")], ["--memory-snapshot", "GPU"]),
        (["--measure-roof"], ["--measure-roof", "GPU"]),
        (["--scope-memory", "maybe"], ["--scope-memory", "on", "off"]),
        (["--graph"], ["--graph", "GPU"]),
        (["--graph", "--optimizer", "adamw"], ["--optimizer adamw", "--graph", "fused_adamw"]),
        (["--graph", "--optimizer", "adamw", "--mode", "fwd_bwd"], ["--graph", "GPU"]),
        (["--graph", "--sync"], ["--sync", "--graph"]),
        (["--graph", "--phase-times"], ["--phase-times", "--graph"]),
        (["--graph", "--head-start", "5"], ["--head-start", "--graph"]),
        (["--graph", "--memory-snapshot", "--out", str(folder / "memory")], ["--memory-snapshot", "--graph"]),
        (["--graph", "--warmup", "2"], ["--warmup 2", "--graph", "3"]),
        (["--graph", "--warmup", "3"], ["--graph", "GPU"]),
        (["--slow-rank", "one:3"], ["--slow-rank one:3", "R:MS", "1:3:gpu:forward"]),
        (["--slow-rank", "0:-3"], ["--slow-rank 0:-3", "above 0"]),
        (["--slow-rank", "0:3:disk"], ["--slow-rank 0:3:disk", "host", "gpu"]),
        (["--slow-rank", "0:3:host:middle"], ["--slow-rank 0:3:host:middle", "backward"]),
        (["--slow-rank", "0:3:gpu"], ["--slow-rank", "GPU", "host"]),
        (["--slow-rank", "1:3"], ["--slow-rank", "rank 1", "0"]),
        (["nonsense"], ["nonsense"]),
    ]
    for arguments, words in cases:
        check(run(program, ["--device", "cpu", *arguments] if "--device" not in arguments else arguments), BAD_INPUT, words)
    check(run(program, ["--device", "cuda"]), BAD_INPUT, ["--device cuda", "--device cpu"])


def check_ranks(program):
    """Options that do not work with many ranks are rejected before the ranks wait for each other."""
    three = {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1"}
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        for variables, arguments, profkit, words in (
            (three | {"RANK": "3"}, [], "", ["RANK=3", "WORLD_SIZE=3"]),
            (three | {"RANK": "first"}, [], "", ["RANK=first", "WORLD_SIZE=3", "torchrun"]),
            ({"OMPI_COMM_WORLD_RANK": "x", "OMPI_COMM_WORLD_SIZE": "3"}, [], "", ["OMPI_COMM_WORLD_RANK=x", "OMPI_COMM_WORLD_SIZE=3"]),
            ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "3"}, [], "", ["SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=3"]),
            (three, ["--graph"], "", ["rank 1", "--graph", "GPU"]),
            (three, ["--max-seconds", "9"], "", ["rank 1", "--max-seconds", "--steps"]),
            (three, [], "steps=auto", ["rank 1", "steps=auto", "--steps"]),
            (three, [], "steps=forever", ["rank 1", "steps=forever", "--steps"]),
            (three, ["silu"], "", ["rank 1", "silu", "3 ranks"]),
            (three | {"RANK": "0", "MASTER_PORT": port}, ["--size", "tiny"], "", ["rank 0", "127.0.0.1:" + port, "MASTER_PORT", "3 ranks"]),
        ):
            done = run(program, arguments if arguments == ["silu"] else ["--device", "cpu", *arguments], profkit, variables)
            if "built without" in done.stderr:
                words = ["3 ranks", "built without"]
            check(done, BAD_INPUT, words)


def check_out_of_memory(program, folder):
    words = ["out of memory", "--batch", "--ctx", "--size"]
    small = ["--device", "cpu", "--warmup", "1", "--steps", "1"]
    check(run(program, ["--size", "2.7B", *small], preexec_fn=limit_memory), OUT_OF_MEMORY, [*words, "2.7B"], prints_tables=True)

    # The weights fit, but the scores of the first attention (8 x 16 x 4096 x 4096 numbers) do not. The results so far are written anyway.
    out = folder / "out_of_memory"
    large = ["--size", "tiny", "--batch", "8", "--ctx", "4096", "--mode", "fwd", *small, "--out", str(out)]
    check(run(program, large, preexec_fn=limit_memory), OUT_OF_MEMORY, [*words, "4096"], prints_tables=True)
    with open(out / "t1.csv") as file:
        (row,) = csv.DictReader(file)
    assert (row["steps"], row["avg_ms"], row["tokens/s"]) == ("0", "n/a", "n/a"), row
    assert json.loads((out / "report.json").read_text())["steps"]["mean_ms"] is None


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        check_bad_input(program, pathlib.Path(name))
        check_ranks(program)
        check_out_of_memory(program, pathlib.Path(name))


if __name__ == "__main__":
    main()
