#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that doxygen reports nothing for the public headers: every class, function, macro, enumeration and data member is described.
Descriptions name all parameters or none, and no unknown one. check_comments.py checks enumerators, destructors and the word `@brief`.

usage: check_api_reference.py ROOT DOXYGEN      exit code 4: there is no doxygen
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

def main():
    root = pathlib.Path(sys.argv[1])
    doxygen = shutil.which(sys.argv[2])
    if doxygen is None:
        print("skipped: there is no doxygen")
        return 4
    with tempfile.TemporaryDirectory() as output:
        settings = (root / "Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {output}\n"
        done = subprocess.run([doxygen, "-"], cwd=root, input=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=100)
        pages = len(list(pathlib.Path(output).glob("api/*.html")))
    said = done.stderr.splitlines()
    print("\n".join(said))
    print(f"{pages} pages, {len(said)} lines of warnings")
    return 1 if said or done.returncode != 0 or pages < 100 else 0


sys.exit(main())
