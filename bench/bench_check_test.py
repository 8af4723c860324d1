#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with recorded figures fails if and only if a figure is worse.

usage: bench_check_test.py [PROGRAM]      PROGRAM: profkit; without it, ratios are not compared"""
import contextlib
import copy
import io
import json
import pathlib
import sys
import unittest

import bench_check
import bench_instructions
import bench_quantities
import bench_tables
import gpu_bench

RECORDED = json.loads((pathlib.Path(__file__).resolve().parent / "recorded.json").read_text())
PROGRAM = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
FIVE = [1.00, 1.02, 0.99, 1.01, 0.98]


def report(results, recorded):
    """@return the exit code and what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        return bench_check.report(PROGRAM, results, recorded), printed.getvalue()


def made_results():
    """Results equal to the recorded ones."""
    ns = {name: [0.5, 0.6, 0.4] for name in ("empty", "off", "off_indexed")}
    counts = {name: instructions for name, (instructions, _) in RECORDED["instructions"]["GNU 12"].items()}
    memory = {"log_bytes": 24.0, "with_pauses": {"dropped": 0}, "many_scopes": {"dropped": 0, "peak_bytes": 50e6}}
    return {name: {"found": found} for name, found in
            {"scopes": {"ns": ns}, "instructions": {"compiler": "GNU 12.2.0", "counts": counts}, "memory": memory}.items()}


class Check(unittest.TestCase):
    def test_what_is_as_recorded_passes(self):
        self.assertEqual([], bench_check.failures_of(made_results(), RECORDED))

    def test_a_slower_recorder_without_a_session_fails(self):
        results = made_results()
        results["scopes"]["found"]["ns"]["off"] = [2.5 for _ in range(3)]
        self.assertEqual(["off - empty loop, ns"], [line.split(":")[0] for line in bench_check.failures_of(results, RECORDED)])

    def test_every_recorded_count_can_fail(self):
        for name, (instructions, allowance) in RECORDED["instructions"]["GNU 12"].items():
            results = made_results()
            results["instructions"]["found"]["counts"][name] = instructions + allowance + 1
            self.assertEqual(1, len(bench_check.failures_of(results, RECORDED)), name)

    def test_a_variant_that_was_not_counted_fails(self):
        counts = copy.deepcopy(RECORDED["instructions"]["GNU 12"])
        self.assertEqual(len(counts), len(bench_instructions.failures_of({}, counts)))

    def test_a_dropped_scope_fails(self):
        results = made_results()
        results["memory"]["found"]["with_pauses"]["dropped"] = 1
        self.assertEqual(1, len(bench_check.failures_of(results, RECORDED)))

    def test_more_memory_than_the_bound_fails(self):
        results = made_results()
        results["memory"]["found"]["many_scopes"]["peak_bytes"] = 65e6
        self.assertEqual(1, len(bench_check.failures_of(results, RECORDED)))

    def test_a_check_of_nothing_fails(self):
        code, printed = report({}, RECORDED)
        self.assertEqual((1, "FAIL nothing was measured\n"), (code, printed))

    def test_rounds_that_were_not_measured_again_stay(self):
        renewed = bench_check.renewed({}, RECORDED)
        self.assertEqual(RECORDED, renewed)

    def test_rounds_are_recorded(self):
        results = made_results()
        results["scopes"]["found"]["ns"].update(floor=[10.0] * 50, on=[10.0 + i for i in range(50)])
        renewed = bench_check.renewed(results, RECORDED)
        rounds = renewed["ratios"]["scopes"]["scope / floor"]
        self.assertEqual((21, 1.0, 5.7), (len(rounds), rounds[0], rounds[-1]))
        self.assertEqual(RECORDED["ratios"]["scopes"]["nested scope / floor"], renewed["ratios"]["scopes"]["nested scope / floor"])

    def test_recorded_ratios_are_known(self):
        for section, rounds in RECORDED["ratios"].items():
            self.assertIn(section, bench_check.MOST_SLOWER)
            self.assertLessEqual(set(rounds), set(bench_quantities.QUANTITIES))

    def test_recorded_quantities_are_known(self):
        self.assertLessEqual(set(RECORDED["quantities"]), set(bench_quantities.QUANTITIES))


@unittest.skipIf(PROGRAM is None, "no program profkit")
class Ratios(unittest.TestCase):
    """profkit compare judges them."""

    recorded = {"instructions": {}, "quantities": {},
                "ratios": {"scopes": {"scope / floor": [1.1 * each for each in FIVE], "nested scope / floor": [1.2 * each for each in FIVE]},
                           "peers": {"peers: profkit / floor": [1.4 * each for each in FIVE],
                                     "peers: profkit / LTTng-UST": [0.15 * each for each in FIVE]}}}

    def measured(self, on, nested):
        ns = {"floor": [20.0] * 5, "on": [20 * on * each for each in FIVE], "on_nested": [20 * nested * each for each in reversed(FIVE)]}
        return {"scopes": {"found": {"ns": ns}}}

    def test_what_is_as_recorded_passes(self):
        code, printed = report(self.measured(1.1, 1.2), self.recorded)
        self.assertEqual(0, code, printed)
        self.assertRegex(printed, r"scope / floor +1.100   recorded 1.100: \+0.0 % \(.* to .*\) (SAME|UNSURE)")

    def test_a_faster_scope_passes(self):
        self.assertEqual(0, report(self.measured(0.5, 0.6), self.recorded)[0])

    def test_one_slower_ratio_fails(self):
        code, printed = report(self.measured(1.1, 1.8), self.recorded)
        self.assertEqual(1, code, printed)
        self.assertRegex(printed, "FAIL .*nested scope over floor is slower by")

    def test_all_slower_ratios_fail(self):
        self.assertEqual(1, report(self.measured(1.65, 1.8), self.recorded)[0])

    def test_a_change_below_the_limit_passes(self):
        self.assertEqual(0, report(self.measured(1.21, 1.32), self.recorded)[0])

    def test_a_peer_that_was_not_run_is_not_compared(self):
        results = {"peers": {"found": {"rounds": {"profkit": {"one": [3.0, 3.1, 2.9]}, "floor": {"one": [1.0] * 3}}}}}
        code, printed = report(results, self.recorded)
        self.assertEqual(1, code, printed)
        self.assertNotIn("LTTng", printed)


class Document(unittest.TestCase):
    def test_a_table_goes_where_its_mark_is(self):
        text = "before\n<!-- table: memory -->\nold\n<!-- end -->\nafter\n"
        renewed = bench_tables.with_tables(text, {"memory": "| new |"})
        self.assertEqual("before\n<!-- table: memory -->\n| new |\n<!-- end -->\nafter\n", renewed)

    def test_what_was_not_measured_stays(self):
        text = "<!-- table: memory -->\nold\n<!-- end -->\n"
        self.assertEqual(text, bench_tables.with_tables(text, {}))

    def test_tables_are_those_of_the_committed_results(self):
        tables = bench_tables.tables_of(json.loads(bench_tables.HOST_RESULTS.read_text(encoding="utf-8")))
        for document in bench_tables.DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            self.assertEqual(text, bench_tables.with_tables(text, tables), f"{document}: run bench/bench_tables.py")


class GpuTables(unittest.TestCase):
    def test_their_figures_and_targets_are_those_of_gpu_bench(self):
        bars = {each.name: each.bar for part in gpu_bench.COMPARISONS.values() for each in part}
        for _, name, most in bench_tables.GPU:
            self.assertEqual(most, bars[name])
        for _, launch, base, step in bench_tables.GPU_RECORDERS:
            self.assertIn(step, gpu_bench.TURNS["step"])
            self.assertLessEqual({launch, base} - {None}, set(gpu_bench.TURNS["launch"]))

    def test_a_recorder_is_compared_with_cupti_in_each_round(self):
        figures = {name: {"values": values} for name, values in
                   {"trainer, no profiler": [20, 30, 20], "trainer, CUPTI kernel records": [22, 34, 19],
                    "trainer, Kineto CUDA": [26, 42, 30], "trainer, Kineto CPU and CUDA": [40]}.items()}
        rows = bench_tables.gpu_recorders({"parts": {"step": {"figures": figures}}}).splitlines()
        self.assertIn("| nothing | n/a |  |  |  | 20.00 |  |  |  |", rows)
        self.assertIn("| CUPTI alone, kernel records | n/a | n/a | n/a | n/a | 22.00 | 2.00 | 1.00 | 1.00 to 1.00 |", rows)
        self.assertIn("| Kineto, CUDA | n/a | n/a | n/a | n/a | 30.00 | 10.00 | 3.00 | 3.00 to 3.00 |", rows)
        self.assertIn("| Kineto, CPU and CUDA |  |  |  |  | 40.00 | 20.00 | 10.00 | 10.00 to 10.00 |", rows)
        self.assertIn("| Nsight Systems, `-t cuda` | n/a | n/a | n/a | n/a | n/a | n/a | n/a | n/a |", rows)

    def test_a_target_names_the_runs_that_meet_it(self):
        name = bench_tables.GPU[0][1]
        runs = [{"parts": {"gpu_scope": {"comparisons": [{"name": name, "ratio": ratio}]}}} for ratio in (1.0, 1.2)]
        self.assertEqual(["1.00 and 1.20", "met in 1 of 2 runs"], bench_tables.gpu_targets(runs)[0][2:])
        self.assertEqual(["1.20", "missed"], bench_tables.gpu_targets(runs[1:])[0][2:])
        self.assertEqual(["n/a", ""], bench_tables.gpu_targets([])[0][2:])


if __name__ == "__main__":
    unittest.main()
