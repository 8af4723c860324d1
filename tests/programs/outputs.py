#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If an output fails at the end of a session, the others are written, the failed one is named, and the program continues.

usage: outputs.py PROGRAM CASE      The environment variable PROFKIT_PROGRAM names the program profkit.
"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cases import require

FILES = {"report.html", "report.json", "summary.profkit", "report.md", "scopes.csv", "steps.csv", "trace.json"}
MAX_SECONDS = 30  # of a program; profkit waits for a file at most 10 s
CANNOT_PRINT = "profkit: cannot print the report to standard output: "


def run(program, folder, profkit, stdout, prepare=None, arguments=()):
    """@return stderr."""
    environment = {"PROFKIT": profkit, "LLVM_PROFILE_FILE": os.devnull}  # files of coverage builds are no outputs
    done = subprocess.run([program, *arguments], cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          preexec_fn=prepare, timeout=MAX_SECONDS)
    require(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    require("the program came to its end\n" in done.stderr, done.stderr)
    return done.stderr


def require_files(folder, missing=frozenset()):
    there = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    require(there == FILES - missing, f"these are there: {there}")


def filled_pipe():
    """@return both ends of a pipe that has no room."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while os.write(write, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(write, True)
    return read, write


def files_first(program, folder):
    """Files are written even if the pipe of stdout has no reader."""
    read, write = filled_pipe()
    with subprocess.Popen([program], cwd=folder, env={"PROFKIT": "report,out=out"}, stdout=write, stderr=subprocess.DEVNULL) as running:
        os.close(write)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (folder / "out" / "trace.json").exists():
            time.sleep(0.01)
        try:
            require_files(folder / "out")
            require(running.poll() is None, "it printed nothing")
        finally:
            while os.read(read, 65536):
                pass
        require(running.wait() == 0, "it failed")


def closed(program, folder):
    said = run(program, folder, "report,out=out", None, lambda: os.close(1))
    require(CANNOT_PRINT + "Bad file descriptor\n" in said, said)
    require_files(folder / "out")


def full(program, folder):
    with open("/dev/full", "w") as device:
        said = run(program, folder, "report,out=out", device)
    require(CANNOT_PRINT + "No space left on device\n" in said, said)
    require_files(folder / "out")


def pipe(program, folder):
    """Like `| true`. (Python ignores SIGPIPE; the program must not.)"""
    read, write = os.pipe()
    os.close(read)
    said = run(program, folder, "report,out=out", write, lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    require(CANNOT_PRINT + "Broken pipe\n" in said, said)
    require_files(folder / "out")


def limit(program, folder):
    """Like `ulimit -f`: the signal for a file that grows beyond the limit would end the program. The next run replaces what it wrote."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    said = run(program, folder, "out=out,journal=run.journal", None, prepare)
    require("cannot write out/report.json: File too large" in said, said)
    require("out/scopes.csv" not in said, said)
    require({"scopes.csv", "steps.csv"} <= {each.name for each in (folder / "out").iterdir()}, "small files are missing")
    said = run(program, folder, "out=out", subprocess.DEVNULL)
    require("cannot" not in said, said)
    require_files(folder / "out")


def state(folder):
    """@return what each name in a folder is: the kind, and the content of a file or the target of a link."""
    def of(path):
        if path.is_symlink():
            return "link", os.readlink(path)
        if path.is_file():
            return "file", path.read_bytes()
        return path.lstat().st_mode, ""

    return {path.relative_to(folder): of(path) for path in sorted(folder.rglob("*"))}


def require_untouched(folder, before, what):
    after = state(folder)
    for name, found in before.items():
        require(after.get(name) == found, f"{what}: {name} was {found}, is {after.get(name)}")
    leftover = [str(name) for name in after if name.name.endswith(".tmp")]
    require(not leftover, f"{what}: {leftover} was left")


def plant_socket(place):
    import socket
    here = os.getcwd()
    os.chdir(place.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(place.name)
    os.chdir(here)


def plant_file(place):
    place.write_text("mine")


def link_to(name, make=None):
    def plant(place):
        if make is not None:
            make(place.parent / name)
        place.symlink_to(name)
    return plant


KINDS = {
    "file": plant_file,
    "FIFO": os.mkfifo,
    "folder": lambda place: place.mkdir(),
    "socket": plant_socket,
    "link to a file": link_to("the file", plant_file),
    "link to a folder": link_to("the folder", lambda place: place.mkdir()),
    "link to nothing": link_to("nothing"),
    "link to itself": lambda place: place.symlink_to(place.name),
    "link to a FIFO": link_to("the FIFO", os.mkfifo),
    "link to /dev/full": link_to("/dev/full"),
    "link to /dev/null": link_to("/dev/null"),
}


def each_kind(folder, name):
    """Yields each kind of file, a new folder, and the place of that file in it."""
    for number, (kind, plant) in enumerate(KINDS.items()):
        inside = folder / str(number)
        place = inside / name
        place.parent.mkdir(parents=True)
        plant(place)
        yield kind, inside, place


def in_folder(program, folder):
    """In the folder of a report, whatever has the name of one of its files is not touched and named; the other files are written, each time."""
    for name in sorted(FILES):
        for kind, inside, place in each_kind(folder / name, f"out/{name}"):
            before = state(inside)
            for _ in range(2):
                said = run(program, inside, "out=out", subprocess.DEVNULL)
                require(f"profkit: cannot write out/{name}: " in said and said.count("cannot") == 1, f"{kind} {name}: {said}")
                require_untouched(inside, before, f"{kind} {name}")
                there = {each.name for each in place.parent.iterdir()}
                require(FILES <= there, f"{kind} {name}: {there}")


def as_folder(program, folder):
    """out=DIR: a folder, or a link to one, is used, and only new files are in it; anything else is named and not touched."""
    for kind, inside, place in each_kind(folder, "out"):
        if place.is_dir():
            (place / "mine").write_text("mine")
        before = state(inside)
        said = run(program, inside, "out=out", subprocess.DEVNULL)
        require_untouched(inside, before, kind)
        require(place.is_dir() or "profkit: cannot create the directory out: " in said, f"{kind}: {said}")
        require(not place.is_dir() or FILES <= {each.name for each in place.iterdir()}, kind)


def as_trace(program, folder):
    """`trace` without a folder replaces a trace of profkit, and nothing else."""
    for kind, inside, place in each_kind(folder, "trace.json"):
        before = state(inside)
        said = run(program, inside, "trace", subprocess.DEVNULL)
        require_untouched(inside, before, kind)
        require("profkit: cannot write trace.json: it exists and is not a trace of profkit" in said, f"{kind}: {said}")
    for _ in range(2):
        said = run(program, folder, "trace", subprocess.DEVNULL)
        require("cannot" not in said, said)


def as_metrics(program, folder):
    """metrics=FILE replaces metrics of profkit, also behind a link, and an empty file; nothing else."""
    for kind, inside, place in each_kind(folder, "run.prom"):
        before = state(inside)
        said = run(program, inside, "metrics=run.prom", subprocess.DEVNULL)
        require_untouched(inside, before, kind)
        is_written = kind in ("link to nothing", "link to /dev/null")
        require(("profkit: cannot write run.prom: " in said) != is_written, f"{kind}: {said}")
    mine = "it exists and is not a file of profkit's metrics"
    for content, is_replaced in (("", True), ("x", False), ("# HELP node_load1", False), (None, True)):
        if content is not None:
            (folder / "run.prom").write_text(content)
        said = run(program, folder, "metrics=run.prom", subprocess.DEVNULL)
        require((mine not in said) == is_replaced, said)
        require((folder / "run.prom").read_text().startswith("# HELP profkit_") == is_replaced, content)
        if content is not None and not is_replaced:
            require((folder / "run.prom").read_text() == content, content)
            (folder / "run.prom").unlink()


def as_journal(program, folder):
    """journal=FILE: only a new file, or one that a link names, becomes a journal."""
    for kind, inside, place in each_kind(folder, "a.journal"):
        before = state(inside)
        said = run(program, inside, "journal=a.journal", subprocess.DEVNULL)
        require_untouched(inside, before, kind)
        is_written = place.is_file() and place.read_bytes().startswith(b"profkit journal")
        require(is_written == (kind == "link to nothing"), f"{kind}: {said}")
        require(is_written or "profkit: PROFKIT: cannot create the journal " in said, f"{kind}: {said}")


def bad_places(program, folder):
    """A parent that is a file, a name that is too long, a folder without permission, a current folder that was removed."""
    (folder / "file").write_text("mine")
    program = shutil.copy(program, folder / "program")  # the build folder may be closed to others
    os.chmod(folder, 0o755)
    before = state(folder)

    def become_nobody():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    long = "n" * 5000
    (folder / "closed").mkdir()
    os.chmod(folder / "closed", 0o555)
    for parent, prepare in ("file/", None), (long, None), (long[:300], None), ("closed/", become_nobody):
        for option in "out=", "journal=":
            said = run(program, folder, f"{option}{parent}x", subprocess.DEVNULL, prepare)
            require(f"{'the directory' if option == 'out=' else 'the journal'} {parent}x: " in said, said[-300:])
    said = run(program, folder / "closed", "trace", subprocess.DEVNULL, become_nobody)
    require("cannot write trace.json: Permission denied" in said, said)
    said = run(program, folder, "out=out,journal=a.journal,report=every:1", subprocess.DEVNULL, None, ["leave"])
    require("cannot create the directory" in said and "cannot create the journal" in said, said)
    os.rmdir(folder / "closed")
    require_untouched(folder, before, "bad places")
    require(set(state(folder)) == set(before), f"new files: {state(folder).keys()}")


def own_files(program, folder):
    """Only files that the report before lists as its own are replaced or removed."""
    out = folder / "out"
    out.mkdir()
    occasional = ["kernels.csv", "scope_memory.csv", "nvtx_pushpop_sum.csv", "nvtx_kern_sum.csv", "cuda_api_sum.csv", "nvtx_gpu_proj_sum.csv"]
    for name in occasional:
        (out / name).write_text("mine")
    for _ in range(2):
        run(program, folder, "out=out", subprocess.DEVNULL)
        for name in occasional:
            require((out / name).read_text() == "mine", f"{name} was replaced")
    # A file that the report lists, but the next report does not have, is removed.
    text = (out / "report.json").read_text()
    require('"files": [' in text, text[:300])
    (out / "report.json").write_text(text.replace('"files": [', '"files": [\n"kernels.csv", "nvtx_pushpop_sum.csv",'))
    run(program, folder, "out=out", subprocess.DEVNULL)
    for name in occasional:
        require((out / name).exists() == (name not in ("kernels.csv", "nvtx_pushpop_sum.csv")), f"{name}: wrongly kept or removed")
    # Earlier versions did not list their files. They replaced or removed all of them.
    start, end = text.index('"version"'), text.index("}")
    version = text[start:].split(",")[0].rstrip()
    (out / "report.json").write_text(text[:start] + version + "\n  " + text[end:])
    run(program, folder, "out=out", subprocess.DEVNULL)
    require_files(out)
    # A report.json that people made is none of profkit.
    (out / "report.json").write_text('{"schema": 1, "mine": true}\n')
    said = run(program, folder, "out=out", subprocess.DEVNULL)
    require("out/report.json: it exists, and no report of profkit in this folder contains it" in said, said)
    require((out / "report.json").read_text() == '{"schema": 1, "mine": true}\n', "report.json was replaced")


def chdir(program, folder):
    """Relative names belong to the folder in which the session was created."""
    (folder / "other").mkdir()
    run(program, folder, "report=every:1,out=out,journal=a.journal", subprocess.DEVNULL, None, ["chdir", "other"])
    require_files(folder / "out")
    run(program, folder, "trace", subprocess.DEVNULL, None, ["chdir", "other"])
    names = {each.name for each in folder.iterdir()}
    require(names == {"other", "out", "a.journal", "trace.json"} and not list((folder / "other").iterdir()), f"{names}")


def other_program(program, folder):
    """A report that replaces the one of another program says so; one of the same program does not."""
    other = folder / "other"
    other.symlink_to(program)
    require("replacing" not in run(program, folder, "out=out", subprocess.DEVNULL), "nothing was there")
    require("replacing" not in run(program, folder, "out=out", subprocess.DEVNULL), "it is of the same program")
    said = run(other, folder, "out=out", subprocess.DEVNULL)
    require("profkit: replacing the report of another process in out: process " in said and f", {program}. " in said, said)


def data_files(program, folder):
    """If a program starts with closed streams, its files get their numbers. Nothing of profkit is written into them."""
    cases = ["report=full,report=every:1,out=/dev/null/out,journal=/dev/null/a", "report,unknown", "report,out=out,journal=a,trace"]
    for closed_ones in [1], [2], [1, 2], [0, 1, 2]:
        for number, options in enumerate(cases):
            inside = folder / f"{closed_ones} {number}"
            inside.mkdir()
            command = 'exec "$0" data ' + " ".join(f"{each}>&-" for each in closed_ones)
            done = subprocess.run(["sh", "-c", command, program], cwd=inside, timeout=MAX_SECONDS, capture_output=True,
                                  env={"PROFKIT": options}, check=True)
            for name in "data1", "data2", "data3":
                found = (inside / name).read_text()
                require(found == "ab", f"{closed_ones}: {name} holds {found}")
            require(2 in closed_ones or number == 2 or done.stderr, f"{closed_ones}: no message on stderr")


def full_pipe(program, folder):
    """Messages for a full pipe that nobody reads do not stop the program."""
    read, write = filled_pipe()
    begin = time.monotonic()
    options = "report,report=every:1,out=/dev/null/out,journal=/dev/null/a"
    with subprocess.Popen([program, "data"], cwd=folder, env={"PROFKIT": options}, stdout=write, stderr=write) as running:
        try:
            require(running.wait(MAX_SECONDS) == 0, "it failed")
        except subprocess.TimeoutExpired:
            running.kill()
            sys.exit("it hangs")
    require(time.monotonic() - begin < 10, "it waited too long")
    require(os.get_blocking(write), "the flags of the pipe changed")
    os.close(read)
    os.close(write)


def tool(program, folder):
    """profkit report --html FILE, --json FILE: a file is replaced, also behind a link; nothing blocks; other kinds are named."""
    profkit = os.environ["PROFKIT_PROGRAM"]
    run(program, folder, "out=out", subprocess.DEVNULL)
    for option in "--html", "--json":
        for kind, inside, place in each_kind(folder / option, "page"):
            before = state(inside)
            done = subprocess.run([profkit, "report", "../../out", option, "page"], cwd=inside, capture_output=True, text=True,
                                  timeout=MAX_SECONDS)
            written = {"file": place, "link to a file": inside / "the file", "link to nothing": inside / "nothing"}.get(kind)
            if written is not None:
                require(done.returncode == 0 and written.stat().st_size > 1000 and place.is_symlink() == kind.startswith("link"), f"{kind}: {done}")
                continue
            require_untouched(inside, before, kind)
            is_null = kind == "link to /dev/null"
            require((done.returncode == 0) == is_null and (is_null or "cannot write page: " in done.stderr), f"{kind}: {done}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([profkit, "report", "out"], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=MAX_SECONDS, check=False)
    require((done.returncode, done.stderr) == (2, "profkit: cannot write to standard output: No space left on device\n"), done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        globals()[sys.argv[2]](sys.argv[1], pathlib.Path(name))
