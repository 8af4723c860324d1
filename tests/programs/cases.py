# SPDX-License-Identifier: Apache-2.0
"""What test scripts share whose cases are functions of a program and an empty folder."""
import pathlib
import sys
import tempfile

running = []  # processes that end with the case


def require(truth, what):
    if not truth:
        sys.exit(str(what))


def run_case(functions):
    """Runs the case of the command line: PROGRAM CASE."""
    with tempfile.TemporaryDirectory(prefix="profkit-") as folder:
        try:
            functions[sys.argv[2]](sys.argv[1], pathlib.Path(folder))
        finally:
            for each in running:
                each.kill()
                each.wait()
