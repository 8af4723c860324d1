#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the promises of SECURITY.md on the control socket of a session (PROFKIT=control).

usage: control_test.py PROGRAM      PROGRAM: tests/programs/controlled.cpp; PROFKIT_PROGRAM in the environment: the program profkit
"""
import os
import pathlib
import select
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "programs"))
from control import PROTOCOL, Session, files_of, received, running, wait_until  # pylint: disable=wrong-import-position

SKIPPED = 4
NOBODY, OTHER = 65534, 65533
ASKS_AS = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
client = socket.socket(socket.AF_UNIX); client.settimeout(20)
try:
    client.connect(sys.argv[2]); client.sendall(b"profkit-control 1 status\\n"); print("answer:", client.recv(100))
except OSError as failure:
    print("refused:", failure.strerror)
"""


class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profkit-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(self.end_all)

    @staticmethod
    def end_all():
        while running:
            process = running.pop()
            process.kill()
            process.communicate()

    def start(self, way="", **how):
        return Session(sys.argv[1], self.folder, way, **how)

    def refuses(self, session, reason):
        """The program runs without the socket, and says why."""
        out, err = session.end()
        self.assertEqual(out, "done\n")
        self.assertRegex(err, f"^profkit: control: .*{reason}")

    def test_the_socket_and_its_folder_are_of_the_user_alone(self):
        os.umask(0)
        session = self.start().listens()
        for path, kind, mode in (session.path, stat.S_ISSOCK, 0o600), (session.path.parent, stat.S_ISDIR, 0o700):
            found = path.lstat()
            self.assertTrue(kind(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == mode, found)
        session.end()

    def test_a_session_has_no_network_port(self):
        session = self.start().reaches(3)
        inodes = lambda name: {line.split()[6 if name == "unix" else 9] for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]}
        sockets = lambda: {link[8:-1] for link in files_of(session.pid) if link.startswith("socket:")}
        wait_until(lambda: len(sockets()) == 1, sockets)  # the last client is disconnected
        own = sockets()
        self.assertLessEqual(own, inodes("unix"))
        for name in "tcp", "tcp6", "udp", "udp6":
            if pathlib.Path(f"/proc/net/{name}").exists():
                self.assertFalse(own & inodes(name), name)
        session.end()

    def test_a_folder_that_others_may_change_is_not_used(self):
        for mode, reason in (0o755, "is not a folder of this user with mode 0700"), (0o770, "is not a folder"), (0o1700, "is not a folder"):
            with self.subTest(mode=oct(mode)):
                runtime = self.folder / f"run{mode}"
                runtime.mkdir(mode=0o700)
                (runtime / "profkit").mkdir()
                (runtime / "profkit").chmod(mode)
                self.refuses(self.start(runtime=runtime.name), reason)

    def test_a_link_or_a_file_instead_of_the_folder_is_not_used(self):
        (self.folder / "elsewhere").mkdir(mode=0o700)
        for name, make in (("link", lambda path: path.symlink_to(self.folder / "elsewhere")), ("file", lambda path: path.write_text(""))):
            with self.subTest(name):
                (self.folder / name).mkdir(mode=0o700)
                make(self.folder / name / "profkit")
                self.refuses(self.start(runtime=name), "is not a folder of this user")
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])

    def test_a_folder_of_another_user_is_not_used(self):
        if os.getuid() != 0:
            self.skipTest("only root can give a folder to another user")
        (self.folder / "run").mkdir(mode=0o700)
        (self.folder / "run" / "profkit").mkdir(mode=0o700)
        os.chown(self.folder / "run" / "profkit", NOBODY, NOBODY)
        self.refuses(self.start(), "is not a folder of this user")

    def test_a_long_path_and_a_lack_of_descriptors_do_not_stop_the_program(self):
        long = "x" * 90
        (self.folder / long).mkdir(mode=0o700)
        self.refuses(self.start(runtime=long), "the path of the socket is too long")
        self.refuses(self.start("full"), "cannot create a socket: Too many open files")

    def test_a_run_time_folder_that_is_not_private_is_replaced_by_one_in_tmp(self):
        (self.folder / "run").mkdir()
        (self.folder / "run").chmod(0o755)
        session = self.start()
        session.path = pathlib.Path(f"/tmp/profkit-{os.geteuid()}/{session.pid}")
        session.listens()
        self.assertEqual(stat.S_IMODE(session.path.parent.lstat().st_mode), 0o700)
        self.assertIn(str(session.pid), session.profkit("ps"))
        session.end()

    def test_another_user_gets_no_answer(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        session = self.start().reaches(3)
        ask = lambda user: subprocess.run([sys.executable, "-c", ASKS_AS, str(user), str(session.path)], capture_output=True, text=True, check=False).stdout
        self.folder.chmod(0o755)
        self.assertEqual(ask(OTHER), "refused: Permission denied\n")
        for path, mode in (session.runtime, 0o755), (session.path.parent, 0o755), (session.path, 0o666):
            path.chmod(mode)  # even if the user opens the folder to others
        self.assertIn(ask(OTHER), ("answer: b''\n", "refused: Connection reset by peer\n", "refused: Broken pipe\n"))
        self.assertIn("answer: b'profkit-control 1 ok", ask(0))
        session.end()

    def test_root_may_ask_a_session_of_a_user_and_not_the_other_way_round(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        (self.folder / "run").mkdir(mode=0o700)
        os.chown(self.folder / "run", NOBODY, NOBODY)
        program = self.folder / "program"
        program.write_bytes(pathlib.Path(sys.argv[1]).read_bytes())
        program.chmod(0o755)
        process = subprocess.Popen([program], user=NOBODY, group=NOBODY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={"PROFKIT": "control,steps=forever", "XDG_RUNTIME_DIR": str(self.folder / "run")}, cwd="/")
        running.append(process)
        path = self.folder / "run" / "profkit" / str(process.pid)
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        answers = {user: subprocess.run([sys.executable, "-c", ASKS_AS, str(user), str(path)], capture_output=True, text=True, check=False).stdout
                   for user in (0, NOBODY, OTHER)}
        self.assertEqual({user: answer.split(":")[0] for user, answer in answers.items()}, {0: "answer", NOBODY: "answer", OTHER: "refused"}, answers)
        process.communicate()

    def test_a_folder_in_tmp_that_another_user_made_first_is_not_used(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        program = self.folder / "program"
        program.write_bytes(pathlib.Path(sys.argv[1]).read_bytes())
        program.chmod(0o755)
        made = pathlib.Path(f"/tmp/profkit-{NOBODY}")
        if made.exists():
            self.skipTest(f"{made} exists")
        made.mkdir(mode=0o700)
        self.addCleanup(made.rmdir)
        os.chown(made, OTHER, OTHER)
        done = subprocess.run([program], user=NOBODY, group=NOBODY, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, cwd="/",
                              env={"PROFKIT": "control,steps=forever"})
        self.assertEqual(done.stdout, "done\n")
        self.assertRegex(done.stderr, f"^profkit: control: {made} is not a folder of this user")
        self.assertEqual(list(made.iterdir()), [])

    def test_the_program_profkit_asks_no_socket_of_another_user(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        session = self.start().listens()
        session.path.unlink()
        listens = "import os, socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.setuid(int(sys.argv[2])); s.listen(); time.sleep(60)"
        running.append(subprocess.Popen([sys.executable, "-c", listens, session.path, str(OTHER)], stdout=subprocess.PIPE))
        deadline = time.monotonic() + 20
        while "cannot" in (said := session.profkit("snapshot", session.pid, "--timeout", 1, code=2)) or "does not listen" in said:
            self.assertLess(time.monotonic(), deadline, said)
        self.assertIn("another user listens on its socket", said)

    def test_requests_that_are_not_understood_are_refused(self):
        session = self.start().reaches(3)
        line = PROTOCOL.encode()
        for request, part in ((b"\n", b"a request begins with"), (b"GET / HTTP/1.1\r\n\r\n", b"one request"), (b"profkit-control 2 status\n", b"begins with"),
                              (line + b"\n", b"unknown request"), (line + b"reset\n", b"unknown request"), (line + b"status \n", b"unknown words"),
                              (line + b"status x\n", b"unknown words"), (line + b"snapshot  profile\n", b"unknown words"),
                              (line + b"snapshot /etc/passwd\n", b"unknown words"), (line + b"status\0\n", b"unknown words"),
                              (line + b"status\n" + line + b"status\n", b"one request"), (b"\xff" * 4096 + b"\n", b"4096 bytes"),
                              (line + b"capture\n", b"unknown request"), (line + b"capture steps=0\n", b"not from 1 to"),
                              (line + b"capture steps=1000000000000\n", b"not from 1 to"), (line + b"capture steps=-1\n", b"not from 1 to"),
                              (line + b"capture steps=5 samples=20000\n", b"not from 1 to"), (line + b"capture steps=5 out=/tmp\n", b"unknown words"),
                              (b"x" * 5000, b"4096 bytes")):
            with self.subTest(request[:40]):
                answer = session.ask(request)
                self.assertTrue(answer.startswith(b"profkit-control 1 error ") and part in answer and answer.count(b"\n") == 1, answer)
        self.assertIn("step", session.status())
        session.end()

    def test_clients_that_send_nothing_are_disconnected_after_5_s(self):
        """They occupy the four connections: another client waits, and the steps go on."""
        session = self.start().reaches(3)
        step = int(session.status()["step"])
        silent = [session.connect() for _ in range(4)]
        silent[1].sendall(b"profkit")
        began = time.monotonic()
        with session.connect() as waiting:
            waiting.sendall((PROTOCOL + "status\n").encode())
            answer = received(waiting)
        self.assertTrue(4 < time.monotonic() - began < 12)
        self.assertGreater(int(dict(word.split("=", 1) for word in answer.decode().split()[3:])["step"]), step + 50)
        for each in silent:
            self.assertEqual(received(each), b"")
        session.end()

    def test_a_client_that_does_not_read_does_not_stop_the_session(self):
        session = self.start().reaches(3)
        clients = [session.connect() for _ in range(3)]
        for each in clients:
            each.sendall((PROTOCOL + "snapshot profile\n").encode())
        step = int(session.status()["step"])
        session.reaches(step + 100)
        session.end()

    def test_a_client_that_goes_away_does_no_harm(self):
        session = self.start("many").reaches(3)
        for _ in range(20):
            client = session.connect()
            client.sendall((PROTOCOL + "snapshot profile\n").encode())
            client.close()
        session.reaches(int(session.status()["step"]) + 20)
        self.assertLess(len(os.listdir(f"/proc/{session.pid}/fd")), 16)
        session.end()

    def test_a_flood_is_bounded(self):
        """1 MB in one connection, and 300 connections: the steps go on, and the process keeps at most 4 connections."""
        session = self.start().reaches(3)
        with session.connect() as client:
            client.setblocking(False)
            sent = 0
            try:
                while sent < 1 << 20:
                    sent += client.send(b"x" * 65536)
            except OSError:
                pass
        before = len(os.listdir(f"/proc/{session.pid}/fd"))
        flood, most = [], 0
        for _ in range(300):
            each = socket.socket(socket.AF_UNIX)
            each.setblocking(False)
            try:
                each.connect(str(session.path))
                each.send((PROTOCOL + "snapshot profile\n").encode())
            except OSError:
                pass
            flood.append(each)
            most = max(most, len(os.listdir(f"/proc/{session.pid}/fd")) - before)
        self.assertLessEqual(most, 4 + 2 + 1)  # connections, files of one answer, the folder that lists them
        for each in flood:
            each.close()
        step = int(session.status()["step"])
        session.reaches(step + 50)
        session.end()

    def test_answers_are_files_in_memory_and_nothing_is_written(self):
        session = self.start().reaches(10)
        before = sorted(self.folder.rglob("*"))
        with session.connect() as client:
            client.sendall((PROTOCOL + "snapshot profile\n").encode())
            select.select([client], [], [], 20)
            answer, files, _, _ = socket.recv_fds(client, 1000, 4)
        self.assertEqual((answer, len(files)), ((PROTOCOL + "ok\n").encode(), 2))
        self.assertEqual([os.read(os.open(f"/proc/self/fd/{each}", os.O_RDONLY), 15) for each in files], [b"profkit-summary", b"profkit journal"])
        self.assertEqual([os.readlink(f"/proc/self/fd/{each}") for each in files], ["/memfd:profkit (deleted)"] * 2)
        with session.connect() as client:
            client.sendall((PROTOCOL + "capture steps=2\n").encode())
            answer, captured, _, _ = socket.recv_fds(client, 1000, 4)
        self.assertTrue(answer.startswith((PROTOCOL + "ok from=").encode()) and len(captured) == 1, answer)
        self.assertEqual(os.readlink(f"/proc/self/fd/{captured[0]}"), "/memfd:profkit (deleted)")
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        for each in files + captured:
            os.close(each)
        session.end()


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Control))
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if len(result.skipped) == result.testsRun else 0)
