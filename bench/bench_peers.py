# SPDX-License-Identifier: Apache-2.0
"""The same scope loop with other recorders, each in a separate process, alternating. Unavailable recorders are reported with the reason."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import bench_compile

# Name of a row: its program, the argument of the program, and the tool that runs it.
ROWS = {"floor": ("floor", "on", None), "profkit": ("profkit", "on", None), "profkit, off": ("profkit", "off", None),
        "lttng": ("lttng", "on", "lttng"), "lttng, off": ("lttng", "off", None), "nvtx, off": ("nvtx", "off", None),
        "nsys": ("nvtx", "on", "nsys"), "tracy": ("tracy", "on", None), "tracy, server": ("tracy", "on", "tracy-capture"),
        "tracy, off": ("tracy_on_demand", "off", None),
        "perfetto": ("perfetto", "on", None), "perfetto, off": ("perfetto", "off", None), "caliper": ("caliper", "on", None),
        "caliper, off": ("caliper", "off", None), "spall": ("spall", "on", None)}

# Recorders whose source bench/peers/fetched/CMakeLists.txt fetches, and the time limits in seconds for configuring and building one.
FETCHED = ("tracy", "perfetto", "caliper", "spall")
CONFIGURE_LIMIT = 300
BUILD_LIMIT = 900
SESSION = f"profkit-peers-{os.getpid()}"  # unique, so that several runs can be active at a time
FIGURES = ("one", "two", "first", "grown")


def call(*command, **keywords):
    keywords.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([str(word) for word in command], check=True, stderr=subprocess.STDOUT, text=True, timeout=120, **keywords).stdout


def bytes_in(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())


@contextlib.contextmanager
def lttng_daemon():
    """Runs LTTng's session daemon, unless one is already running."""
    running = subprocess.run(["lttng", "list"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if running.returncode == 0 and "No session daemon" not in running.stdout:
        yield
        return
    with subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
        try:
            for _ in range(100):
                time.sleep(0.1)
                if subprocess.run(["lttng", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                    break
            yield
        finally:
            daemon.terminate()


def lost_events(text):
    """@return the discarded events of all channels in the output of `lttng list SESSION`; None if it has no counts."""
    counts = [int(line.split(":")[1]) for line in text.splitlines() if line.strip().startswith("Discarded events:")]
    return sum(counts) if counts else None


def under_lttng(command, folder):
    """Runs the command with eight 1 MiB buffers per processor, which drop events when full. @return bytes on disk, and lost events."""
    call("lttng", "create", SESSION, f"--output={folder}/trace")
    try:
        call("lttng", "enable-channel", "--userspace", "--subbuf-size=1M", "--num-subbuf=8", "--discard", "peer")
        call("lttng", "enable-event", "--userspace", "--channel=peer", "profkit_peer:*")
        call("lttng", "start")
        # The program waits until the daemon has enabled its events.
        call(*command, env={**os.environ, "LTTNG_UST_REGISTER_TIMEOUT": "-1"})
        call("lttng", "stop")
        lost = lost_events(call("lttng", "list", SESSION))
    finally:
        call("lttng", "destroy", SESSION)
    return bytes_in(f"{folder}/trace"), lost


def under_nsys(nsys, command, folder):
    call(nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true", f"--output={folder}/report", *command)
    return pathlib.Path(f"{folder}/report.nsys-rep").stat().st_size, None


def under_tracy(command, folder):
    """Runs the command while Tracy's server reads its zones. @return bytes of the trace."""
    trace = pathlib.Path(f"{folder}/trace.tracy")
    with subprocess.Popen(["tracy-capture", "-f", "-a", "127.0.0.1", "-o", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            call(*command)
            server.wait(timeout=120)
        finally:
            server.kill()
    return trace.stat().st_size, None


def one_run(place, name):
    program, state, tool = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [program_of(place, program), state, f"{folder}/result.json"]
        disk, lost = None, None
        if tool == "lttng":
            disk, lost = under_lttng(command, folder)
        elif tool == "nsys":
            disk, lost = under_nsys(place.nsys, command, folder)
        elif tool == "tracy-capture":
            disk, lost = under_tracy(command, folder)
        else:
            call(*command)
            trace = pathlib.Path(folder, "result.json.trace")
            disk = trace.stat().st_size if trace.exists() else None
        found = json.loads(pathlib.Path(folder, "result.json").read_text())
    if disk is not None:
        found["disk"] = disk / found["scopes"]
    if lost is not None:
        found["lost"] = lost
    return found


def fetched_folder(place, name):
    return place.build / f"peer-{name}"


def program_of(place, program):
    """@return the path of a program, which may not exist."""
    name = program.split("_")[0]
    return (fetched_folder(place, name) if name in FETCHED else place.build / "bench/peers") / f"profkit_peer_{program}"


def reason_of(output):
    """@return the line with the error in the output of CMake or the compiler."""
    lines = output.splitlines()
    for pattern in (r"profkit_peer: (.*)", r".*?((?:fatal|error): .*)", r".*?(CMake Error.*)"):
        for line in lines:
            found = re.match(pattern, line)
            if found:
                return found[1].strip()[:160]
    return lines[-1][:160] if lines else "no output"


def fetch(place, root, name, *options):
    """Configures and builds a recorder from its fetched source. $PEER_SOURCES names a folder with existing sources, in the subfolders
    tracy, perfetto, caliper and spall. @return None, or the reason why there is no program."""
    folder = fetched_folder(place, name)
    source = pathlib.Path(os.environ.get("PEER_SOURCES", "/"), name).resolve()
    is_there = "PEER_SOURCES" in os.environ and source.is_dir()
    options = (f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}={source if is_there else ''}", *options)
    for program in {program for program, _, _ in ROWS.values() if program.split("_")[0] == name}:
        program_of(place, program).unlink(missing_ok=True)  # removes the program of an earlier run
    commands = (("not configured", CONFIGURE_LIMIT, ["cmake", "-S", root / "bench/peers/fetched", "-B", folder, "-G", "Ninja",
                                                     "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={place.compiler}",
                                                     f"-DPROFKIT_PEER={name}", *options]),
                ("not built", BUILD_LIMIT, ["cmake", "--build", folder]))
    for words, limit, command in commands:
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return f"{words} within {limit} s"
        except OSError as reason:
            return f"{words}: {reason}"
        if done.returncode != 0:
            reason = reason_of(done.stdout)
            return reason if reason.startswith("source not reachable") else f"{words}: {reason}"
    return None


def reasons(place, not_fetched):
    """@return the rows that cannot be measured on this machine, with the reason."""
    missing = {}
    for name, (program, _, tool) in ROWS.items():
        peer = program.split("_")[0]
        if not_fetched.get(peer):
            missing[name] = not_fetched[peer]
        elif not program_of(place, program).exists():
            missing[name] = "its headers were not found"
        elif tool == "nsys" and shutil.which(place.nsys) is None:
            missing[name] = "there is no Nsight Systems"
        elif tool == "lttng" and shutil.which("lttng-sessiond") is None:
            missing[name] = "there is no session daemon"
        elif tool == "tracy-capture" and shutil.which(tool) is None:
            missing[name] = "there is no tracy-capture"
    return missing


def failure_of(reason):
    """@return the last output line of a failed program, or the error itself."""
    lines = (getattr(reason, "output", None) or "").strip().splitlines() if isinstance(reason, subprocess.CalledProcessError) else []
    return f"failed: {lines[-1] if lines else reason}"[:160]


def versions(place, missing):
    found = {"nsys": call(place.nsys, "--version").strip()} if shutil.which(place.nsys) else {}
    if shutil.which("lttng"):
        found["lttng"] = call("lttng", "--version").strip()
    for name in FETCHED:
        file = fetched_folder(place, name) / "version.txt"
        if file.exists() and name not in missing:
            found[name] = file.read_text().strip()
    return found


def include_cost(place, root, missing, rounds, say):
    """Compile time and size of a file with one scope, for the recorders whose headers are installed."""
    here = root / "bench/peers"
    files = {"empty": ""}
    options = ["-I", str(here)]
    for name in ("profkit", "lttng", "nvtx", *FETCHED):
        if (f"{name}, off" if f"{name}, off" in ROWS else name) not in missing:
            if name in FETCHED:
                options += (fetched_folder(place, name) / "include_options.txt").read_text().split("\n")[:-1]
            files[name] = f'#include "{here}/{name}_scope.hpp"\nvoid work();\nvoid measured() {{\n  PEER_SCOPE("scope");\n  work();\n}}\n'
    return bench_compile.measure_files(files, options, place.compiler, root / "include", place.nvtx, rounds, say)


def measure(place, root, rounds, say, fetched=FETCHED):
    """@return {"rounds": {row: {figure: [value of each round]}}, ...}"""
    not_fetched = {}
    for name in FETCHED:
        say(f"peers: source of {name}")
        not_fetched[name] = fetch(place, root, name) if name in fetched else "not asked for"
    missing = reasons(place, not_fetched)
    rows = [name for name in ROWS if name not in missing]
    found = {name: {} for name in rows}
    with lttng_daemon() if any(ROWS[name][2] == "lttng" for name in rows) else contextlib.nullcontext():
        for turn in range(rounds):
            say(f"peers: round {turn + 1} of {rounds}")
            for name in rows[turn % len(rows):] + rows[:turn % len(rows)]:  # so that no row is always first
                if name in missing:
                    continue
                try:
                    figures = one_run(place, name)
                except (OSError, ValueError, subprocess.SubprocessError) as reason:
                    missing[name] = failure_of(reason)
                    continue
                for figure, value in figures.items():
                    found[name].setdefault(figure, []).append(value)
    found = {name: figures for name, figures in found.items() if name not in missing}
    kept = {}
    for name, figures in found.items():
        kept[name] = {figure: [round(value, 2) for value in figures[figure]] for figure in FIGURES}
        kept[name].update({figure: round(statistics.median(figures[figure]), 2) for figure in ("log_bytes", "disk") if figures.get(figure, [-1])[0] >= 0})
        if figures["lost"][0] >= 0:
            kept[name]["lost"], kept[name]["opened"] = sum(figures["lost"]), sum(figures["scopes"])
    return {"versions": versions(place, missing), "missing": missing, "rounds": kept,
            "include": include_cost(place, root, missing, min(rounds, 7), say)}
