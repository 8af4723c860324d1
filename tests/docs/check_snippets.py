#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every C++ block of the documentation occurs, line by line, in a compiled file, and CMake blocks in the CMake files
of examples and tests.

usage: check_snippets.py ROOT
"""
import pathlib
import re
import sys

PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "examples/*/README.md"]
SOURCES = {
    "cpp": ["examples/**/*.[ch]pp", "examples/**/*.cu", "tests/docs/**/*.[ch]pp"],
    "cmake": ["tests/packaging/**/CMakeLists.txt", "examples/**/CMakeLists.txt"],
}


def lines_of(text):
    """Removes indentation and empty lines, in which pages and sources may differ."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def contains(source, block):
    return any(source[start:start + len(block)] == block for start in range(len(source) - len(block) + 1))


def main():
    root = pathlib.Path(sys.argv[1])
    sources = {language: [lines_of(path.read_text(encoding="utf-8")) for pattern in patterns for path in sorted(root.glob(pattern))]
               for language, patterns in SOURCES.items()}
    blocks = failures = 0
    for page in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        for match in re.finditer(r"^ *```(\w+)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            language, text = match.groups()
            if language not in sources:
                continue
            blocks += 1
            if not any(contains(source, lines_of(text)) for source in sources[language]):
                failures += 1
                line = page.read_text(encoding="utf-8")[:match.start()].count("\n") + 1
                print(f"{page.relative_to(root)}:{line}: this block is not in any compiled file")
    print(f"{blocks} blocks, {failures} of them not in a compiled file")
    return 1 if failures or blocks == 0 else 0


sys.exit(main())
