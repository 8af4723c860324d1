#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/results has at most 300,000 bytes, and that each picture of docs has at most 150,000 and is 1280 pixels wide.

usage: check_results_size.py ROOT"""
import pathlib
import struct
import sys

MAX_BYTES = 300_000
MAX_PICTURE = 150_000
WIDTH = 1280

docs = pathlib.Path(sys.argv[1]) / "docs"
size = sum(path.stat().st_size for path in (docs / "results").rglob("*") if path.is_file())
print(f"{docs / 'results'}: {size:,} of {MAX_BYTES:,} bytes")
failures = int(size == 0 or size > MAX_BYTES)
for picture in sorted(docs.rglob("*.png")):
    data = picture.read_bytes()
    width, height = struct.unpack(">II", data[16:24])  # of the first chunk
    print(f"{picture}: {len(data):,} of {MAX_PICTURE:,} bytes, {width} x {height}")
    failures += len(data) > MAX_PICTURE or width != WIDTH
sys.exit(1 if failures else 0)
