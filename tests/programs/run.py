# SPDX-License-Identifier: Apache-2.0
"""Programs without profkit under `profkit run`.

usage: run.py CASE     Exit code: 0 passed, 1 failed, 4 cannot run here
Environment: PROFKIT_PROGRAM, the program profkit; PROGRAMS, the folder of the programs; LIBRARY_FOLDER, where libraries are installed,
relative to that of programs; IMITATIONS, the folder of an imitated CUDA driver and CUPTI.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 4
PROFKIT = pathlib.Path(os.environ["PROFKIT_PROGRAM"])
PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
TOOLS = ("PROFKIT", "NVTX_INJECTION", "CUDA_INJECTION", "KOKKOS_TOOLS", "LD_PRELOAD", "OMPI_", "PMIX_", "RANK", "WORLD_SIZE", "SLURM_")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def program(name):
    path = PROGRAMS / f"profkit_{name}"
    return path if path.exists() else skip(f"{path.name} was not built")


def run(*command, options=(), stdin=None, launcher=(), profkit=PROFKIT, folder=None, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(TOOLS)}
    words = [*launcher, profkit, "run", *options, "--", *command]
    done = subprocess.run([str(word) for word in words], input=stdin, capture_output=True, text=True, timeout=100, check=False,
                          env=inherited | environment, cwd=folder)
    print(f"$ {' '.join(map(str, words))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done


def report_in(folder):
    return json.loads((pathlib.Path(folder) / "report.json").read_text(encoding="utf-8"))


def counts(report):
    return {scope["path"]: scope["count"] for scope in report["scopes"]}


def equal(value, expected):
    assert value == expected, f"{value!r} is not {expected!r}"


def contains(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in: {text}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"{part!r} in: {text}"


def domains(folder):
    """Push/pop and start/end, domains, registered and wide strings, payloads, threads. The steps are found."""
    done = run(program("nvtx_ranges"), "20", options=["--out", folder])
    equal((done.returncode, done.stdout), (3, "done\n"))
    contains(done.stderr, "a word on stderr\n", 'steps: the range "Train step *", found because it repeats (profkit run --step PATTERN')
    contains(done.stderr, "15 measured steps after 3 of warm-up", "DATA     complete")
    report = report_in(folder)
    equal(report["steps"]["measured"], 15)
    equal(counts(report), {"step": 15, "step/matrix_0": 15, "step/matrix_1": 15, "worker": 15, "lade ü€": 15, "overlapping": 15})
    notes = [each["name"] for each in report["quality"]["collectors"]]
    assert any(note.startswith('steps: the range "Train step *"') for note in notes), notes


def steps(folder):
    """--step chooses the steps."""
    nvtx_ranges = program("nvtx_ranges")
    done = run(nvtx_ranges, "20", options=["--step", "Train*1?", "--out", folder], PROFKIT="warmup=0")
    equal(report_in(folder)["steps"]["measured"], 10)
    contains(done.stderr, 'steps: the range "Train*1?" (--step)')
    run(nvtx_ranges, "2", options=["--step", "none", "--out", folder])
    every = {name for name in counts(report_in(folder)) if not name.startswith("Train step")}
    equal(every, {"setup", "worker", "lade ü€", "overlapping"})
    equal(counts(report_in(folder))["Train step 1/matrix_0"], 1)
    contains(run(nvtx_ranges, "2", options=["--step", "Epoch *"]).stderr, 'no steps: no range matches --step "Epoch *"')


def started(folder):
    """Steps may be ranges between a start and an end: found, and chosen; also if they end on another thread."""
    nvtx_ranges = program("nvtx_ranges")
    done = run(nvtx_ranges, "20", "started", options=["--out", folder])
    contains(done.stderr, 'steps: the range "iteration *", found because it repeats')
    every = counts(report_in(folder))
    equal((every["step"], every["step/matrix_0"], every["step/matrix_1"]), (14, 14, 14))
    assert every["prefetch"] >= 14, every
    run(nvtx_ranges, "20", "started", options=["--step", "iteration 1?", "--out", folder], PROFKIT="warmup=0")
    equal(counts(report_in(folder))["step/matrix_1"], 10)
    done = run(nvtx_ranges, "20", "elsewhere", options=["--step", "iter*", "--out", folder], PROFKIT="warmup=0")
    contains(done.stderr, "20 steps ended on another thread than they began: each lasts until the next one begins")
    equal(counts(report_in(folder))["step/matrix_1"], 19)


def bounds(folder):
    """More names than there is room for, and ranges of two domains that do not nest."""
    done = run(program("nvtx_ranges"), "12", "many", options=["--step", "none", "--out", folder])
    contains(done.stderr, 'ranges are in the row "(further names)": there is room for 8,192 names of ranges, of 1 MiB in all')
    names = {scope["name"] for scope in report_in(folder)["scopes"]}
    assert "(further names)" in names and 8000 < len(names) <= 8200, len(names)
    done = run(program("nvtx_ranges"), "12", "crossed", options=["--out", folder])
    contains(done.stderr, "12 ranges ended before a range inside them")
    equal(counts(report_in(folder))["step/outer/inner"], 7)


def ends(folder):
    """The exit code and the signal are those of the program."""
    nvtx_ranges = program("nvtx_ranges")
    for end, code in (("abort", -signal.SIGABRT), ("kill", -signal.SIGTERM), ("exit", 4), ("thread_exit", 5)):
        done = run(nvtx_ranges, "10", end)
        equal((done.returncode, done.stdout), (code, "done\n"))
        equal("SCOPES" in done.stderr, end == "thread_exit")
    done = run(nvtx_ranges, "10", "kill", options=["--out", folder], PROFKIT="signals=report")
    equal((done.returncode, report_in(folder)["steps"]["measured"]), (-signal.SIGTERM, 5))
    done = run(nvtx_ranges, "10", "fork")  # a child without exec says nothing
    equal((done.returncode, done.stderr.count("SCOPES"), done.stderr.count("profkit: ")), (3, 1, 1))
    done = run(nvtx_ranges, "10", "closed", folder=folder)
    equal((done.returncode, done.stderr.count("SCOPES"), (pathlib.Path(folder) / "data").read_bytes()), (3, 1, b""))


def commands(folder):
    """Programs that cannot be run, and options that are wrong."""
    done = run("no_such_program")
    equal((done.returncode, done.stdout), (127, ""))
    contains(done.stderr, "profkit: run: cannot find the program no_such_program")
    file = pathlib.Path(folder) / "text"
    file.write_text("text", encoding="utf-8")
    done = run(file)
    equal(done.returncode, 126)
    contains(done.stderr, f"cannot run {file}: Permission denied")
    done = run("true", PROFKIT="warm=1")
    equal(done.returncode, 2)
    contains(done.stderr, 'PROFKIT: unknown key "warm=1". Did you mean "warmup"?')
    done = run(program("nvtx_ranges"), "9", NVTX_INJECTION64_PATH="/another/tool.so")
    contains(done.stderr, "NVTX_INJECTION64_PATH is /another/tool.so: NVTX ranges go to that tool and are not recorded")
    equal(run(program("nvtx_ranges"), "9", PROFKIT="off").stderr, "a word on stderr\n")
    run(program("nvtx_ranges"), "9", options=["--out", pathlib.Path(folder) / "lr=1,steps=2"])
    equal(report_in(pathlib.Path(folder) / "lr=1,steps=2")["steps"]["measured"], 4)
    equal(run("cat", launcher=["env", "-i"], stdin="no PATH").stdout, "no PATH")


def static(_):
    """A static program cannot load the library."""
    done = run(program("static_program"))
    equal((done.returncode, done.stdout), (6, "static\n"))
    contains(done.stderr, "is statically linked, so no library can be loaded into it")


def plain(folder):
    """A program with neither ranges nor a GPU, in a pipe: the report is about the host."""
    done = run("cat", options=["--out", folder], stdin="one\ntwo\n")
    equal((done.returncode, done.stdout), (0, "one\ntwo\n"))
    contains(done.stderr, "cat used neither a GPU, nor NVTX, nor Kokkos: the report is about the host alone")
    equal(report_in(folder)["steps"]["measured"], 0)
    equal(report_in(folder)["memory"]["host"]["resident"]["samples"], 1)
    equal(run("sh", "-c", "printf %s \"$LD_PRELOAD\"; cat", stdin="text").stdout, "text")


def script(folder):
    """A shell script is left alone; the programs that it starts are not."""
    file = pathlib.Path(folder) / "two"
    nvtx_ranges = program("nvtx_ranges")
    file.write_text(f"#!/bin/sh\necho begin\n{nvtx_ranges} 8; echo code $?\n{nvtx_ranges} 9 | cat\nls {folder} > /dev/null\n", encoding="utf-8")
    file.chmod(0o755)
    done = run(file, options=["--out", pathlib.Path(folder) / "out"])
    equal((done.returncode, done.stdout), (0, "begin\ndone\ncode 3\ndone\n"))
    contains(done.stderr, "is left alone; each program that it starts")
    equal(done.stderr.count("SCOPES"), 2)
    equal(sorted(report_in(each)["steps"]["measured"] for each in (pathlib.Path(folder) / "out").iterdir()), [3, 4])


def own_session(folder):
    """A program with profkit keeps its session, and `run` says so."""
    done = run(program("some_steps"), options=["--out", folder], PROFKIT="report")
    contains(done.stderr, "profkit_some_steps has sessions of profkit in its code and keeps them")
    contains(done.stdout, "measured steps")
    lacks(done.stdout + done.stderr, "libprofkit_run", "not collected")
    equal(list(pathlib.Path(folder).iterdir()), [])
    done = run(program("some_steps"), options=["--with-profkit", "--step", "none", "--out", folder], PROFKIT="report")
    contains(done.stdout, "measured steps")
    assert counts(report_in(folder)), "no scopes"


def kokkos(folder):
    """Regions and kernels of Kokkos."""
    done = run(program("kokkos_calls"), options=["--out", folder])
    equal(done.returncode, 0)
    contains(done.stderr, 'steps: the range "time step", found')
    equal(counts(report_in(folder)), {"step": 7, "step/forces": 7, "step/energy": 7, "step/deep_copy": 7})


def cuda(folder):
    """The CUDA driver loads the library in cuInit, which must not be called then. Imitated driver and CUPTI."""
    if not pathlib.Path(os.environ["IMITATIONS"], "libcupti.so.13").exists():
        skip("the imitated CUPTI was not built")
    done = run(program("cuda_injected"), options=["--out", folder], FAKE_CUDA="cuInit=100", LD_LIBRARY_PATH=os.environ["IMITATIONS"])
    equal((done.returncode, done.stdout), (0, "done\n"))
    report = report_in(folder)
    passes = ("step/backward", "step/backward of the other model")
    sorts = [f"{each}/sort" for each in passes]
    equal(counts(report), dict.fromkeys(("step", "step/solve", *passes, *sorts), 7))
    equal({kernel["name"]: kernel["count"] for kernel in report["kernels"]}, {"spin(float*)": 7, "grad(float*)": 14, "sort(float*)": 14})
    equal({scope["path"]: scope["kernels"] for scope in report["scopes"]}, {"step": 35} | dict.fromkeys(passes, 14) | dict.fromkeys(("step/solve", *sorts), 7))
    equal(report["environment"]["gpu"], "imitated GPU")
    states = {each["name"]: each["status"] for each in report["quality"]["collectors"]}
    equal({states[name] for name in ("kernels", "device", "cuda device", "gpu clocks", "host")}, {"collected"})
    lacks(done.stderr, "not collected")


def slow_readings(folder):
    """Readings of a memory source that is slow leave steps out, and the report says so."""
    if not pathlib.Path(os.environ["IMITATIONS"], "libcupti.so.13").exists():
        skip("the imitated CUPTI was not built")
    done = run(program("cuda_injected"), options=["--full", "--out", folder], FAKE_CUDA_MEMORY_US="20000", LD_LIBRARY_PATH=os.environ["IMITATIONS"])
    memory = report_in(folder)["memory"]
    equal(memory["cuda device"]["used (device-wide)"]["samples"], 1)
    equal(memory["host"]["resident"]["samples"], 7)
    contains(" ".join(done.stderr.split()), "cuda device used (device-wide) was read after 1 of 7 measured steps")


def ranks(folder):
    """Each rank has a report; rank 0 prints."""
    mpi_ranks, mpirun = program("mpi_ranks"), shutil.which("mpirun")
    if mpirun is None:
        skip("no mpirun")
    launcher = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    done = run(mpi_ranks, options=["--out", folder], launcher=launcher)
    equal(done.returncode, 0)
    equal(done.stderr.count("SCOPES"), 1)
    for rank in range(3):
        equal(counts(report_in(pathlib.Path(folder) / f"rank{rank}"))["step/reduce"], 5)
    shutil.rmtree(folder)
    inside = run(*launcher, mpi_ranks, options=["--out", folder])  # mpirun is the program
    equal(inside.returncode, 0)
    equal(sorted(each.name for each in pathlib.Path(folder).iterdir()), ["rank0", "rank1", "rank2"])


def python(folder):
    """The ranges of PyTorch."""
    code = """
import time
import torch
from torch.cuda import nvtx
weights = torch.randn(64, 64, requires_grad=True)
for i in range(12):
    nvtx.range_push(f"iteration {i}")
    with nvtx.range("forward"):
        loss = (weights @ weights).sum()
        time.sleep(0.001)
    with nvtx.range("backward"):
        loss.backward()
    nvtx.range_pop()
raise SystemExit(7)
"""
    if importlib.util.find_spec("torch") is None:
        skip("no PyTorch")
    done = run(sys.executable, "-c", code, options=["--out", folder])
    equal((done.returncode, done.stdout), (7, ""))
    equal(counts(report_in(folder)), {"step": 7, "step/forward": 7, "step/backward": 7})


def installed(folder):
    """The library is found where it is installed, also if the tree was moved."""
    bin_folder = pathlib.Path(folder) / "bin"
    library_folder = pathlib.Path(os.path.normpath(bin_folder / os.environ["LIBRARY_FOLDER"]))
    bin_folder.mkdir()
    shutil.copy(PROFKIT, bin_folder)
    moved = bin_folder / PROFKIT.name
    done = run("true", profkit=moved)
    equal(done.returncode, 2)
    contains(done.stderr, "cannot find libprofkit_run.so beside")
    library_folder.mkdir(parents=True)
    shutil.copy(PROFKIT.parent / "libprofkit_run.so", library_folder)
    contains(run(program("nvtx_ranges"), "10", profkit=moved).stderr, "5 measured steps")
    shutil.move(folder, f"{folder} a")
    done = run("true", profkit=pathlib.Path(f"{folder} a") / "bin" / PROFKIT.name)
    shutil.move(f"{folder} a", folder)
    equal(done.returncode, 2)
    contains(done.stderr, "libprofkit_run.so: LD_PRELOAD takes no path with a space or a colon")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        globals()[sys.argv[1]](made)
