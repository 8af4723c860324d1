#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""profkit watch in a terminal, while a program with a journal starts, runs, is killed and starts again.

usage: watch.py PROGRAM CASE      PROFKIT_PROGRAM in the environment: the program profkit
"""
import fcntl
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from cases import require, run_case, running

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
COVERAGE = {"LLVM_PROFILE_FILE": os.environ.get("LLVM_PROFILE_FILE", os.devnull)}  # not in the test folder


class Watch:
    """profkit watch with its own pseudo-terminal."""

    def __init__(self, folder, *arguments, rows=24, columns=100, is_job=False, **environment):
        self.is_job, self.job_pipe = is_job, os.pipe()
        self.master, self.terminal = os.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.terminal)
        self.written = b""
        self.process = subprocess.Popen([os.environ["PROFKIT_PROGRAM"], "watch", "--interval", "0.1", *arguments], cwd=folder, stdin=self.terminal,
                                        stdout=self.terminal, stderr=subprocess.PIPE, preexec_fn=self.own_terminal,
                                        env={"TERM": "xterm", "LC_ALL": "C.UTF-8", **COVERAGE, **environment})
        running.append(self.process)
        self.pid = struct.unpack("i", os.read(self.job_pipe[0], 4))[0] if is_job else self.process.pid

    def own_terminal(self):
        os.setsid()
        fcntl.ioctl(self.terminal, termios.TIOCSCTTY, 0)
        if not self.is_job:
            return
        # Like a job of a shell, because Ctrl-Z has no effect on orphaned process groups.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.terminal, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            return
        os.write(self.job_pipe[1], struct.pack("i", job))
        os.closerange(3, 256)
        _, status = os.waitpid(job, 0)
        os._exit(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 100 + os.WEXITSTATUS(status))

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.written += os.read(self.master, 1 << 16)
            except OSError:  # the other side is closed
                time.sleep(seconds)

    def screen(self):
        """@return the lines of the last complete screen, without colours."""
        begin, end = b"\x1b[?2026h\x1b[H", b"\x1b[?2026l"
        whole = [frame for frame in self.written.split(begin)[1:] if end in frame]
        if not whole:
            return []
        frame = whole[-1].split(end)[0]
        # Behind a text that fills its line, the cursor is on the last character: nothing may be erased there.
        require(not re.search(rb"[^\n]\x1b\[[KJ]", frame), f"erased behind a text: {frame}")
        return re.split(r"\r+\n", re.sub(r"\x1b\[[0-9;]*[mKJ]", "", frame.decode("utf-8")))  # the terminal adds a carriage return

    def wait_for(self, what, seconds=30):
        """Waits until a line of the screen matches. @return the match."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.1)
            for line in self.screen():
                if match := re.search(what, line):
                    return match
        sys.exit(f"no '{what}' on the screen:\n" + "\n".join(self.screen()))

    def wait_for_steps(self, more_than):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            steps = int(self.wait_for(r"; ([\d,]+) measured").group(1).replace(",", ""))
            if steps > more_than:
                return steps
        sys.exit(f"no more than {more_than} steps on the screen:\n" + "\n".join(self.screen()))

    def key(self, text):
        os.write(self.master, text)

    def wait_until_over(self):
        end = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        require(self.process.poll() is not None, "it does not end")
        self.read_the_rest()
        return self.process.returncode

    def read_the_rest(self):
        """@return the output of a process that has ended or stopped."""
        for _ in range(5):
            self.read(0.05)

    def require_restored(self):
        require(self.written.count(ENTER) == self.written.count(LEAVE), "the alternate screen is not left")
        for at_last in LEAVE, b"\x1b[?25h", b"\x1b[?7h":
            require(self.written.rfind(at_last) > self.written.rfind(b"\x1b[H"), f"the terminal is not restored: {at_last}")
        require(termios.tcgetattr(self.terminal) == self.before, "the terminal's settings are not restored")


def start(program, folder, options, *arguments):
    running.append(subprocess.Popen([program, *arguments], cwd=folder, env={"PROFKIT": options, **COVERAGE}))
    return running[-1]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def inode_of(file):
    """@return None while one journal replaces another"""
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return None


def lives(program, folder):
    """watch starts before the program; the journal continues in other files; the program is killed, and starts again."""
    watch = Watch(folder, "run.journal")
    watch.wait_for("no journal yet: start the program with PROFKIT=journal=run.journal")
    require(files(folder) == [], files(folder))
    first = start(program, folder, "journal=run.journal,journal_size=1MiB", "1000000", "500")
    steps = watch.wait_for_steps(0)
    steps = watch.wait_for_steps(steps)
    watch.wait_for(rf"profkit_watched, process {first.pid} on ")
    watch.wait_for(r"running, 00:")
    watch.wait_for(r"^  work +1 ")
    watch.wait_for(r"^    odd \\x1b\[2J work +1 ")  # escaped
    watch.wait_for(r"MEMORY +host resident")
    while not (folder / "run.journal.1").exists():
        watch.read(0.05)
    inode = inode_of(folder / "run.journal.1")
    while inode_of(folder / "run.journal.1") in (None, inode):
        watch.read(0.05)
    steps = watch.wait_for_steps(steps + 100)
    first.send_signal(signal.SIGKILL)
    first.wait()
    watch.wait_for("process is gone")
    watch.wait_for("the session did not end: its last 100 ms may be missing")
    killed_at = watch.wait_for_steps(0)
    require(killed_at >= steps, f"{killed_at} steps after the kill, {steps} before it")
    reported = subprocess.run([os.environ["PROFKIT_PROGRAM"], "report", "--full", "run.journal"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    require(re.search(rf"^host +{killed_at} ", reported, re.MULTILINE), f"{killed_at} steps on the screen, not in the report:\n{reported[:600]}")
    second = start(program, folder, "journal=run.journal", "200")
    watch.wait_for(rf"process {second.pid} on ")
    watch.wait_for(r"ended, 00:")
    watch.wait_for(r"; 198 measured, 2 warm-up")
    require(second.wait() == 0, "the program failed")
    watch.key(b"q")
    require(watch.wait_until_over() == 0, f"exit code {watch.process.returncode}: {watch.process.stderr.read()}")
    watch.require_restored()
    left = [name for name in files(folder) if name != "run.journal.next"]  # may remain after a kill
    require(left == ["run.journal", "run.journal.before", "run.journal.before.1"], left)


def hangs(program, folder):
    """The line STUCK appears while the program is stopped, and goes away when it goes on."""
    process = start(program, folder, "journal=run.journal", "1000000")
    watch = Watch(folder, "run.journal", columns=120)
    watch.wait_for_steps(20)
    require(not any("STUCK" in line for line in watch.screen()), watch.screen())
    process.send_signal(signal.SIGSTOP)
    watch.wait_for(rf"^STUCK +step \d+, [\d.]+ s: process {process.pid} is stopped \(SIGSTOP\) after step \d+ since [\d.]+ s")
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: watch.read(0.05) or not any("STUCK" in line for line in watch.screen()), "STUCK stays")
    watch.key(b"q")
    require(watch.wait_until_over() == 0, f"exit code {watch.process.returncode}")
    watch.require_restored()


def signals(program, folder):
    """Signals end watch and restore the terminal. It stops and continues, and follows the size of the terminal."""
    with start(program, folder, "journal=run.journal", "20") as done:
        require(done.wait(60) == 0, "the program failed")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        watch = Watch(folder, "run.journal")
        watch.wait_for("ended, 00:")
        watch.process.send_signal(number)
        require(watch.wait_until_over() == -number, f"{number.name}: exit code {watch.process.returncode}")
        watch.require_restored()
    watch = Watch(folder, "run.journal", is_job=True)
    watch.wait_for("ended, 00:")
    watch.key(b"\x1a")  # Ctrl-Z
    wait_until(lambda: watch.read(0.05) or state(watch.pid) == "T", "it does not stop")
    watch.read_the_rest()
    watch.require_restored()
    watch.written = b""
    os.kill(watch.pid, signal.SIGCONT)
    watch.wait_for("ended, 00:")
    require(ENTER in watch.written, "it does not return to its screen")
    watch.resize(10, 40)
    wait_until(lambda: watch.read(0.05) or 5 < len(watch.screen()) <= 10, "the screen does not follow the terminal")
    require(all(len(line) <= 40 for line in watch.screen()), watch.screen())
    watch.key(b"\x03")  # Ctrl-C
    require(watch.wait_until_over() == signal.SIGINT, f"exit code {watch.process.returncode}")
    require(termios.tcgetattr(watch.terminal) == watch.before, "the terminal's settings are not restored")


def wait_until(is_so, what):
    end = time.monotonic() + 30
    while not is_so():
        require(time.monotonic() < end, what)


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]


def ranks(program, folder):
    """A folder: a row for each journal, including later ones; arrow keys choose one."""
    ranks_0_and_2 = [start(program, folder, f"journal=rank.{rank}.journal", "1000000", "10") for rank in (0, 2)]
    journals = [folder / f"rank.{rank}.journal" for rank in (0, 2)]  # shown in the order of discovery
    wait_until(lambda: time.sleep(0.05) or all(path.exists() and path.stat().st_size > 0 for path in journals), "no journals")
    watch = Watch(folder, ".", rows=30)
    watch.wait_for(r"^> rank\.0\.journal +running .* ms ")
    watch.wait_for(r"^  rank\.2\.journal +running .* ms ")
    watch.wait_for(rf"process {ranks_0_and_2[0].pid} on ")
    watch.key(b"\x1b[B")
    watch.wait_for(r"^> rank\.2\.journal")
    watch.wait_for(rf"process {ranks_0_and_2[1].pid} on ")
    start(program, folder, "journal=rank.1.journal", "1000000", "10")
    watch.wait_for(r"^  rank\.1\.journal +running .* ms ")
    watch.key(b"\x1b[A")
    watch.wait_for(r"^> rank\.0\.journal")
    watch.key(b"q")
    require(watch.wait_until_over() == 0, f"exit code {watch.process.returncode}")
    watch.require_restored()


def plain(program, folder):
    """Without a terminal: a snapshot after each interval with new data. With --once: one, or an error. NO_COLOR and ASCII."""
    done = start(program, folder, "journal=run.journal", "20")
    require(done.wait(60) == 0, "the program failed")
    profkit = os.environ["PROFKIT_PROGRAM"]
    once = subprocess.run([profkit, "watch", "--once", "run.journal"], cwd=folder, capture_output=True, text=True, timeout=60, check=True, env=COVERAGE)
    require("ended, 00:" in once.stdout and "18 measured, 2 warm-up" in once.stdout and once.stdout.isascii() and "\x1b" not in once.stdout, once.stdout)
    arguments = [profkit, "watch", "--interval", "0.1", "run.journal"]
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, env={"LC_ALL": "C.UTF-8", **COVERAGE}) as watch:
        time.sleep(1.0)
        require(start(program, folder, "journal=run.journal", "100").wait(60) == 0, "the program failed")
        time.sleep(1.0)
        watch.send_signal(signal.SIGTERM)
        said = watch.stdout.read().decode("utf-8")
    counts = [int(count) for count in re.findall(r"; (\d+) measured", said)]
    require(counts[0] == 18 and counts[-1] == 98 and counts.count(18) <= 2 and counts.count(98) <= 2 and len(counts) > 4, counts)
    require("\x1b" not in said, said)
    colours = {}
    for value in None, "1":
        watch = Watch(folder, "run.journal", **({"NO_COLOR": value} if value else {}))
        watch.wait_for("ended, 00:")
        watch.key(b"q")
        require(watch.wait_until_over() == 0, f"exit code {watch.process.returncode}")
        colours[value] = bool(re.search(rb"\x1b\[[0-9;]+m", watch.written))
    require(colours == {None: True, "1": False}, colours)


def only_reads(program, folder):
    """watch needs no write permission, takes no lock, and leaves no files in the folder."""
    start(program, folder, "journal=run.journal", "1000000", "100")
    while not (folder / "run.journal").exists():
        time.sleep(0.05)
    before = sorted((path.name, path.stat().st_ino, path.stat().st_mode) for path in folder.iterdir())
    watch = Watch(folder, "run.journal", ".")
    steps = watch.wait_for_steps(0)
    watch.wait_for_steps(steps)
    opened = [os.readlink(link) for link in pathlib.Path(f"/proc/{watch.process.pid}/fd").iterdir() if link.is_symlink()]
    for descriptor in pathlib.Path(f"/proc/{watch.process.pid}/fdinfo").iterdir():
        try:
            require("lock:" not in descriptor.read_text(encoding="utf-8"), f"it holds a lock: {opened}")
        except FileNotFoundError:  # closed in the meantime
            pass
    locks = pathlib.Path("/proc/locks").read_text(encoding="utf-8") if pathlib.Path("/proc/locks").exists() else ""
    require(not re.search(rf" {watch.process.pid} ", locks), locks)
    watch.key(b"q")
    require(watch.wait_until_over() == 0, f"exit code {watch.process.returncode}")
    require(before == sorted((path.name, path.stat().st_ino, path.stat().st_mode) for path in folder.iterdir()), files(folder))


if __name__ == "__main__":
    run_case(globals())
