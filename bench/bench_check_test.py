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


if __name__ == "__main__":
    unittest.main()
