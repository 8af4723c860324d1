#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that code with scopes and PROFKIT_DISABLE compiles to the same machine code as the code without scopes.

Compares the instructions, relocations, symbols and the sizes of all sections of the two object files, at several levels of optimisation.
The comparison itself is checked too: without PROFKIT_DISABLE the files must differ.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_to_text(arguments, source, flags, name):
    objects = pathlib.Path(arguments.work, name)
    run(arguments.compiler, "-std=c++17", *flags, "-I", arguments.include, "-c", HERE / source, "-o", objects)
    listing = run(arguments.objdump, "--wide", "--disassemble", "--reloc", "--no-show-raw-insn", objects)
    symbols = run(arguments.objdump, "--wide", "--syms", objects)
    sections = run(arguments.objdump, "--wide", "--section-headers", objects)
    # Ignores the name of the file and the positions of sections in it.
    listing = listing.split("\n", 3)[3]
    symbols = [line for line in symbols.split("\n")[3:] if " df " not in line]
    sections = re.findall(r"^ *\d+ (\S+) +([0-9a-f]+) ", sections, flags=re.M)
    return listing.split("\n") + sorted(symbols) + [f"{section} {size}" for section, size in sections]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("compiler", "objdump", "include", "work"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()

    failed = False
    for level in ("-O1", "-O2", "-O3"):
        without = compile_to_text(arguments, "without_scopes.cpp", [level], "without_scopes.o")
        disabled = compile_to_text(arguments, "with_scopes.cpp", [level, "-DPROFKIT_DISABLE"], "disabled_scopes.o")
        enabled = compile_to_text(arguments, "with_scopes.cpp", [level], "enabled_scopes.o")
        if disabled != without:
            failed = True
            print(f"{level}: PROFKIT_DISABLE leaves something behind:")
            print("\n".join(f"  + {line}" for line in disabled if line not in without))
            print("\n".join(f"  - {line}" for line in without if line not in disabled))
        if enabled == without:
            failed = True
            print(f"{level}: the comparison sees no difference where there must be one")
        print(f"{level}: {len(without)} lines of code without scopes, {len(disabled)} disabled, {len(enabled)} enabled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
