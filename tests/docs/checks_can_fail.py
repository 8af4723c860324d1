#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the other checks in this folder can fail, by running each on a copy of the project with one error.

usage: checks_can_fail.py ROOT PROGRAM      PROGRAM: that of README.md
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

COPIED = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CMakeLists.txt", "docs", "include", "cmake", "examples", "tools", "scripts", "bench", "tests", "packaging"]
# (check, file, original text, replacement, expected message)
MISTAKES = [
    ("snippets", "docs/getting_started.md", "PROF_SCOPE_INDEXED(", "PROF_SCOPE_NUMBERED(", "docs/getting_started.md:"),
    ("reference", "docs/reference.md", "| `warmup=N` |", "| `warm=N` |", "does not have warmup=N"),
    ("reference", "docs/reference.md", "| `warmup=N` |", "| `warm=N` |", "has warm=N, the code does not"),
    ("reference", "docs/reference.md", "| `trace_steps` |", "| `steps_of_trace` |", "does not have trace_steps"),
    ("reference", "docs/reference.md", "| `PROFKIT_CUPTI_PATH` |", "| `CUPTI_PATH` |", "does not have PROFKIT_CUPTI_PATH"),
    ("reference", "docs/reference.md", "| `PROFKIT_INSTALL` |", "| |", "does not have PROFKIT_INSTALL"),
    ("reference", "include/profkit/scope.hpp", "#define PROF_COUNTER", "#define PROF_NUMBER(a) a\n#define PROF_COUNTER", "does not have PROF_NUMBER"),
    ("reference", "docs/reference.md", "| `profkit/time.hpp` |", "| |", "does not have profkit/time.hpp"),
    ("reference", "docs/nsys.md", "PROFKIT=nvtx=off", "PROFKIT=nsys=off", "PROFKIT has no key nsys=off"),
    ("reference", "docs/getting_started.md", "find_package(profkit ", "find_package(profkit 7", "docs/getting_started.md: it requests version 7"),
    ("messages", "docs/troubleshooting.md", "| `nothing was measured` |", "| |", "has no row for: nothing was measured"),
    ("messages", "include/profkit/impl/session/make_options.hpp", "PROFKIT: unknown key", "PROFKIT: no such key", "nothing says: PROFKIT: unknown key"),
    ("messages", "include/profkit/impl/report/quality_section.hpp", "scopes were still open", "scopes are still open", "has no row for: scopes are still open"),
    ("links", "docs/concepts.md", "(cuda_graphs.md)", "(graphs.md)", "docs/concepts.md: there is no graphs.md"),
    ("links", "docs/report.md", "#the-verdicts", "#verdicts", "has no heading #verdicts"),
    ("links", "README.md", "(docs/concepts.md)", "(docs/report.md)", "README.md does not lead to docs/concepts.md"),
    ("comments", "include/profkit/work.hpp", "bf16 = 5,     ///<", "bf16 = 5,     //", "no @brief and no ///<: bf16 = 5,"),
    ("comments", "include/profkit/collector.hpp", "/// @brief Destroys", "/// Destroys", "no @brief and no ///<: virtual ~collector()"),
    ("comments", "include/profkit/scope.hpp", "#define PROF_COUNTER", "#define PROF_NUMBER(a) a\n#define PROF_COUNTER", "no ///<: #define PROF_COUNTER"),
    ("comments", "tests/docs/check_comments.py", "MIN_SHARE = 0.30", "MIN_SHARE = 0.90", "at least 90% is wanted"),
    ("interface", "include/profkit/work.hpp", "bf16 = 5,", "bf16 = 6,", "- profkit/work.hpp: precision: bf16 = 5"),
    ("interface", "include/profkit/scope.hpp", "#define PROF_COUNTER(name, ", "#define PROF_COUNTER(a_name, ", "+ profkit/scope.hpp: #define PROF_COUNTER(a_name"),
    ("interface", "include/profkit/options.hpp", "  std::uint64_t max_steps = 1000;", "", "- profkit/options.hpp: options: std::uint64_t max_steps = 1000"),
    ("line_length", "docs/concepts.md", "\n\n", "\n\n" + "word " * 25 + "\n\n", "docs/concepts.md:"),
    ("readme", "README.md", "\nfill ", "\nfull ", "does not print"),
    ("readme", "README.md", "| a scope, recorded | ", "| a scope, recorded | 3.14159 ", "not in "),
]


def run(root, check, program):
    command = [sys.executable, str(root / f"tests/docs/check_{check}.py"), str(root)] + ([program] if check == "readme" else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("*.profile", "results", "__pycache__"))
            elif (root / name).exists():
                shutil.copy(root / name, copy / name)
        (copy / "docs/results").symlink_to(root.resolve() / "docs/results")
        for check, name, before, after, said in MISTAKES:
            file = copy / name
            text = file.read_text(encoding="utf-8")
            if before not in text:
                failures.append(f"{name} does not have '{before}' any more: the mistake has to follow")
                continue
            file.write_text(text.replace(before, after, 1), encoding="utf-8")
            code, output = run(copy, check, program)
            file.write_text(text, encoding="utf-8")
            if code != 1 or said not in output:
                failures.append(f"check_{check}.py, with '{after}' in {name}: ended with {code}, and does not say '{said}':\n{output}")
    for each in failures:
        print(each)
    print(f"{len(MISTAKES)} mistakes, {len(failures)} not noticed")
    return 1 if failures else 0


sys.exit(main())
