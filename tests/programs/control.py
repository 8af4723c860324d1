# SPDX-License-Identifier: Apache-2.0
"""profkit ps, snapshot and capture, with programs that run, hang, fork, exec, end and are killed.

usage: control.py PROGRAM CASE      PROFKIT_PROGRAM in the environment: the program profkit
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from cases import require, run_case, running

PROTOCOL = "profkit-control 1 "


def wait_until(holds, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        require(time.monotonic() < deadline, what() if callable(what) else what)
        time.sleep(0.01)


def files_of(pid):
    """The open files of a process."""
    found = []
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(link))
        except FileNotFoundError:  # closed in the meantime
            pass
    return found


class Session:
    """A program whose sockets are in FOLDER/run/profkit."""

    def __init__(self, program, folder, way="", options="control,steps=forever", runtime="run", **environment):
        self.folder, self.runtime = folder, folder / runtime
        if not self.runtime.exists():
            self.runtime.mkdir(mode=0o700)
        self.environment = dict({name: value for name, value in os.environ.items() if not re.match("RANK|WORLD_SIZE|SLURM_|OMPI_|PM", name)},
                                XDG_RUNTIME_DIR=str(self.runtime), **environment)
        self.process = subprocess.Popen([program, way], cwd=folder, env=dict(self.environment, PROFKIT=options), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(self.process)
        self.pid = self.process.pid
        self.path = self.runtime / "profkit" / str(self.pid)

    def listens(self):
        wait_until(lambda: self.path.exists() or self.process.poll() is not None, "it does not listen")
        require(self.path.exists(), "it has ended")
        return self

    def reaches(self, step):
        self.listens()
        wait_until(lambda: int(self.status().get("step", 0)) >= step, f"step {step} is not reached")
        return self

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        wait_until(lambda: self.is_connected(client), "it accepts nobody")
        return client

    def is_connected(self, client):
        try:
            client.connect(str(self.path))
            return True
        except BlockingIOError:  # the queue is full
            return False

    def ask(self, request):
        """@return the bytes of the answer."""
        with self.connect() as client:
            client.sendall(request if isinstance(request, bytes) else (PROTOCOL + request + "\n").encode())
            return received(client)

    def status(self):
        return dict(word.split("=", 1) for word in self.ask("status").decode().split()[3:])

    def profkit(self, *words, code=0):
        done = subprocess.run([os.environ["PROFKIT_PROGRAM"], *map(str, words)], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=100, check=False)
        require(done.returncode == code, f"{words}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def end(self):
        """@return what it has printed."""
        out, err = self.process.communicate(timeout=60)
        require(self.process.returncode == 0 and "done\n" in out, f"exit code {self.process.returncode}: {out}{err}")
        require("Sanitizer" not in err, err)
        return out, err


def received(client):
    text = b""
    try:
        while part := client.recv(65536):
            text += part
    except ConnectionResetError:
        pass
    return text


def lists(program, folder):
    """Two sessions, with their ranks, steps and programs; none when they have ended."""
    first = Session(program, folder, RANK="3", WORLD_SIZE="8").reaches(20)
    second = Session(program, folder, "hang").reaches(5)
    time.sleep(0.6)
    lines = first.profkit("ps").splitlines()
    require(len(lines) == 3 and lines[0].split() == ["PID", "RANK", "STEP", "STEPS/S", "AGE", "IN", "STEP", "PROGRAM"], lines)
    rows = {int(line.split()[0]): line for line in lines[1:]}
    found = re.search(rf"^ *{first.pid} +3/8 +(\d+) +([\d.]+) +[\d.]+ s +", rows[first.pid])
    require(found and int(found.group(1)) >= 20 and 1 < float(found.group(2)) < 1000, rows)
    found = re.search(rf"^ *{second.pid} +- +5 .* ([\d.]+) s  (.*)$", rows[second.pid])  # the time in the step
    require(found and float(found.group(1)) >= 0.5 and found.group(2) == f"{program} hang", rows)
    first.end(), second.end()
    require(first.profkit("ps") == "no session listens: start programs with PROFKIT=control\n", "a session that has ended is listed")
    require(not list(first.path.parent.iterdir()), "a socket is left")


def snapshots(program, folder):
    """A report of the steps so far, as text and files, while the program runs; a long session too."""
    for way, steps in ("", 50), ("many", 300):  # 300,000 scopes: the figures are of windows
        session = Session(program, folder, way).reaches(steps)
        text = session.profkit("snapshot", session.pid)
        measured = int(re.search(r"([\d,]+) measured steps", text).group(1).replace(",", ""))
        require(measured >= steps - 3 and "snapshot of a running session" in text, text)
        text = session.profkit("snapshot", session.pid, "--out", f"report{way}", "--full")
        require("listening" in text and str(session.path) in text, text)
        report = json.loads((folder / f"report{way}" / "report.json").read_text())
        require(report["steps"]["measured"] >= measured, report["steps"])
        count = {scope["path"]: scope["count"] for scope in report["scopes"]}
        require(count["step/outer"] == report["steps"]["measured"] and (way == "") == ("step/outer/inner" not in count), count)
        require((folder / f"report{way}" / "trace.json").exists(), "no trace")
        later = json.loads(json.dumps(session.status()))
        require(int(later["step"]) >= measured, "the session has not gone on")
        session.end()


def hangs(program, folder):
    """The session answers while its program hangs in a step."""
    session = Session(program, folder, "hang").reaches(5)
    text = session.profkit("snapshot", session.pid)
    require("3 measured steps" in text and "the open step is not in the report" in session.profkit("snapshot", session.pid, "--full"), text)
    session.end()


def ends(program, folder):
    """The session ends while clients wait: they are told so, and the socket is removed. The same after exit without outputs."""
    for options in "control,steps=forever,report", "control,steps=forever":
        session = Session(program, folder, options=options).reaches(3)
        silent, waiting = session.connect(), session.connect()
        waiting.sendall((PROTOCOL + "snapshot profile\n").encode())
        out, _ = session.end()
        require(("DATA " in out) == ("report" in options), out)
        answer = received(waiting)
        require(answer in (b"", (PROTOCOL + "ok\n").encode(), (PROTOCOL + "error the session has ended\n").encode()), answer)
        require(received(silent) == b"" and not session.path.exists(), "the socket is left")
    require("there is no process" in session.profkit("snapshot", session.pid, code=2), "it answers after its end")


def killed(program, folder):
    """A socket that a killed process has left behind is removed by ps, and replaced by the next session of the same process."""
    session = Session(program, folder).reaches(3)
    other = Session(program, folder).reaches(3)
    session.process.kill()
    session.process.wait()
    require(session.path.exists(), "the socket is gone before ps")
    require(f"{other.pid} " in session.profkit("ps") and not session.path.exists() and other.path.exists(), "ps has not removed the socket")
    other.end()


def stopped(program, folder):
    """A process that is stopped is listed without an answer, and ps waits 2 s for all of them together."""
    sessions = [Session(program, folder).reaches(3) for _ in range(3)]
    for each in sessions:
        os.kill(each.pid, signal.SIGSTOP)
        threads = list(pathlib.Path(f"/proc/{each.pid}/task").iterdir())
        wait_until(lambda: all((thread / "stat").read_text().rpartition(") ")[2][0] == "T" for thread in threads), "it does not stop")
    began = time.monotonic()
    text = sessions[0].profkit("ps")
    require(text.count("(no answer within 2 s)") == 3 and time.monotonic() - began < 5, text)
    for each in sessions:
        os.kill(each.pid, signal.SIGCONT)
        each.end()


def forked(program, folder):
    """The child of a fork neither listens nor removes the socket of its parent, and a new session finds its name free."""
    session = Session(program, folder, "fork").reaches(20)
    children = pathlib.Path(f"/proc/{session.pid}/task/{session.pid}/children")
    if not children.exists():
        sys.exit(4)
    child = int(children.read_text().split()[0])
    inodes = {line.split()[6] for line in pathlib.Path("/proc/net/unix").read_text().splitlines() if line.endswith(f"{session.path}.new")}
    held = {os.readlink(link) for link in pathlib.Path(f"/proc/{child}/fd").iterdir()}
    require(inodes and not any(f"socket:[{inode}]" in held for inode in inodes), f"the child has the socket: {held}")
    session.process.kill()
    session.process.wait()
    require("no session listens" in session.profkit("ps") and not session.path.exists(), "the child answers for its parent")
    os.kill(child, signal.SIGKILL)


def execed(program, folder):
    """exec closes the socket; ps removes its name."""
    session = Session(program, folder, "exec").listens()
    wait_until(lambda: pathlib.Path(f"/proc/{session.pid}/comm").read_text() == "cat\n", "it does not become cat")
    require("no session listens" in session.profkit("ps") and not session.path.exists(), "the socket is left")
    session.process.communicate()


def closed(program, folder):
    """A program closes all descriptors, and its own sockets get the numbers: its clients reach it, and the session ends."""
    session = Session(program, folder, "closed", options="control,steps=forever,report=full")
    wait_until((folder / "own.15").exists, "no sockets")
    time.sleep(0.1)  # until it listens on the last one
    clients = [socket.socket(socket.AF_UNIX) for _ in range(16)]
    for number, client in enumerate(clients):
        client.connect(str(folder / f"own.{number}"))
        client.setblocking(False)
    time.sleep(0.3)  # several rounds of the session
    for client in clients:
        try:
            require(False, f"a connection of the program ended: {client.recv(1)}")
        except BlockingIOError:
            pass
    require("no session listens" in session.profkit("ps"), "it listens")
    out, _ = session.end()
    require("control: not listening (the program has closed" in " ".join(out.split()), out)


def steps_of(folder):
    """@return the report in a folder, and the first and last index of the steps in its trace."""
    trace = json.loads((folder / "trace.json").read_text())["traceEvents"]
    indices = [int(each["name"].split()[1]) for each in trace if each.get("cat") == "step"]
    return json.loads((folder / "report.json").read_text()), (indices[0], indices[-1])


def captures(program, folder):
    """20 steps with host samples and a trace; then the program is as it was, and its own report has no samples."""
    session = Session(program, folder, options="control,steps=forever,out=own").reaches(20)
    files = lambda: set(files_of(session.pid))
    time.sleep(0.3)  # the last client is disconnected
    before = files()
    text = session.profkit("capture", session.pid, "--steps", 20, "--samples", "1000Hz", "--trace", "--out", "part")
    first, last = map(int, re.search(rf"^process {session.pid}: steps (\d+) to (\d+)$", text, re.MULTILINE).groups())
    report, steps = steps_of(folder / "part")
    require(first >= 20 and steps == (first, last) and last == first + 19 and report["steps"]["measured"] == 20, (steps, text))
    count = {scope["path"]: scope["count"] for scope in report["scopes"]}
    require(count["step/outer"] == 20, count)
    samples = report["samples"]
    require(samples and samples["samples"] > 0 and any("work" in scope["path"] for scope in samples["scopes"]), samples)
    notes = {each["name"]: each["reason"] for each in report["quality"]["collectors"]}
    require(notes["capture"] == f"steps {first} to {last} of a session that goes on; host samples in these steps", notes)
    wait_until(lambda: files() <= before, lambda: f"left: {files() - before}", 10)
    session.reaches(last + 20)
    session.profkit("capture", session.pid, "--steps", 1, "--trace", "--out", "one")
    report, steps = steps_of(folder / "one")
    require(steps[0] > last and steps[0] == steps[1] and report.get("samples") is None, (steps, report.get("samples")))
    session.end()
    report, steps = steps_of(folder / "own")
    require(report["steps"]["measured"] == steps[1] - 1 and steps[1] >= last + 20 and report.get("samples") is None, steps)
    note = [each for each in report["quality"]["collectors"] if each["name"] == "control"][0]["reason"]
    require("; 2 captures, the latest of steps" in note, note)


def refused(program, folder):
    """Captures that cannot be: without a kernel collector, two at a time, steps that are over. A client that goes away ends its capture."""
    session = Session(program, folder).reaches(10)
    require("no kernel collector" in session.profkit("capture", session.pid, "--kernels", "--out", "x", code=2), "it has no kernels")
    require("step 5 has begun already" in session.profkit("capture", session.pid, "--from", 5, "--out", "x", code=2), "step 5 is over")
    require("is not a rate" in session.profkit("capture", session.pid, "--samples", "1000", "--out", "x", code=2), "no unit")
    for words in ("", "--out", "x"), (session.pid, "--out", ""):
        require("is empty; profkit ps lists" in session.profkit("capture", *words, code=2), words)
    long = session.connect()
    long.sendall((PROTOCOL + "capture steps=100000 samples=1000\n").encode())
    wait_until(lambda: b"another capture" in session.ask("capture steps=1"), "two captures at a time", 20)
    long.close()
    session.profkit("capture", session.pid, "--steps", 2, "--samples", "100Hz", "--out", "two")
    require(steps_of(folder / "two")[0]["steps"]["measured"] == 2, "not two steps")
    require("does not listen" in session.profkit("capture", os.getpid(), "--out", "x", code=2), "it listens")
    session.end()
    require(not (folder / "x").exists(), "a refused capture has written something")


def cut_off(program, folder):
    """The session ends, or hangs, in a capture: the report has the steps so far, or the client says that it waits no longer."""
    session = Session(program, folder).reaches(10)
    client = subprocess.Popen([os.environ["PROFKIT_PROGRAM"], "capture", str(session.pid), "--steps", "100000", "--trace", "--out", "part"], cwd=folder,
                              env=session.environment, stdout=subprocess.PIPE, text=True)
    running.append(client)
    time.sleep(1)
    session.end()
    text = client.communicate(timeout=60)[0]
    require(client.returncode == 0, text)
    report, steps = steps_of(folder / "part")
    require(f"steps {steps[0]} to {steps[1]}\n" in text and 1 < report["steps"]["measured"] < 100000, text)
    session = Session(program, folder, "hang").reaches(5)
    text = session.profkit("capture", session.pid, "--timeout", 1, "--out", "none", code=2)
    require("has not ended the steps of the capture within 1 s" in text, text)
    require("pid" in session.status(), "it does not answer")
    session.end()


def job(program, folder):
    """All ranks of a job record the same steps, also if one of them is behind."""
    ranks = []
    for rank in range(3):
        ranks.append(Session(program, folder, options="control,steps=forever,out=job", RANK=str(rank), WORLD_SIZE="3").reaches(30))
    other = Session(program, folder, options="control,steps=forever,out=jobs").reaches(3)
    text = ranks[0].profkit("capture", "job", "--steps", 10, "--trace", "--out", "part")
    steps = {rank: steps_of(folder / "part" / f"rank{rank}")[1] for rank in range(3)}
    require(len(set(steps.values())) == 1 and steps[0][1] == steps[0][0] + 9 and text.count(": steps ") == 3, (steps, text))
    require("3 ranks" in ranks[0].profkit("report", "part"), "the ranks are not merged")
    os.kill(other.pid, signal.SIGSTOP)
    text = ranks[0].profkit("capture", "job", "--steps", 2, "--out", "silent")
    os.kill(other.pid, signal.SIGCONT)
    require(f"profkit: process {other.pid} does not answer" in text and text.count(": steps ") == 3, text)
    require("no session that listens writes to it" in other.profkit("capture", "nowhere", "--out", "part", code=2), "a job without sessions")
    for each in ranks + [other]:
        each.end()


def parted(program, folder):
    """A rank that is killed in a capture is named, and the others have their reports; so has a rank that hangs."""
    ranks = [Session(program, folder, options="control,steps=forever,out=job", RANK=str(rank), WORLD_SIZE="4").reaches(10) for rank in range(4)]
    client = subprocess.Popen([os.environ["PROFKIT_PROGRAM"], "capture", "job", "--steps", "300", "--timeout", "20", "--trace", "--out", "part"], cwd=folder,
                              env=ranks[0].environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.append(client)
    wait_until(lambda: all("/memfd:profkit (deleted)" in files_of(each.pid) for each in ranks), "no capture", 20)
    ranks[1].process.kill()
    os.kill(ranks[2].pid, signal.SIGSTOP)
    out, err = client.communicate(timeout=60)
    os.kill(ranks[2].pid, signal.SIGCONT)
    require(client.returncode == 1, f"exit code {client.returncode}: {out}{err}")
    require(re.findall(r"^process \d+, rank (\d): steps \d+ to \d+$", out, re.MULTILINE) == ["0", "3"], out)
    require(f"profkit: process {ranks[1].pid}: " in err, err)
    require(f"profkit: process {ranks[2].pid} has not ended the steps of the capture within 20 s" in err, err)
    require(steps_of(folder / "part/rank0")[1] == steps_of(folder / "part/rank3")[1], "other steps")
    require(sorted(each.name for each in (folder / "part").iterdir()) == ["rank0", "rank3"], "reports of others")
    for each in ranks[0], ranks[2], ranks[3]:
        each.end()


def behind(program, folder):
    """A rank that began much later, because it was restarted, is captured in steps of its own."""
    first = Session(program, folder, options="control,steps=forever,out=job", RANK="0", WORLD_SIZE="2").reaches(10)
    time.sleep(15)
    second = Session(program, folder, options="control,steps=forever,out=job", RANK="1", WORLD_SIZE="2").reaches(10)
    wait_until(lambda: "steps_per_second" in second.status(), "no rate")
    reached = [int(each.status()["step"]) for each in (first, second)]
    text = first.profkit("capture", "job", "--steps", 5, "--trace", "--out", "part")
    begins = [steps_of(folder / f"part/rank{rank}")[1][0] for rank in range(2)]
    require(begins[0] > reached[0] > begins[1] > reached[1], (reached, begins, text))
    for each in first, second:
        each.end()


def without(program, folder):
    """Without control: no socket, no row in the report, nothing printed. With it: only the row."""
    rows = {}
    for options in "steps=forever,out=report", "control,steps=forever,out=report":
        session = Session(program, folder, options=options)
        if "control" in options:
            session.listens()
        time.sleep(0.3)
        require(session.end() == ("done\n", ""), "it prints something")
        rows[options] = [each["name"] for each in json.loads((folder / "report" / "report.json").read_text())["quality"]["collectors"]]
        require("control" in options or not list(session.runtime.iterdir()), "it has made a socket")
    require(list(rows.values()) == [[], ["control"]], rows)


def answered(folder, answer, *words, code=0):
    """@return what the program profkit prints if a session gives this answer."""
    sockets = folder / "run" / "profkit"
    sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = sockets / str(os.getpid())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(20)
        client = subprocess.Popen([os.environ["PROFKIT_PROGRAM"], *words], cwd=folder, env=dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        running.append(client)
        with listener.accept()[0] as connection:
            require(connection.recv(4096).startswith(PROTOCOL.encode()), "no request arrives")
            connection.sendall(answer)
        text = client.communicate(timeout=60)[0]
    path.unlink()
    require(client.returncode == code, f"exit code {client.returncode}: {text}")
    return text


def versions(program, folder):
    """Keys of a later version are ignored, words of its requests and other versions of the protocol refused with a sentence."""
    (folder / "run").mkdir(mode=0o700)
    recorded = (pathlib.Path(__file__).parent.parent / "data" / "1.0" / "control.txt").read_text(encoding="utf-8")
    ok = next(line for line in recorded.splitlines() if line.startswith(PROTOCOL + "ok pid=")).replace("pid=4181", f"pid={os.getpid()}")
    for answer in ok, ok.replace(" step=", " later=a%20key another step="):
        rows = answered(folder, answer.encode() + b"\n", "ps").splitlines()
        require(len(rows) == 2 and re.search(rf"^ *{os.getpid()} +3/8 +812 +9\.5\d* .* train --size small$", rows[1]), rows)
    text = answered(folder, b"profkit-control 2 ok pid=1\n", "snapshot", str(os.getpid()), code=2)
    require(re.search(rf"process {os.getpid()}: its answer has version 2 of the control protocol, and profkit [\d.]+ reads version 1\.", text), text)
    text = answered(folder, b"profkit-control \x1b[2J\n", "snapshot", str(os.getpid()), code=2)
    require("its answer is not one of profkit" in text and "\x1b" not in text, text)
    session = Session(program, folder).reaches(3)
    require(re.fullmatch(PROTOCOL + r"error unknown words at the end of the request: this session has profkit [\d.]+\n",
                         session.ask("snapshot profile later").decode()), "an unknown word is not refused")
    session.end()


if __name__ == "__main__":
    run_case(globals())
