#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with recorded figures fails if and only if a figure is worse."""
import copy
import json
import pathlib
import unittest

import bench_check
import bench_instructions
import bench_quantities
import bench_tables
import gpu_bench

RECORDED = json.loads((pathlib.Path(__file__).resolve().parent / "recorded.json").read_text())


def made_results():
    """Results equal to the recorded ones."""
    ns = {name: [0.5, 0.6, 0.4] for name in ("empty", "off", "off_indexed")}
    ns.update({name: [20.0, 30.0, 25.0] for name in ("floor", "on", "on_indexed", "on_nested", "on_two_threads")})
    counts = {name: instructions for name, (instructions, _) in RECORDED["instructions"]["GNU 12"].items()}
    memory = {"log_bytes": 24.0, "with_pauses": {"dropped": 0}, "many_scopes": {"dropped": 0, "peak_bytes": 50e6}}
    return {name: {"found": found} for name, found in
            {"scopes": {"ns": ns}, "instructions": {"compiler": "GNU 12.2.0", "counts": counts}, "memory": memory}.items()}


class Check(unittest.TestCase):
    def test_what_is_as_recorded_passes(self):
        self.assertEqual([], bench_check.failures_of(made_results(), RECORDED))

    def test_a_slower_scope_fails(self):
        results = made_results()
        results["scopes"]["found"]["ns"]["on"] = [2 * ns for ns in results["scopes"]["found"]["ns"]["on"]]
        self.assertTrue(any(line.startswith("scope / floor") for line in bench_check.failures_of(results, RECORDED)))

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
        self.assertEqual(1, bench_check.report({}, RECORDED))

    def test_intervals_are_recorded_with_the_medians_of_rounds(self):
        results = made_results()
        results["scopes"]["found"]["ns"].update(floor=[10.0] * 5, on=[10.0, 11.0, 12.0, 13.0, 14.0])
        quantities = bench_check.renewed(results, RECORDED)["quantities"]
        allowance = RECORDED["quantities"]["scope / floor"][1]
        self.assertEqual([1.2, allowance, 1.05, 1.35], quantities["scope / floor"])
        self.assertEqual(2, len(quantities["dropped while drained"]))

    def test_an_interval_that_was_not_measured_again_stays(self):
        self.assertEqual(RECORDED["quantities"], bench_check.renewed({}, RECORDED)["quantities"])
        self.assertEqual(4, len(RECORDED["quantities"]["scope / floor"]))

    def test_a_peer_that_was_not_run_is_not_compared(self):
        results = {"peers": {"found": {"rounds": {"profkit": {"one": [3.0, 3.0]}, "floor": {"one": [1.0, 1.0]}}}}}
        failures = bench_check.failures_of(results, RECORDED)
        self.assertEqual(1, len(failures))
        self.assertTrue(failures[0].startswith("peers: profkit / floor"))

    def test_recorded_quantities_are_known(self):
        self.assertLessEqual(set(RECORDED["quantities"]), set(bench_quantities.QUANTITIES))


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
