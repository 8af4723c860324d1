#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/results has at most 300,000 bytes. usage: check_results_size.py ROOT"""
import pathlib
import sys

MAX_BYTES = 300_000

results = pathlib.Path(sys.argv[1]) / "docs/results"
size = sum(path.stat().st_size for path in results.rglob("*") if path.is_file())
print(f"{results}: {size:,} of {MAX_BYTES:,} bytes")
sys.exit(1 if size == 0 or size > MAX_BYTES else 0)
