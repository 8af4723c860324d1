# SPDX-License-Identifier: Apache-2.0
"""Training options in short CPU runs of the tiny model: loss scaling, clipping, attention backends, fused operations, phase times."""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STEPS = 2
BAD_INPUT = 2


def start(program, arguments, profkit):
    environment = os.environ | {"PROFKIT": profkit, "OMP_WAIT_POLICY": "passive"}
    command = [program, "--size", "tiny", "--device", "cpu", "--ctx", "8", "--batch", "1", "--warmup", "1", "--steps", str(STEPS), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment)


def run(program, folder, arguments, profkit=""):
    """@return the output, and how often each scope was opened."""
    done = start(program, [*arguments, "--out", str(folder)], profkit)
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}, stderr: {done.stderr}"
    print(arguments, done.stdout.split("T1.")[0])
    return done.stdout, {scope["path"]: scope["count"] for scope in json.loads((folder / "report.json").read_text())["scopes"]}


def check_loss_scaling(program, folder):
    parts = ["unscale gradients", "update loss scale"]
    for arguments, phase in ((["--optimizer", "fused_adamw"], "optimizer"), (["--mode", "fwd_bwd"], "backward")):
        output, scopes = run(program, folder, ["--precision", "fp16_scaled", *arguments])
        assert "skipped steps: 0 of 3" in output, output
        assert all(scopes[f"step/{phase}/{part}"] == STEPS for part in parts), scopes
    # The first update makes the weights so large that all later gradients overflow.
    for optimizer in ("adamw", "fused_adamw"):
        output, _ = run(program, folder, ["--precision", "fp16_scaled", "--lr", "1e6", "--optimizer", optimizer])
        assert "skipped steps: 2 of 3" in output, (optimizer, output)
    for arguments in (["--precision", "fp16"], ["--precision", "fp16_scaled", "--mode", "fwd"]):
        output, scopes = run(program, folder, arguments)
        assert "skipped steps" not in output, output
        assert not any(part in path for part in parts for path in scopes), scopes


def check_clipping(program, folder):
    for arguments, path in ((["--clip-grad", "1"], "step/optimizer/clip gradients"),
                            (["--clip-grad", "1", "--mode", "fwd_bwd"], "step/backward/clip gradients")):
        _, scopes = run(program, folder, arguments)
        assert scopes.get(path) == STEPS, scopes


def check_attention_backends(program, folder):
    for wanted, taken in (("auto", "flash"), ("flash", "flash"), ("math", "math")):
        output, _ = run(program, folder, ["--attention", "sdpa", "--mode", "fwd", "--sdpa-backend", wanted])
        assert f"scaled_dot_product_attention: {taken}" in output, output


def check_fused(program, folder):
    """The losses stay the same, and the parts of a layer have forward and backward scopes."""
    losses = []
    for options in (["--attention", "sdpa"], ["--fused"]):
        _, scopes = run(program, folder, [*options, "--lr", "1e-4"])
        with open(folder / "losses.csv", encoding="utf-8") as file:
            losses.append([float(row["loss"]) for row in csv.DictReader(file)])
    assert len(losses[0]) == len(losses[1]) == STEPS + 1, losses
    assert all(abs(fused - plain) <= 1e-5 * plain for plain, fused in zip(*losses)), losses
    for part in ("attention_sublayer/residual + norm", "attention_sublayer/attention projections", "attention_sublayer/rope q and k",
                 "attention_sublayer/scaled dot product attention", "attention_sublayer/output projection", "ffn_sublayer/residual + norm",
                 "ffn_sublayer/ffn projections", "ffn_sublayer/swiglu", "ffn_sublayer/ffn output projection"):
        for end in (f"forward/layer_3/{part}", f"forward/layer_3/{part} (backward)"):
            assert any(path.endswith(end) and count >= STEPS for path, count in scopes.items()), (end, scopes)
    with open(folder / "t1.csv", encoding="utf-8") as file:
        assert [row["attention"] for row in csv.DictReader(file)] == ["sdpa, fused"]
    with open(folder / "t2.csv", encoding="utf-8") as file:
        (rope,) = [row for row in csv.DictReader(file) if row["section"] == "attention" and row["metric"].startswith("RoPE")]
        assert rope["metric"] == "RoPE(Q and K)" and float(rope["host_total_ms"]) > 0, rope


def times_of_phases(output):
    (line,) = re.findall(rf"^phase times: (.*) \({STEPS} steps, by the clock\)$", output, re.MULTILINE)
    return {name: float(mean) for name, mean, _ in re.findall(r"(\w+) (\S+) \+- (\S+) ms", line)}


def check_phase_times(program, folder):
    """Forward, backward and optimizer take nearly all of a step, and are also timed without profkit."""
    for mode, phases in (("fwd", ["forward"]), ("fwd_bwd", ["forward", "backward"]), ("train", ["forward", "backward", "optimizer"])):
        for profkit in ("", "off"):
            output, _ = run(program, folder, ["--phase-times", "--mode", mode], profkit)
            times = times_of_phases(output)
            step = float(re.search(r"^measured loop: (\S+) ms a step", output, re.MULTILINE)[1])
            assert list(times) == phases and all(time > 0 for time in times.values()), times
            assert 0.5 * step < sum(times.values()) <= step, (times, step)
    output, _ = run(program, folder, ["--mode", "fwd"])
    assert "phase times" not in output, output


def check_errors(program):
    for arguments, words in (
        (["--clip-grad", "1", "--mode", "fwd"], ["--clip-grad", "--mode fwd", "fwd_bwd", "train"]),
        (["--clip-grad", "-1"], ["--clip-grad", "-1"]),
        (["--sdpa-backend", "math"], ["--sdpa-backend math", "--attention sdpa"]),
        (["--sdpa-backend", "efficient", "--attention", "sdpa"], ["--sdpa-backend efficient", "--precision fp32", "CPU", "auto"]),
        (["--fused", "--attention", "naive"], ["--fused", "--attention"]),
        (["--sdpa-backend", "fast", "--attention", "sdpa"], ["--sdpa-backend", "fast", "flash"]),
    ):
        done = start(program, arguments, "")
        what = f"{arguments}: exit code {done.returncode}, stderr: {done.stderr!r}"
        print(what)
        assert done.returncode == BAD_INPUT, what
        (line,) = done.stderr.splitlines()
        assert all(word in line for word in words), f"{what}; expected {words}"


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_loss_scaling(program, folder)
        check_clipping(program, folder)
        check_attention_backends(program, folder)
        check_fused(program, folder)
        check_phase_times(program, folder)
    check_errors(program)


if __name__ == "__main__":
    main()
