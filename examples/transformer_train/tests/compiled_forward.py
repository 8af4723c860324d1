# SPDX-License-Identifier: Apache-2.0
"""The forward pass that reference/export_forward.py compiles, on the CPU: it has the loss of the plain model, its scope is in the report and
the tables, and a package that does not fit is refused. Takes half a minute, because the package is compiled."""

import csv
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED, BAD_INPUT = 77, 2
CTX, STEPS = 16, 3
REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference"
ERROR = 1e-5
SCOPE = "step/forward/compiled forward"


def export(folder, package):
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-B", str(REFERENCE / "export_forward.py"), "--size", "tiny", "--ctx", str(CTX), "--batch", "1",
                           "--device", "cpu", "--out", str(package)], capture_output=True, text=True, timeout=280, env=environment)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    assert done.stdout.startswith(f"{package}: ") and done.stdout.endswith(" MiB\n") and done.stdout.count("\n") == 1, done.stdout
    # Without the 87 MiB of its parameters.
    assert package.stat().st_size < 20 << 20, package.stat().st_size


def start(program, arguments, variables=None):
    """@param arguments pairs of an option and its value replace the defaults."""
    environment = os.environ | {"PROFKIT": "", "OMP_WAIT_POLICY": "passive"} | (variables or {})
    defaults = {"--size": "tiny", "--ctx": str(CTX), "--batch": "1", "--mode": "fwd", "--warmup": "1", "--steps": str(STEPS)}
    kept = [word for option, value in defaults.items() if option not in arguments for word in (option, value)]
    return subprocess.run([program, "--device", "cpu", *kept, *arguments], capture_output=True, text=True, timeout=120, env=environment)


def run(program, folder, arguments):
    """@return the output, the losses, and how often each scope was opened."""
    done = start(program, [*arguments, "--out", str(folder)])
    assert done.returncode == 0 and not done.stderr, f"{arguments}: exit code {done.returncode}, stderr: {done.stderr}"
    with open(folder / "losses.csv", encoding="utf-8") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert len(losses) == STEPS + 1, losses
    scopes = {scope["path"]: scope["count"] for scope in json.loads((folder / "report.json").read_text(encoding="utf-8"))["scopes"]}
    return done.stdout, losses, scopes


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_run(program, folder, package):
    _, plain, _ = run(program, folder / "plain", ["--seed", "3"])
    output, losses, scopes = run(program, folder / "compiled", ["--seed", "3", "--package", str(package), "--questions"])
    worst = max(abs(a / b - 1) for a, b in zip(losses, plain))
    print(f"losses {losses}, plain model {plain}, {worst:.1e} apart at most")
    assert worst < ERROR and len(set(losses)) == STEPS + 1, (losses, plain)
    assert scopes == {path: STEPS for path in ("step", "step/data", "step/forward", SCOPE)}, scopes
    assert "naive attention, compiled, on" in output, output
    (t1,) = rows_of(folder / "compiled/t1.csv")
    assert t1["attention"] == "naive, compiled" and t1["mode"] == "fwd" and float(t1["avg_ms"]) > 0, t1
    t2 = {row["metric"]: row["host_total_ms"] for row in rows_of(folder / "compiled/t2.csv") if row["section"] in ("run", "attention")}
    assert float(t2["FORWARD inclusive"]) > 0 and t2["MHA total"] == t2["softmax"] == "n/a", t2
    t8 = {row["scope"].strip(): row["host_total_ms"] for row in rows_of(folder / "compiled/t8.csv")}
    assert float(t8["compiled forward"]) > 0 and t8["mean of the layers"] == "n/a", t8
    assert "its parts are n/a" in (folder / "compiled/tables.md").read_text(encoding="utf-8")
    # Other weights and batches: the package has none of its own.
    _, others, _ = run(program, folder / "other", ["--seed", "4", "--package", str(package)])
    _, plain, _ = run(program, folder / "other", ["--seed", "4"])
    assert all(abs(a / b - 1) < ERROR for a, b in zip(others, plain)) and others != losses, (others, plain, losses)


def check_errors(program, folder, package):
    (folder / "text.pt2").write_text("no package")
    (folder / "damaged.pt2").write_bytes(package.read_bytes()[:-2000])
    with zipfile.ZipFile(folder / "foreign.pt2", "w") as foreign, zipfile.ZipFile(package) as ours:
        for name in ours.namelist():
            foreign.writestr(name, ours.read(name).replace(b'"made_for"', b'"not_made"'))
    with zipfile.ZipFile(folder / "without_library.pt2", "w") as incomplete, zipfile.ZipFile(package) as ours:
        for name in ours.namelist():
            incomplete.writestr(name, b"" if name.endswith(".so") else ours.read(name))
    good = ["--package", str(package)]
    three = {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1"}
    for arguments, variables, words in (
        (["--package", str(folder / "absent.pt2")], {}, ["--package", "absent.pt2", "cannot be read", "export_forward.py"]),
        (["--package", str(folder)], {}, ["--package", "directory"]),
        (["--package", str(folder / "text.pt2")], {}, ["--package", "text.pt2", "is not a package of AOTInductor"]),
        (["--package", str(folder / "damaged.pt2")], {}, ["--package", "damaged.pt2", "is not a package of AOTInductor"]),
        (["--package", str(folder / "foreign.pt2")], {}, ["--package", "foreign.pt2", "not made for this program"]),
        (["--package", str(folder / "without_library.pt2")], {}, ["--package", "without_library.pt2", "cannot be loaded"]),
        ([*good, "--ctx", "8", "--size", "small"], {}, ["was made for --size tiny --ctx 16,", "this run has --size small --ctx 8;"]),
        ([*good, "--batch", "2"], {}, ["was made for --batch 1,", "--batch 2"]),
        ([*good, "--precision", "bf16", "--attention", "sdpa"], {}, ["--precision fp32 --attention naive,", "--precision bf16 --attention sdpa"]),
        ([*good, "--mode", "train"], {}, ["--package", "--mode train", "--mode fwd"]),
        ([*good, "--graph", "--warmup", "3"], {}, ["--graph", "--package"]),
        ([*good, "--fused"], {}, ["--fused", "--package"]),
        ([*good, "--attention", "sdpa", "--sdpa-backend", "math"], {}, ["--sdpa-backend", "--package"]),
        (good, three, ["rank 1", "--package", "3 ranks"]),
    ):
        done = start(program, arguments, variables)
        what = f"{arguments}: exit code {done.returncode}, stderr: {done.stderr!r}"
        print(what)
        assert done.returncode == BAD_INPUT, what
        (line,) = done.stderr.splitlines()
        assert line.startswith("transformer_train: ") and all(word in line for word in words), f"{what}; expected {words}"
        assert "T1." not in done.stdout, what
        # LibTorch leaves the unpacked files of a package that it cannot load.
        for left in re.findall(r"Error in dlopen: (/tmp/\w+)/", line):
            shutil.rmtree(left)


def main():
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no PyTorch")
        return SKIPPED
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        print("skipped: there is no C++ compiler for PyTorch")
        return SKIPPED
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = folder / "forward.pt2"
        export(folder, package)
        check_run(program, folder, package)
        check_errors(program, folder, package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
