# SPDX-License-Identifier: Apache-2.0
"""Each size has its published number of parameters, and the formula in config.hpp agrees with the tensors."""

import subprocess
import sys

# The published table truncates millions (small has 128.6) and rounds billions (xl has 1.998). It does not have tiny, whose number is
# 2 x 10,000 x 512 + 4 x (4 x 512^2 + 3 x 512 x 1344 + 2 x 512) + 512.
MILLIONS = {"small": 128, "medium": 423, "large": 969}
BILLIONS = {"xl": "2.0", "2.7B": "3.4"}
TINY = 22_696_448


def main():
    (program,) = sys.argv[1:]
    output = subprocess.run([program, "model", "parameter_counts"], check=True, capture_output=True, text=True).stdout
    print(output, end="")
    rows = [line.split() for line in output.splitlines()]
    counts = {name: int(made) for name, made, _ in rows}
    for name, made, formula in rows:
        assert made == formula, f"{name}: {made} parameters made, {formula} by the formula"
    assert counts.keys() == {"tiny"} | MILLIONS.keys() | BILLIONS.keys(), counts.keys()
    assert counts["tiny"] == TINY, counts["tiny"]
    for name, millions in MILLIONS.items():
        assert counts[name] // 10**6 == millions, f"{name}: {counts[name]} is not {millions} M"
    for name, billions in BILLIONS.items():
        assert f"{counts[name] / 1e9:.1f}" == billions, f"{name}: {counts[name]} is not {billions} B"


if __name__ == "__main__":
    main()
