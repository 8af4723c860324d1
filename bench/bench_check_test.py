#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with recorded figures fails if and only if a figure is worse.

usage: bench_check_test.py [PROGRAM]      PROGRAM: profkit; without it, ratios are not compared"""
import contextlib
import copy
import io
import json
import pathlib
import random
import re
import sys
import unittest

import bench_check
import bench_instructions
import bench_quantities
import bench_statistics
import bench_tables
import gpu_bench

RECORDED = json.loads((pathlib.Path(__file__).resolve().parent / "recorded.json").read_text())
HOST = json.loads(bench_tables.HOST_RESULTS.read_text(encoding="utf-8"))
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
    memory = {"log_bytes": 24.0, "with_pauses": {"dropped": 0}, "many_scopes": {"dropped": 0, "peak_bytes": 115e6}}
    return {name: {"found": found} for name, found in
            {"scopes": {"ns": ns}, "instructions": {"compiler": "GNU 12.2.0", "counts": counts}, "memory": memory}.items()}


# Quantities that miss their targets: docs/overhead.md, "What is missed".
MISSED = {"peak memory with 8 million scopes, MB"}


class Check(unittest.TestCase):
    def test_what_is_as_recorded_passes(self):
        self.assertEqual([], bench_check.failures_of(made_results(), RECORDED))

    def test_the_committed_results_pass(self):
        self.assertEqual([], bench_check.failures_of(HOST, RECORDED))

    def test_no_allowance_exceeds_a_target(self):
        for _, name, target, _ in bench_quantities.TARGETS:
            if name in RECORDED["quantities"] and name not in MISSED:
                self.assertLessEqual(sum(RECORDED["quantities"][name]), target + 0.05, name)

    def test_off_fails_before_its_target(self):
        results = made_results()
        results["scopes"]["found"]["ns"]["off"] = [0.96, 1.06, 0.86]
        self.assertEqual(1, len(bench_check.failures_of(results, RECORDED)))

    def test_a_first_scope_an_object_or_a_header_that_doubled_fails(self):
        for section, change in (("first_use", lambda found: found["ns"].update(new_thread=[2 * ns for ns in found["ns"]["new_thread"]])),
                                ("first_use", lambda found: found["ns"].update(new_site=[3 * ns for ns in found["ns"]["new_site"]])),
                                ("compile", lambda found: found["scope.hpp, one scope"].update(object_bytes=4500)),
                                ("compile", lambda found: found["scope.hpp"].update(ms=[ms + 25 for ms in found["scope.hpp"]["ms"]]))):
            found = copy.deepcopy(HOST[section]["found"])
            change(found)
            self.assertEqual(1, len(bench_check.failures_of({section: {"found": found}}, RECORDED)))

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
        results["memory"]["found"]["many_scopes"]["peak_bytes"] = 117e6
        self.assertEqual(1, len(bench_check.failures_of(results, RECORDED)))

    def test_a_check_of_nothing_fails(self):
        code, printed = report({}, RECORDED)
        self.assertEqual(1, code)
        self.assertIn("FAIL nothing was measured\nFAILED: ", printed)

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
            self.assertIn(section, bench_check.LIMITS)
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
        self.assertTrue(printed.endswith("\nPASSED\n"), printed)

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

    def test_a_ratio_that_the_rounds_do_not_decide_does_not_pass(self):
        noisy = {"floor": [20.0] * 5, "on": [20 * each for each in (0.8, 1.9, 1.1, 1.6, 0.9)]}
        code, printed = report({"scopes": {"found": {"ns": noisy}}}, self.recorded)
        self.assertEqual(3, code, printed)
        self.assertIn("\nUNDECIDED scope / floor: ", printed)
        self.assertIn("\nUNDECIDED: ", printed)

    def test_a_failure_counts_more_than_an_undecided_ratio(self):
        noisy = {"floor": [20.0] * 5, "on": [20 * each for each in (0.8, 1.9, 1.1, 1.6, 0.9)], "on_nested": [20 * 1.8 * each for each in FIVE]}
        code, printed = report({"scopes": {"found": {"ns": noisy}}}, self.recorded)
        self.assertEqual(1, code, printed)
        self.assertIn("\nUNDECIDED scope / floor: ", printed)
        self.assertIn("\nFAILED: ", printed)

    def test_a_ratio_without_recorded_rounds_does_not_pass(self):
        ns = {"floor": [20.0] * 5, "on_indexed": [22 * each for each in FIVE]}
        code, printed = report({"scopes": {"found": {"ns": ns}}}, self.recorded)
        self.assertEqual(3, code, printed)
        self.assertIn("UNDECIDED indexed scope / floor: no recorded rounds\n", printed)

    def test_the_committed_rounds_pass_and_slower_ones_do_not(self):
        def ratio(by):
            rounds = copy.deepcopy(HOST["peers"]["found"]["rounds"])
            rounds = {name: rounds[name] for name in ("floor", "profkit")}
            rounds["profkit"]["one"] = [by * each for each in rounds["profkit"]["one"]]
            return report({"peers": {"found": {"rounds": rounds}}}, RECORDED)[0]
        self.assertEqual([0, 1, 1], [ratio(by) for by in (1, 1.25, 1.4)])

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


class Reproduction(unittest.TestCase):
    def test_the_script_runs_the_checks_that_the_page_names(self):
        page = (bench_tables.ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
        script = (bench_tables.ROOT / "scripts/reproduce.sh").read_text(encoding="utf-8")
        collected = (bench_tables.ROOT / "scripts/lib/reproduced_tables.py").read_text(encoding="utf-8")
        named = set(re.findall(r"^\|[^|]*\| `CHECKS=(\w+) scripts/gpu_check.sh`", page, re.MULTILINE)) - {"backward"}  # not by this script
        self.assertIn("fused", named)
        for check in named:
            folder = re.search(rf"if wanted (\w+); then check \1 {check}; fi", script)
            self.assertTrue(folder, check)
            self.assertIn(f'"{folder[1]}/', collected)


class GpuTables(unittest.TestCase):
    def test_their_figures_and_targets_are_those_of_gpu_bench(self):
        targets = {each.name: each.target for part in gpu_bench.COMPARISONS.values() for each in part}
        for _, name, target in bench_tables.GPU:
            self.assertEqual(target, targets[name])
        for _, launch, base, step in bench_tables.GPU_RECORDERS:
            self.assertIn(step, gpu_bench.TURNS["step"])
            self.assertLessEqual({launch, base} - {None}, set(gpu_bench.TURNS["launch"]))

    def test_a_recorder_is_compared_with_cupti(self):
        nothing = [20, 30, 20, 25, 22]
        figures = {name: {"values": [base + each for base, each in zip(nothing, added)]} for name, added in
                   {"trainer, no profiler": [0] * 5, "trainer, CUPTI kernel records": [2, 4, -1, 2, 3],
                    "trainer, Kineto CUDA": [6, 12, 10, 6, 9], "trainer, Kineto CPU and CUDA": [20]}.items()}
        rows = bench_tables.gpu_recorders({"parts": {"step": {"figures": figures}}}).splitlines()
        self.assertIn("| nothing | n/a |  |  |  | n/a | 22.00 |  |  |  | 5 |", rows)
        self.assertIn("| CUPTI alone, kernel records | n/a | n/a | n/a | n/a | n/a | 25.00 | 2.00 | 1.00 |  | 5 |", rows)
        # The third round counts, although CUPTI's records seem to take no time there.
        kineto = next(row for row in rows if row.startswith("| Kineto, CUDA |"))
        self.assertRegex(kineto, r"\| 31\.00 \| 9\.00 \| 4\.50 \| \d\.\d\d to \S+ \| 5 \|$")
        self.assertIn("| Kineto, CPU and CUDA |  |  |  |  |  | 40.00 | 20.00 | n/a | n/a | 1 |", rows)
        self.assertIn("| Nsight Systems, `-t cuda` | " + " | ".join(["n/a"] * 10) + " |", rows)

    def test_the_verdict_of_a_target_is_that_of_the_interval(self):
        name = bench_tables.GPU[0][1]

        def row(*comparisons):
            return bench_tables.gpu_targets([{"parts": {"gpu_scope": {"comparisons": [{"name": name, **each}]}}} for each in comparisons])[0][2:]
        below, around, above = ({"ratio": ratio, "low": ratio - 0.05, "high": ratio + 0.05} for ratio in (1.0, 1.08, 1.2))
        self.assertEqual(["1.00 (0.95 to 1.05)", "met"], row(below))
        self.assertEqual(["1.08 (1.03 to 1.13)", "undecided"], row(around))
        self.assertEqual(["1.00 (0.95 to 1.05) and 1.20 (1.15 to 1.25)", "met and missed"], row(below, above))
        self.assertEqual(["1.20", "missed (median)"], row({"ratio": 1.2}))
        self.assertEqual(["1.00 and 1.20", "met (median) and missed (median)"], row({"ratio": 1.0}, {"ratio": 1.2}))
        self.assertEqual(["1.00", "met (median)"], row({"ratio": 1.0, "low": None, "high": None}))
        self.assertEqual(["n/a", ""], bench_tables.gpu_targets([])[0][2:])

    def test_stored_ratios_are_those_of_the_stored_rounds(self):
        known = {each.name: each for part in gpu_bench.COMPARISONS.values() for each in part}
        compared = 0
        for part in bench_tables.gpu_runs()[-1]["parts"].values():
            for stored in part["comparisons"]:
                columns = gpu_bench.columns_of(known[stored["name"]])
                values = [part.get("figures", {}).get(name, {}).get("values", []) for name in columns]
                if all(values):
                    found = gpu_bench.compare(known[stored["name"]], [dict(zip(columns, each)) for each in zip(*values)])
                    self.assertEqual([stored[key] and round(stored[key], 3) for key in ("ratio", "low", "high", "rounds")],
                                     [found[key] and round(found[key], 3) for key in ("ratio", "low", "high", "rounds")], stored["name"])
                    compared += 1
        self.assertGreater(compared, 5)


class Peers(unittest.TestCase):
    def test_a_recorder_that_did_not_run_has_a_row_that_says_so(self):
        for make in (bench_tables.peers, bench_tables.peers_more):
            rows = make(HOST["peers"]["found"]).splitlines()
            self.assertEqual(len(bench_tables.PEERS) + 2, len(rows))
            self.assertTrue(any(row.startswith("| Tracy, no server | not run: source not reachable |") for row in rows), rows)
            self.assertEqual(1, len({row.count("|") for row in rows}), rows)


class Statistics(unittest.TestCase):
    def test_an_interval_is_the_same_for_the_same_rounds(self):
        above, below = [4, 5, 6, 5, 4, 7], [8, 9, 10, 12, 9, 8]
        found = bench_statistics.with_interval(above, below)
        self.assertEqual(found, bench_statistics.with_interval(above, below))
        self.assertEqual((5 / 9, 6), (found.ratio, found.rounds))
        self.assertLess(found.low, 5 / 9)
        self.assertGreater(found.high, 5 / 9)

    def test_the_interval_of_equal_rounds_is_a_point(self):
        self.assertEqual((0.5, 0.5, 0.5, 5), bench_statistics.with_interval([1] * 5, [2] * 5))

    def test_few_rounds_have_no_interval(self):
        self.assertEqual((0.5, None, None, 4), bench_statistics.with_interval([1] * 4, [2] * 4))
        self.assertIsNone(bench_statistics.with_interval([], []))

    def test_a_denominator_that_can_be_negative_gives_no_upper_end(self):
        found = bench_statistics.with_interval([4, 5, 6, 5, 4], [2, -1, 1, -2, 3])
        self.assertIsNone(found.high)
        self.assertEqual("undecided", bench_statistics.verdict(found.low, found.high, 100))
        self.assertIsNone(bench_statistics.with_interval([1] * 5, [-1] * 5))

    def test_the_interval_contains_the_true_ratio(self):
        generator = random.Random(7)
        inside = 0
        for _ in range(200):
            rounds = [(generator.gauss(5, 2), generator.gauss(10, 2)) for _ in range(25)]
            found = bench_statistics.with_interval(*zip(*rounds), resamples=400)
            inside += found.low <= 0.5 <= found.high
        self.assertGreaterEqual(inside, 180)


if __name__ == "__main__":
    unittest.main()
