# SPDX-License-Identifier: Apache-2.0
"""usage: ranks_run.py TRANSFORMER_TRAIN TORCH_CHECKS [cpu|cuda|report PROFKIT]

Three ranks on the CPU train like one process with three times the batch; delayed ranks are slow in the requested phase. torchrun and mpirun
also start ranks, if installed. With `cuda`: two ranks on two GPUs, or with one GPU a single rank over NCCL. With `report`: the report of
all ranks names a slow rank and its scope, and none if no rank is slow."""

import contextlib
import csv
import importlib.util
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile

STEPS, SKIPPED = 20, 77
DELAY_MS = 40
# Per rank.
DELAYS = {"cpu": ["host:data", "host:forward", "host:backward"], "cuda": ["host:data", "gpu:forward"]}
MODEL = ["--size", "tiny", "--ctx", "16"]
COMMON = [*MODEL, "--warmup", "1", "--steps", str(STEPS - 1), "--clip-grad", "0.5"]


def free_port():
    """@return a free port below the ephemeral range, because NCCL and Gloo open many connections meanwhile."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return str(port)


def start(command, variables):
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    environment |= {"PROFKIT": "", "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"} | variables
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(command, ranks=1):
    """Runs the command on several ranks with torchrun's variables. @return exit code, stdout and stderr of each."""
    where = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    processes = [start(command, where | {"RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)]
    try:
        outputs = [process.communicate(timeout=200) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *output) for process, output in zip(processes, outputs)]


def by_torchrun(command, ranks, logs):
    """The same with torchrun, if this Python has PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return run(command, ranks)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", str(ranks), "--master-port", free_port(),
                "--redirects", "3", "--log-dir", str(logs)]
    process = start([*launcher, *command], {})
    try:
        _, errors = process.communicate(timeout=200)
    finally:
        process.kill()
    texts = [[next(logs.glob(f"**/{rank}/{name}.log"), None) for name in ("stdout", "stderr")] for rank in range(ranks)]
    return [(process.returncode, *(file.read_text() if file else errors for file in files)) for files in texts]


def check_mpirun(program, folder):
    """Three ranks get their numbers from the variables of Open MPI or MPICH."""
    if shutil.which("mpirun") is None:
        print("no mpirun: not started by it")
        return
    is_open_mpi = "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    options = ["--allow-run-as-root", "--oversubscribe"] if is_open_mpi else []
    command = [program, "--device", "cpu", *MODEL, "--warmup", "1", "--steps", "1", "--batch", "1", "--out", str(folder / "mpi")]
    process = start(["mpirun", *options, "-n", "3", *command], {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()})
    try:
        output, errors = process.communicate(timeout=200)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert output.count("parameters: equal on all 3 ranks") == 1, output
    for rank in range(3):
        environment = json.loads((folder / "mpi" / f"rank{rank}" / "report.json").read_text())["environment"]
        assert (environment["rank"]["rank"], environment["rank"]["size"]) == (rank, 3), environment


def losses_in(folder):
    with open(folder / "losses.csv") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def check_same_losses(program, folder, device):
    ranks = len(DELAYS[device])
    common = [program, "--device", device, *COMMON]
    # Both runs at the same time, because starting takes longer than computing.
    one = start([*common, "--batch", str(ranks), "--out", str(folder / "one")], {})
    if device == "cuda":
        one.wait(timeout=200)
    slow = [f"--slow-rank={rank}:{DELAY_MS}:{delay}" for rank, delay in enumerate(DELAYS[device])]
    done = by_torchrun([*common, "--batch", "1", *slow, "--out", str(folder / "many")], ranks, folder / "logs")
    _, errors = one.communicate(timeout=200)
    assert one.returncode == 0, errors
    for rank, (code, output, errors) in enumerate(done):
        assert code == 0, f"rank {rank}: exit code {code}, stderr: {errors}"
        assert (f"parameters: equal on all {ranks} ranks" in output) == (rank == 0) and (rank == 0 or not output), (rank, output)
    print(done[0][1].split("T1.")[0])

    expected = losses_in(folder / "one")
    assert len(expected) == STEPS and len(set(expected)) == STEPS, expected
    for rank, delay in enumerate(DELAYS[device]):
        losses = losses_in(folder / "many" / f"rank{rank}")
        assert len(losses) == STEPS, losses
        assert all(abs(a - b) <= 1e-5 * a for a, b in zip(expected, losses)), f"rank {rank}: {losses}, one process: {expected}"
        scopes = {scope["path"]: scope for scope in json.loads((folder / "many" / f"rank{rank}" / "report.json").read_text())["scopes"]}
        for path in ("step/data", "step/forward", "step/backward", "step/allreduce", "step/optimizer/clip gradients"):
            assert scopes[path]["count"] == STEPS - 1, (rank, path, list(scopes))
        buckets = scopes["step/backward/start allreduce"]["count"]
        if device == "cuda":
            kernels = scopes["step/backward/start allreduce"]["kernels"]
            assert kernels >= buckets, f"rank {rank}: {kernels} kernels of {buckets} reductions are charged to their scope"
        else:
            assert scopes["step/allreduce/wait for bucket"]["count"] == buckets, (rank, list(scopes))
        assert buckets % (STEPS - 1) == 0 and buckets > STEPS - 1, f"rank {rank}: {buckets} reductions, and not several in each step"
        kind, phase = delay.split(":")
        scope = scopes[f"step/{phase}"]
        # GPU clock rates vary slightly.
        delayed, min_ms = (scope["host_min_ms"], DELAY_MS) if kind == "host" else (scope["gpu_event_mean_ms"], 0.9 * DELAY_MS)
        assert delayed >= min_ms, f"rank {rank}: its {phase} takes {delayed} ms"
        assert phase == "data" or scopes["step/data"]["host_min_ms"] < DELAY_MS, (rank, scopes["step/data"])


REPETITIONS = 20
REPORTED_DELAY_MS = 30


def report_of(profkit, folder):
    done = subprocess.run([profkit, "report", folder, "--format", "json"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["job"]


ATTEMPTS = 3


def processor_wait(report, position):
    return report["ranks"][position]["processor_wait_ms"] or 0.0


def is_for_want_of_a_processor(report):
    """Whether the named rank waits for a processor for half of the time by which it holds the others up: it does hold them up, because the
    machine has other work."""
    found = report["straggler"]
    return processor_wait(report, found["position"]) >= 0.5 * found["excess_ms"]


def fault_of_phase(report, rank, phase):
    """What is wrong with the report of a run in which the rank sleeps in the phase; empty if nothing is."""
    found = report["straggler"]
    if not found:
        return f"{phase}: no rank is named: {report}"
    is_right = (found["position"], found["path"].split("/")[1]) == (rank, phase)
    is_close = abs(found["excess_ms"] - REPORTED_DELAY_MS) < 0.2 * REPORTED_DELAY_MS
    return "" if is_right and is_close else f"{phase}: {found}"


def check_reports(checks, profkit, folder):
    """The report names a sleeping rank, its phase and its additional time, for each phase. Without one it names no rank. If ranks wait for
    processors, because the machine has other work, the runs are repeated."""
    for attempt in range(ATTEMPTS):
        ports = [free_port() for _ in range(4)]
        to = folder / str(attempt)
        for rank, (code, _, errors) in enumerate(run([checks, "slow_ranks", to, str(REPETITIONS), str(REPORTED_DELAY_MS), *ports], 3)):
            assert code == 0, f"rank {rank}: exit code {code}, stderr: {errors}"
        even = [report_of(profkit, to / f"even{i}") for i in range(REPETITIONS)]
        named = [report for report in even if report["straggler"]]
        print(f"{len(named)} of {REPETITIONS} even runs name a rank, {sum(map(is_for_want_of_a_processor, named))} for want of a processor")
        false = [(report["straggler"], report["ranks"]) for report in named if not is_for_want_of_a_processor(report)]
        assert not false, f"{len(false)} false alarms: {false}"
        busy, faults = 0.0, []
        for rank, phase in enumerate(("data", "forward", "backward")):
            report = report_of(profkit, to / phase)
            faults += filter(None, [fault_of_phase(report, rank, phase)])
            busy = max(busy, *(processor_wait(report, each) / report["step_ms"] for each in range(3)))
        if not faults:
            return
        print(f"attempt {attempt}, waiting for processors {100 * busy:.1f} % of a step:", *faults, sep="\n")
        assert busy > 0.05, faults
    raise AssertionError(f"{ATTEMPTS} attempts failed on a busy machine")


def gpus():
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("GPU ")
    except OSError:
        return 0


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def main():
    program, checks, device = [*sys.argv[1:], "cpu"][:3]
    if device == "cuda" and gpus() == 0:
        skip("no GPU")
    ranks = 1 if device == "cuda" and gpus() == 1 else 2
    done = run([checks, "model", "ranks", "cpu" if device == "report" else device], ranks)
    if all("built without" in errors for _, _, errors in done):
        skip(done[0][2])
    assert [code for code, _, _ in done] == [0] * ranks, done
    if ranks == 1:
        print("one GPU: only a single rank was checked")
        return
    with tempfile.TemporaryDirectory() as name:
        if device == "report":
            check_reports(checks, sys.argv[4], pathlib.Path(name))
            return
        text = pathlib.Path(name) / "text.txt"
        text.write_text("".join(f"{i * i} is the square of {i}. " for i in range(100)))
        ((code, _, errors),) = run([checks, "model", "parts", str(text)])
        assert code == 0, errors
        check_same_losses(program, pathlib.Path(name), device)
        if device == "cpu":
            check_mpirun(program, pathlib.Path(name))


if __name__ == "__main__":
    main()
