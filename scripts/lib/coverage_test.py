#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py adds up lines by room and fails under the least."""
import unittest

import coverage

HEADERS = {"record/scope.hpp": coverage.Lines(60, 60), "record/clock.hpp": coverage.Lines(20, 10), "options.hpp": coverage.Lines(20, 20),
           "cuda.hpp": coverage.Lines(0, 0)}


class Coverage(unittest.TestCase):
    def test_lines_are_added_up_by_room(self):
        rows = [line.split() for line in coverage.table(HEADERS)[1:]]
        self.assertIn(["record", "80", "70", "87.5"], rows)
        self.assertIn(["top", "20", "20", "100.0"], rows)
        self.assertIn(["all", "100", "90", "90.0"], rows)

    def test_the_least_covered_header_comes_first(self):
        names = [line.split()[0] for line in coverage.table(HEADERS)[1:]]
        self.assertEqual(names[len(coverage.ROOMS) + 1], "record/clock.hpp")

    def test_under_the_least_it_fails(self):
        self.assertEqual(coverage.verdict(HEADERS, 90.0), ("90.0 % of the 100 lines of include/profkit are covered", 0))
        self.assertEqual(coverage.verdict(HEADERS, 90.5)[1], 1)
        self.assertIn("at least 90.5 %", coverage.verdict(HEADERS, 90.5)[0])

    def test_nothing_counted_is_a_failure(self):
        self.assertEqual(coverage.verdict({}, 90.0)[1], 1)
        self.assertEqual(coverage.verdict({"cuda.hpp": coverage.Lines(0, 0)}, 90.0)[1], 1)


if __name__ == "__main__":
    unittest.main()
