#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the library with one compiler like a consumer: its headers are not system headers, and many warnings are errors.

usage: check_compiler.py CHECK --compiler NAME [--standard N] --tests DIR --include DIR... [--system DIR]... --work DIR [--code FILE]

CHECK   headers           all headers compile after macros with short names, and those of users after the words of Qt, Windows, X11, glog and Arduino
        headers_and_code  the same with all code of reports
        small_program     runs a program of two units, one of them with scope.hpp alone, without exceptions and RTTI; links the code
        whole_program     runs a program of two units that both include everything, with the code; with clang++, one of them has the code
        fast_math         one unit with everything, with -ffast-math: NaN and infinities still work; also linked with a library of the code
        no_rtti           headers_and_code with -fno-rtti
        no_exceptions     with -fno-exceptions scope.hpp compiles, and the other headers say why they do not
        misuse            invalid uses do not compile, for the right reason
Exit code 77: the compiler is not installed.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

BOTH = """-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast -Wnull-dereference -Wcast-qual -Wcast-align -Wnon-virtual-dtor
    -Woverloaded-virtual -Wformat=2 -Wundef -Wredundant-decls -Wmissing-declarations -Wextra-semi -Wdouble-promotion
    -Wzero-as-null-pointer-constant -Wsuggest-override -Wimplicit-fallthrough -Wunused""".split()
GNU = "-Wshadow -Wuseless-cast -Wduplicated-cond -Wduplicated-branches -Wlogical-op".split()
CLANG = "-Wshadow-all -Wcomma -Wunreachable-code -Wheader-hygiene -Wrange-loop-analysis".split()

# Invalid uses, and the messages of the compilers.
MISUSES = {
    "COPY": r"deleted (function|constructor)",
    "MOVE": r"deleted (function|constructor)",
    "ASSIGN": r"deleted (function|operator)",
    "HEAP": r"deleted function .*operator new\b",
    "HEAP_ARRAY": r"deleted function .*operator new ?\[",
    "TEMPORARY": r"nodiscard",
    "TEMPORARY_INDEXED": r"nodiscard",
    "TEMPORARY_WORK": r"nodiscard",
    "TEMPORARY_ADOPTING": r"nodiscard",
    "NAME_NOT_A_LITERAL": r"expected .}.",
    "MEMBER_NOT_DESCRIBED": r"only 2 names (were )?provided|decomposes into 3 elements",
    "MEMBER_DESCRIBED_TWICE": r"a member is described twice",
}
NEED_EXCEPTIONS = ["profkit", "session", "options", "report", "code", "save_load"]
WHY_NOT = "profkit: sessions, collectors and reports need exceptions"


class Failure(Exception):
    pass


class Compiler:
    def __init__(self, given):
        self.given = given
        self.is_clang = "clang" in given.compiler
        launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
        # older compilers call C++23 2b
        standard = {23: "2b"}.get(given.standard, given.standard)
        self.common = [*launcher, given.compiler, f"-std=c++{standard}", "-DFMT_HEADER_ONLY", *(f"-I{each}" for each in given.include),
                       *(word for each in given.system for word in ("-isystem", each))]
        if not self.is_clang:
            self.common.append("--param=ggc-min-heapsize=2000000")  # saves g++ 11 a fifth of the compile time of all code
        self.warnings = [*BOTH, *(CLANG if self.is_clang else GNU), "-Werror"]

    def run(self, *words):
        done = subprocess.run([*self.common, *map(str, words)], capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"})
        return done.returncode, done.stdout + done.stderr

    def must(self, *words):
        status, said = self.run(*words)
        if status != 0:
            raise Failure(f"{' '.join(map(str, [*self.common, *words]))}\n{said}")

    def source(self, name):
        return self.given.tests / name

    def made(self, name):
        return self.given.work / name

    def made_source(self, name, text):
        self.made(name).write_text(text, encoding="utf-8")
        return self.made(name)


def headers(compiler):
    for source in ("headers.cpp", "foreign_words.cpp"):
        compiler.must(*compiler.warnings, "-fsyntax-only", compiler.source(source))


def headers_and_code(compiler, *options):
    compiler.must(*compiler.warnings, "-DWITH_CODE", *options, "-fsyntax-only", compiler.source("headers.cpp"))


def no_rtti(compiler):
    headers_and_code(compiler, "-fno-rtti")


def run_program(compiler, units, code):
    program = compiler.made("program")
    compiler.must(*units, *code, "-pthread", "-ldl", "-o", program)
    done = subprocess.run([program, "out"], capture_output=True, text=True, check=False, timeout=120, cwd=compiler.given.work,
                          env=os.environ | {"PROFKIT": ""})
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0:
        raise Failure(f"the program ended with {done.returncode}")


def compiled(compiler, source, *options):
    unit = compiler.made(pathlib.Path(source).stem + ".o")
    compiler.must(*compiler.warnings, *options, "-c", compiler.source(source), "-o", unit)
    return unit


def small_program(compiler):
    units = [compiled(compiler, "program.cpp"), compiled(compiler, "scopes.cpp", "-fno-exceptions", "-fno-rtti")]
    run_program(compiler, units, [compiler.given.code])


def whole_program(compiler):
    units = [compiled(compiler, "program.cpp", "-DEVERYTHING"), compiled(compiler, "scopes.cpp", "-DEVERYTHING")]
    run_program(compiler, units, [])


def fast_math(compiler):
    units = [compiled(compiler, "program.cpp", "-DEVERYTHING", "-DFAST_MATH", "-Og", "-ffast-math"),
             compiled(compiler, "scopes.cpp", "-Og", "-ffast-math"),
             compiled(compiler, "fast_math.cpp", "-Og", "-ffast-math")]
    # Also with a library of the same code: headers in several units must not define anything twice.
    run_program(compiler, units, ["-Wl,--whole-archive", compiler.given.code, "-Wl,--no-whole-archive"])


def no_exceptions(compiler):
    compiler.must(*compiler.warnings, "-fno-exceptions", "-fno-rtti", "-fsyntax-only", compiler.source("scopes.cpp"))
    for header in NEED_EXCEPTIONS:
        status, said = compiler.run("-fno-exceptions", "-E", "-o", os.devnull, compiler.made_source("one.cpp", f"#include <profkit/{header}.hpp>\n"))
        if status == 0 or WHY_NOT not in said:
            raise Failure(f"{header}.hpp does not say that it needs exceptions: exit code {status}\n{said}")


def misuse(compiler):
    compiler.must(*compiler.warnings, "-fsyntax-only", compiler.source("misuse.cpp"))
    for name, reason in MISUSES.items():
        status, said = compiler.run(*compiler.warnings, "-fsyntax-only", f"-D{name}", compiler.source("misuse.cpp"))
        errors = [line for line in said.splitlines() if "error:" in line]
        if status == 0:
            raise Failure(f"{name} compiles")
        if not re.search(reason, errors[0]) or (name != "NAME_NOT_A_LITERAL" and len(errors) != 1):
            raise Failure(f"{name} is refused for another reason than {reason}:\n{said}")


CHECKS = {check.__name__: check for check in (headers, headers_and_code, small_program, whole_program, fast_math, no_rtti, no_exceptions, misuse)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--standard", type=int, default=17)
    parser.add_argument("--tests", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("--code", type=pathlib.Path)
    given = parser.parse_args()
    given.tests, given.work = given.tests.resolve(), given.work.resolve() / "check_compiler"  # a separate folder, because it is emptied
    if shutil.which(given.compiler) is None:
        print(f"skipped: there is no {given.compiler} on this machine (scripts/test.sh installs it on Debian)")
        return 77
    shutil.rmtree(given.work, ignore_errors=True)
    given.work.mkdir(parents=True)
    try:
        CHECKS[given.check](Compiler(given))
    except Failure as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
