# SPDX-License-Identifier: Apache-2.0
"""Short runs of the tiny model on the CPU: the tree of scopes, the tables, and a loss that falls."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

LAYERS = 4
NAIVE_PARTS = ["attention projections", "rope q", "rope k", "attention scores + mask", "softmax", "attention x value", "output projection"]
FFN_PARTS = ["ffn projections", "swiglu", "ffn output projection"]
FUSED_PARTS = ["attention projections", "rope q", "rope k", "scaled dot product attention", "output projection"]


ADOPTED = re.compile(r"^step/backward/(forward/.*) \(backward\)$")


def run(program, out, arguments, profkit=""):
    environment = os.environ | {"PROFKIT": profkit, "OMP_WAIT_POLICY": "passive"}
    command = [program, "--size", "tiny", "--device", "cpu", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}, stderr: {done.stderr}"
    print(done.stdout)
    report = json.loads((out / "report.json").read_text())
    tables = {}
    for name in ("t1", "t2", "t8"):
        with open(out / f"{name}.csv") as file:
            tables[name] = list(csv.DictReader(file))
    text = (out / "tables.md").read_text()
    assert "T1." in text and "T2." in text and "T8." in text and "T1." in done.stdout and "T2." in done.stdout
    return done.stdout, report, tables


def expected_paths(parts, phases):
    paths = ["step", "step/data", "step/forward", "step/forward/embedding"]
    for layer in (f"step/forward/layer_{i}" for i in range(LAYERS)):
        paths += [layer, f"{layer}/attention_sublayer", *(f"{layer}/attention_sublayer/{part}" for part in parts), f"{layer}/ffn_sublayer",
                  *(f"{layer}/ffn_sublayer/{part}" for part in FFN_PARTS)]
    return paths + ["step/forward/final_norm", "step/forward/lm_head", "step/forward/loss"] + [f"step/{phase}" for phase in phases]


def check_scopes(report, parts, phases, steps):
    every = {scope["path"]: scope for scope in report["scopes"]}
    scopes = {path: scope for path, scope in every.items() if not path.startswith("step/backward/")}
    assert list(scopes) == expected_paths(parts, phases), list(scopes)
    check_backward(every, parts if "backward" in phases else None)
    for path, scope in scopes.items():
        assert scope["count"] == steps, (path, scope["count"])
        assert scope["gpu_kernel_ms"] is None, (path, "a kernel time without a GPU")
        inside = [other["host_total_ms"] for name, other in scopes.items() if name.rpartition("/")[0] == path]
        assert sum(inside) <= scope["host_total_ms"] * (1 + 1e-9), (path, inside, scope["host_total_ms"])
    assert report["quality"]["dropped_events"] == 0 and report["quality"]["open_scopes"] == 0
    return scopes


def check_backward(scopes, parts):
    """Every computing forward scope has a backward. There is nothing else inside the backward pass."""
    inside = [path for path in scopes if path.startswith("step/backward/")]
    adopted = {ADOPTED.match(path)[1] for path in inside if ADOPTED.match(path)}
    if parts is None:
        assert not inside, inside
        return
    layers = [f"forward/layer_{i}" for i in range(LAYERS)]
    expected = {"forward/embedding", "forward/final_norm", "forward/lm_head", "forward/loss"}
    expected |= {f"{layer}/attention_sublayer{part}" for layer in layers for part in ["", *(f"/{part}" for part in parts)]}
    expected |= {f"{layer}/ffn_sublayer{part}" for layer in layers for part in ["", *(f"/{part}" for part in FFN_PARTS)]}
    assert adopted == expected, adopted ^ expected
    assert len(inside) == len(adopted), inside


def check_backward_table(folder, output, scopes):
    nodes = re.search(r"^backward: (\d+) nodes, (\d+) for a forward scope, 0 of unknown forward, 0 of higher order$", output, re.MULTILINE)
    assert nodes[1] == nodes[2] and int(nodes[1]) > 3 * 40 * LAYERS, nodes[0]
    with open(folder / "t14.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["scope"].strip() for row in rows].count("softmax") == LAYERS
    total = sum(float(row["backward_ms/step"]) for row in rows if not row["scope"].startswith(" "))
    share = {row["scope"]: float(row["share"].removesuffix(" %")) for row in rows if not row["scope"].startswith(" ")}
    assert list(share) == ["forward", "backward itself"], share
    assert share["forward"] > 50 and abs(sum(share.values()) - 100) < 0.03, share
    assert abs(total - scopes["step/backward"]["host_total_ms"] / 2) < 0.02 * total, (total, scopes["step/backward"])
    with open(folder / "t14_by_name.csv") as file:
        (layers,) = [row for row in csv.DictReader(file) if row["scope"].strip() == "layer_*"]
    assert layers["scopes"] == str(LAYERS) and float(layers["min"]) <= float(layers["backward:forward"]) <= float(layers["max"]), layers
    assert "T14." in output and "T14." in (folder / "tables.md").read_text()


def check_without_bridge(program, folder):
    output, report, _ = run(program, folder, ["--ctx", "16", "--batch", "1", "--warmup", "0", "--steps", "1", "--bridge", "off"])
    assert not any(scope["path"].startswith("step/backward/") for scope in report["scopes"]), report["scopes"]
    assert "T14." not in output and not re.search("^backward: ", output, re.MULTILINE) and not (folder / "t14.csv").exists()


def check_section_table(rows, scopes, parts, steps):
    cells = {(row["section"], row["metric"]): row for row in rows}

    def close(row, column, expected):
        assert abs(float(row[column].removesuffix(" %")) - expected) <= 0.051, (row, column, expected)

    def total(name):
        return sum(scope["host_total_ms"] for path, scope in scopes.items() if path.endswith(name))

    step, forward = scopes["step"]["host_total_ms"], scopes["step/forward"]["host_total_ms"]
    row = cells["run", "FORWARD inclusive"]
    assert row["share_of"] == "step" and row["gpu_total_ms"] == "n/a"
    close(row, "host_total_ms", forward)
    close(row, "host_ms/step", forward / steps)
    close(row, "host_share", 100 * forward / step)
    mha = cells["attention", "MHA total"]
    assert mha["share_of"] == "FORWARD"
    close(mha, "host_total_ms", total("/attention_sublayer"))
    close(mha, "host_share", 100 * total("/attention_sublayer") / forward)
    softmax_row = cells["attention", "softmax" if "softmax" in parts else "scaled dot product attention"]
    assert softmax_row["share_of"] == "MHA total"
    close(softmax_row, "host_total_ms", total("/softmax") + total("/scaled dot product attention"))
    close(cells["attention", "MHA residual (total - parts)"], "host_total_ms", total("/attention_sublayer") - sum(total(f"/{part}") for part in parts))
    close(cells["forward", "non-attention forward"], "host_total_ms", forward - total("/attention_sublayer"))
    kernels = [row for row in rows if row["section"] == "GPU kernels"]
    assert kernels and all(row["gpu_total_ms"] == "n/a" for row in kernels), kernels
    assert not any(row["section"] == "GPU work" for row in rows), "GPU work without a GPU"
    return cells


def loop_ms(output):
    """@return the time of a step in the measured loop, from the trainer's own timer."""
    return float(re.search(r"^measured loop: (\S+) ms a step \(2 steps, by the clock", output, re.MULTILINE)[1])


def check_phase_times(output, scopes, steps):
    """The trainer's own timer and profkit's scopes measure the same phases."""
    line = re.search(r"^phase times: (.*)", output, re.MULTILINE)[1]
    times = {name: float(mean) for name, mean in re.findall(r"(\w+) ([\d.]+) \+- [\d.]+ ms", line)}
    assert list(times) == ["forward", "backward", "optimizer"], line
    for phase, mean in times.items():
        expected = scopes[f"step/{phase}"]["host_total_ms"] / steps
        assert abs(mean - expected) < 0.1 * expected + 0.2, (phase, mean, expected)


def check_times(folder, output, report, scopes):
    """Two measurements of the same times. A busy host may delay one of them."""
    assert abs(loop_ms(output) / report["steps"]["mean_ms"] - 1) < 0.2, (loop_ms(output), report["steps"]["mean_ms"])
    check_phase_times(output, scopes, 2)
    check_backward_table(folder, output, scopes)


def check_training_step(program, folder, attempts=3):
    saved = folder / "below" / "profile.bin"
    arguments = ["--ctx", "16", "--batch", "2", "--warmup", "1", "--steps", "2"]
    output, report, tables = run(program, folder, [*arguments, "--save-profile", str(saved), "--questions", "--phase-times"])
    assert saved.read_bytes().startswith(b"profkit\n"), "the profile was not saved"
    assert "GPU kernels: not collected (no GPU)" in output and report["kernels"] is None
    steps = report["steps"]
    assert (steps["warmup"], steps["measured"], steps["item_name"]) == (1, 2, "tokens"), steps
    assert steps["gpu_mean_ms"] is None and len(steps["samples_ms"]) == 2, steps
    scopes = check_scopes(report, NAIVE_PARTS, ["backward", "optimizer"], 2)
    assert "T6." in output and (folder / "t6.csv").is_file() and not (folder / "types.csv").exists()
    check_work(report, tokens=2 * 16, ctx=16, steps=2)
    cells = check_section_table(tables["t2"], scopes, NAIVE_PARTS, 2)
    assert cells["run", "OPTIMIZER inclusive"]["host_total_ms"] == cells["run", "OPTIMIZER exclusive"]["host_total_ms"]
    (row,) = tables["t1"]
    described = {"size": "tiny", "ctx": "16", "batch": "2", "mode": "train", "precision": "fp32", "warmup": "1", "steps": "2"}
    assert described.items() <= row.items(), row
    assert row["avg_ms"] == row["host_ms"] and row["gpu_ms"] == "n/a" and row["peak_allocated_MiB"] == "n/a", row
    assert abs(float(row["avg_ms"]) - steps["mean_ms"]) < 1e-3, (row, steps)
    assert abs(float(row["tokens/s"]) - 2 * 16 / steps["mean_ms"] * 1e3) < 1, (row, steps)
    try:
        check_times(folder, output, report, scopes)
    except AssertionError:
        if attempts == 1:
            raise
        check_training_step(program, folder.with_name(f"{folder.name}_again"), attempts - 1)


def check_work(report, tokens, ctx, steps):
    """Checks the declared work of scopes and of the model against independent counts, for d_model 512, d_ff 1344, 16 heads."""
    scopes = {scope["path"]: scope["work"] for scope in report["scopes"]}
    projection, logits = 2 * tokens * 512 * 512, 2 * tokens * 512 * 10_000
    attention, feed_forward = 4 * tokens * ctx * 512, 3 * 2 * tokens * 512 * 1344
    forward = LAYERS * (4 * projection + attention + feed_forward) + logits
    model = report["model"]
    assert model["flops_per_step"] == 3 * forward and model["precision"] == "fp32", model
    assert model["mfu"] is None, f"the peak of this processor is not known: {model}"
    layer = "step/forward/layer_1/attention_sublayer"
    for path, flops, size in (("step/forward/lm_head", logits, tokens * 512 + 512 * 10_000 + tokens * 10_000),
                              (f"{layer}/attention projections", 3 * projection, 4 * tokens * 512 + 3 * 512 * 512),
                              (f"{layer}/attention x value", attention / 2, 16 * tokens * ctx + 2 * tokens * 512)):
        assert scopes[path]["self_flops"] == scopes[path]["flops"] == steps * flops, (path, scopes[path])
        assert scopes[path]["self_bytes"] == steps * 4 * size, (path, scopes[path])
        assert abs(scopes[path]["intensity"] - flops / (4 * size)) < 1e-9 * flops, (path, scopes[path])
    # Products, plus a few operations per number for everything else.
    assert steps * forward < scopes["step/forward"]["flops"] < 1.02 * steps * forward, scopes["step/forward"]
    parameters = 22.7e6
    assert abs(scopes["step/optimizer"]["self_bytes"] / (steps * 28 * parameters) - 1) < 2e-3, scopes["step/optimizer"]
    assert scopes["step/data"] is None, "a copy is not counted"
    backward = {row["path"]: row["work"] for row in report["adopted"] if row["role"] == "backward"}
    assert backward["step/forward/lm_head"]["flops"] == 2 * steps * logits, backward["step/forward/lm_head"]
    assert backward[f"{layer}/softmax"] is None and backward["step/forward"] is None, "unknown work of a part makes the whole unknown"


def check_profiler_off(program, folder):
    """The trainer's own timer works without profkit."""
    output, report, tables = run(program, folder, ["--ctx", "16", "--batch", "2", "--warmup", "1", "--steps", "2"], profkit="off")
    assert loop_ms(output) > 0
    assert report["steps"]["mean_ms"] is None and not report["scopes"], report
    assert tables["t1"][0]["avg_ms"] == "n/a", tables["t1"]


def check_time_limit(program, folder):
    """A run ends when its time is up, with at least one measured step and the usual report."""
    _, report, _ = run(program, folder, ["--ctx", "16", "--batch", "1", "--warmup", "1", "--steps", "100000", "--max-seconds", "0.001"])
    assert report["steps"]["measured"] == 1, report["steps"]


def check_endless_run(program, folder):
    """SIGTERM ends the run after a step, with the usual report."""
    command = [program, "--size", "tiny", "--device", "cpu", "--ctx", "16", "--batch", "1", "--warmup", "1", "--out", str(folder)]
    environment = os.environ | {"PROFKIT": "steps=forever,report=every:100ms", "OMP_WAIT_POLICY": "passive"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stderr:
            measured = re.search(r"(\d+) steps measured", line)
            if measured and int(measured[1]) >= 3:
                process.send_signal(signal.SIGTERM)
                break
        output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, f"exit code {process.returncode}, stderr: {errors}"
    steps = json.loads((folder / "report.json").read_text())["steps"]
    assert steps["measured"] >= 3 and f" of {steps['measured'] + 1} steps), " in output, (steps["measured"], output)
    assert f" ({steps['measured']} steps, " in output and (folder / "tables.md").is_file(), output


def check_forward_only(program, folder):
    """Also checks the number of steps from the environment, fused attention, autocast, and that one step has no standard deviation."""
    arguments = ["--ctx", "16", "--batch", "1", "--mode", "fwd", "--attention", "sdpa", "--precision", "bf16"]
    _, report, tables = run(program, folder, arguments, profkit="warmup=0,steps=1")
    scopes = check_scopes(report, FUSED_PARTS, [], 1)
    cells = check_section_table(tables["t2"], scopes, FUSED_PARTS, 1)
    assert cells["run", "BACKWARD inclusive"]["host_total_ms"] == "n/a", cells["run", "BACKWARD inclusive"]
    assert tables["t1"][0]["std_ms"] == "n/a", tables["t1"]
    assert report["model"]["precision"] == "bf16", report["model"]
    fused = scopes["step/forward/layer_0/attention_sublayer/scaled dot product attention"]["work"]
    assert fused["self_flops"] == 2 * 2 * 512 * 16 * 17 / 2 and fused["self_bytes"] == 2 * 4 * 16 * 512 and fused["precision"] == "bf16", fused


def learn(program, folder, optimizer):
    folder.mkdir()
    data = folder / "text.txt"
    data.write_text("The quick brown fox jumps over the lazy dog; the dog does not mind, and the fox does it again.\n" * 60)
    arguments = ["--ctx", "32", "--batch", "8", "--warmup", "0", "--steps", "12", "--lr", "3e-4", "--data", str(data)]
    output, _, _ = run(program, folder, [*arguments, "--optimizer", optimizer])
    patterns = [
        r"loss, nats per token: (\S+) \(mean of the first 6 of 12 steps\), (\S+) \(mean of the last 6\)",
        r"held-out loss, nats per byte: (\S+) before training, (\S+) after",
    ]
    return [float(number) for pattern in patterns for number in re.search(pattern, output).groups()]


def check_learning(program, folder):
    losses = learn(program, folder / "adamw", "adamw")
    first, last, before, after = losses
    assert 8 < before < 11, f"before training any token is about as likely as any other (ln 10,000 = 9.2): {before}"
    assert last < first - 1 and after < before - 3, f"the loss does not fall: {first} to {last}, held out {before} to {after}"
    fused = learn(program, folder / "fused_adamw", "fused_adamw")
    assert all(abs(a - b) < 1e-2 for a, b in zip(losses, fused)), f"the optimizers disagree: {losses}, fused {fused}"


def main():
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_training_step(program, folder / "train")
        check_profiler_off(program, folder / "off")
        check_without_bridge(program, folder / "without_bridge")
        check_time_limit(program, folder / "limit")
        check_endless_run(program, folder / "endless")
        check_forward_only(program, folder / "forward")
        check_learning(program, folder)


if __name__ == "__main__":
    main()
