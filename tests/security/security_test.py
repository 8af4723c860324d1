#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the promises of SECURITY.md on a program with profkit (measured_program.cpp).

usage: security_test.py PROGRAM PLANTED FAKES CASE      PLANTED: planted_library.cpp; FAKES: the folder of the imitated drivers
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

NAMES = ["libcupti.so", "libcupti.so.12", "libcupti.so.13", "libcuda.so", "libcuda.so.1", "libnvidia-ml.so", "libnvidia-ml.so.1", "tool.so"]
SKIPPED = 4
NOBODY = 65534
arguments = []


class Program(unittest.TestCase):
    def setUp(self):
        self.program, self.planted, self.fakes = map(pathlib.Path, arguments)
        folder = tempfile.TemporaryDirectory(prefix="profkit-security-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.root.chmod(0o755)
        self.here, self.home, self.marks = (self.make(name) for name in ("here", "home", "marks"))

    def make(self, name, mode=0o777):
        folder = self.root / name
        folder.mkdir()
        folder.chmod(mode)
        return folder

    def plant(self, folder, names=NAMES):
        for name in names:
            shutil.copy(self.planted, folder / name)

    def some_fakes(self, *names):
        """@return a folder with only the named imitated drivers."""
        folder = self.make("fakes-" + "-".join(names), 0o755)
        for name in names:
            shutil.copy(self.fakes / name, folder / name)
        return folder

    def run_program(self, *options, program=None, **settings):
        user = settings.pop("user", None)
        environment = {"HOME": self.home, "TMPDIR": self.home, "XDG_CACHE_HOME": self.home, "XDG_CONFIG_HOME": self.home, "PLANTED_MARKS": self.marks}
        environment.update({name: str(value) for name, value in settings.items()})
        return subprocess.run([program or self.program, *options], cwd=self.here, env=environment, user=user, text=True, timeout=100, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def good(self, run):
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def opened(self):
        marks = sorted(path.name for path in self.marks.iterdir())
        for mark in marks:
            (self.marks / mark).unlink()
        return marks

    def written(self):
        return sorted(path.relative_to(self.root).as_posix() for folder in (self.here, self.home) for path in folder.rglob("*"))


class Libraries(Program):
    """No library in the current directory is opened."""

    def test_what_is_planted_is_seen_when_it_is_opened(self):
        there = self.make("there")
        self.plant(there, ["libcuda.so.1", "libnvidia-ml.so.1"])
        self.good(self.run_program(LD_LIBRARY_PATH=there))
        self.assertEqual(self.opened(), ["libcuda.so.1", "libnvidia-ml.so.1"])
        self.plant(there, ["libcupti.so.13"])
        self.good(self.run_program(LD_LIBRARY_PATH=f"{self.some_fakes('libcuda.so.1')}:{there}"))
        self.assertIn("libcupti.so.13", self.opened())

    def test_by_name(self):
        self.plant(self.here)
        self.good(self.run_program())
        self.assertEqual(self.opened(), [])

    def test_relative_paths_in_the_environment(self):
        self.plant(self.here)
        driver = self.some_fakes("libcuda.so.1")
        (driver / "libcupti.so.13").write_text("no library\n")  # otherwise the system's, if any, takes precedence over the variable
        for path in ("libcupti.so.13", "./libcupti.so.13", "../here/libcupti.so.13"):
            with self.subTest(path=path):
                said = self.good(self.run_program(LD_LIBRARY_PATH=driver, PROFKIT_CUPTI_PATH=path, CUDA_HOME=".", CUDA_PATH="."))
                self.assertEqual(self.opened(), [])
                self.assertIn("PROFKIT_CUPTI_PATH must be an absolute path", said)

    def test_the_current_directory_in_the_path_of_libraries(self):
        self.plant(self.here, ["libcupti.so.13"])
        driver = self.some_fakes("libcuda.so.1")
        for path in (f"{driver}:", f":{driver}", f"{driver}::/none", f"{driver}:.", f"../here:{driver}", f"{driver};", ":"):
            with self.subTest(path=path):
                self.good(self.run_program(LD_LIBRARY_PATH=path))
                self.assertEqual(self.opened(), [])

    def test_the_other_folders_of_such_a_path_are_looked_in(self):
        self.plant(self.here, ["libcupti.so.13"])
        for path in (f"{self.fakes}:", f":{self.fakes}", f".:/none:{self.fakes}"):
            with self.subTest(path=path):
                self.assertIn("kernels: works", self.good(self.run_program(LD_LIBRARY_PATH=path)))
                self.assertEqual(self.opened(), [])


class Writes(Program):
    """Nothing is written, no program is run and no network is used, unless requested."""

    def locked(self, *options, **settings):
        run = self.run_program("--locked", *options, LD_LIBRARY_PATH=self.fakes, **settings)
        if run.returncode == SKIPPED:
            self.skipTest("seccomp is not available")
        return run

    def test_a_program_that_writes_is_killed(self):
        self.assertEqual(self.locked("--write").returncode, -signal.SIGSYS)
        self.assertEqual(self.locked(PROFKIT="out=report").returncode, -signal.SIGSYS)
        self.assertEqual(self.locked(PROFKIT="journal=journal").returncode, -signal.SIGSYS)
        self.assertEqual(self.locked(PROFKIT="trace").returncode, -signal.SIGSYS)

    def test_a_session_writes_nothing(self):
        self.assertIn("kernels: works", self.good(self.locked()))
        self.assertEqual(self.written(), [])

    def test_a_printed_report_writes_nothing(self):
        self.assertIn("measured steps", self.good(self.locked(PROFKIT="report,steps=auto,memory=scopes")))
        self.assertEqual(self.written(), [])

    def test_what_is_asked_for_is_written_there_alone(self):
        self.good(self.run_program(LD_LIBRARY_PATH=self.fakes, PROFKIT="out=asked,journal=asked.journal"))
        self.assertEqual({path.split("/")[1] for path in self.written()}, {"asked", "asked.journal"})


class Rights(Program):
    """A program that runs with more rights than its user does not do what the user's environment says."""

    def environment(self, there):
        return {"PROFKIT": f"report,out={there / 'report'},journal={there / 'journal'}", "PROFKIT_CUPTI_PATH": there / "libcupti.so.13",
                "NVTX_INJECTION64_PATH": there / "tool.so"}

    def test_the_environment_of_the_user(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a program that runs with more rights than its user")
        there = self.make("there")
        self.plant(there)
        copy = self.root / "program"
        shutil.copy(self.program, copy)
        copy.chmod(0o755)
        said = self.good(self.run_program(program=copy, user=NOBODY, **self.environment(there)))
        self.assertIn("more rights than its user: 0", said)
        self.assertIn("tool.so", self.opened())
        self.assertTrue((there / "report").is_dir() and (there / "journal").is_file())

        shutil.rmtree(there / "report")
        (there / "journal").unlink()
        copy.chmod(0o4755)
        said = self.good(self.run_program(program=copy, user=NOBODY, **self.environment(there)))
        if "more rights than its user: 1" not in said:
            self.skipTest("this file system, or this container, gives no program more rights")
        self.assertEqual(self.opened(), [])
        self.assertFalse((there / "report").exists() or (there / "journal").exists())


def main():
    arguments.extend(sys.argv[1:4])
    case = {"libraries": Libraries, "writes": Writes, "rights": Rights}[sys.argv[4]]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    if not result.wasSuccessful():
        return 1
    return SKIPPED if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
