#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with other recorders runs, and reports why each missing recorder did not run. Fetches nothing from the network.
usage: bench_peers_test.py BUILD COMPILER NVTX_FOLDER"""
import argparse
import pathlib
import sys
import tempfile
import types
import unittest

import bench_peers
import bench_tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLACE = types.SimpleNamespace(build=None, compiler="c++", nsys="there-is-no-nsys", nvtx=None)


def silent(_):
    pass


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = bench_peers.measure(PLACE, ROOT, 1, silent, fetched=())

    def test_what_needs_no_other_package_was_measured(self):
        for name in ("floor", "profkit", "profkit, off"):
            for figure in bench_peers.FIGURES:
                self.assertEqual(1, len(self.found["rounds"][name][figure]), (name, figure))

    def test_scopes_cost_what_they_can_cost(self):
        rounds = self.found["rounds"]
        for one, off, floor in zip(rounds["profkit"]["one"], rounds["profkit, off"]["one"], rounds["floor"]["one"]):
            self.assertGreater(off, 0)
            self.assertGreater(one, 3 * off)
            self.assertLess(one, 10 * floor)

    def test_no_scope_of_profkit_is_lost(self):
        profkit = self.found["rounds"]["profkit"]
        self.assertEqual(0, profkit["lost"])
        # The first scope of the site, 32 new threads, three threads with batches, and the scopes without a pause.
        self.assertEqual(1 + 32 + 3 * (1000 + 12 * 16384) + 400_000, profkit["opened"])
        self.assertAlmostEqual(24.0, profkit["log_bytes"], delta=0.5)

    def test_every_row_is_measured_or_has_a_reason(self):
        for name in bench_peers.ROWS:
            self.assertNotEqual(name in self.found["rounds"], name in self.found["missing"], name)
        self.assertEqual("there is no Nsight Systems" if "nvtx, off" in self.found["rounds"] else "its headers were not found",
                         self.found["missing"]["nsys"])

    def test_the_tables_have_a_row_for_each_recorder(self):
        rows = bench_tables.peers(self.found).splitlines()[2:]
        self.assertEqual(len(bench_tables.PEERS), len(rows))
        for (name, _, words), row in zip(bench_tables.PEERS, rows):
            self.assertTrue(row.startswith(f"| {words} |"), row)
            self.assertEqual(name in self.found["missing"], "| not run: " in row, row)
        more = bench_tables.peers_more(self.found).splitlines()[2:]
        self.assertEqual(len(bench_tables.PEERS), len(more))
        self.assertEqual([row.split("|")[1] for row in rows], [row.split("|")[1] for row in more])
        self.assertEqual(["| not run: " in row for row in rows], ["| not run: " in row for row in more])

    def test_include_costs_are_measured(self):
        self.assertGreater(min(self.found["include"]["profkit"]["ms"]), 0)


class Source(unittest.TestCase):
    def place(self, folder):
        return types.SimpleNamespace(**{**vars(PLACE), "build": pathlib.Path(folder)})

    def test_an_unreachable_source_is_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            reason = bench_peers.fetch(self.place(folder), ROOT, "spall", f"-DPROFKIT_PEER_URL=file://{folder}/nothing")
        self.assertRegex(reason, "source not reachable: fatal: .*nothing.* does not")

    def test_a_source_that_does_not_compile_is_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source")
            source.mkdir()
            (source / "spall.h").write_text("#error no spall\n")
            place = self.place(folder)
            reason = bench_peers.fetch(place, ROOT, "spall", f"-DFETCHCONTENT_SOURCE_DIR_SPALL={source}")
            self.assertIn("spall", bench_peers.reasons(place, {"spall": reason}))
        self.assertRegex(reason, "not built: .*no spall")

    def test_a_program_that_fails_is_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder, "bench/peers")
            programs.mkdir(parents=True)
            (programs / "profkit_peer_nvtx").write_text("#!/bin/sh\necho a reason\nexit 3\n")
            (programs / "profkit_peer_nvtx").chmod(0o755)
            with self.assertRaises(bench_peers.subprocess.CalledProcessError) as caught:
                bench_peers.one_run(self.place(folder), "nvtx, off")
        self.assertEqual("failed: a reason", bench_peers.failure_of(caught.exception))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("compiler")
    parser.add_argument("nvtx")
    arguments, rest = parser.parse_known_args()
    PLACE.build, PLACE.compiler, PLACE.nvtx = arguments.build, arguments.compiler, arguments.nvtx
    unittest.main(argv=[sys.argv[0], *rest])
