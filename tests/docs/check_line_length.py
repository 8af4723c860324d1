#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that prose in Markdown has at most 120 characters per line. Tables and code may be wider.

usage: check_line_length.py ROOT
"""
import pathlib
import sys

PAGES = ["*.md", "docs/**/*.md", "examples/**/*.md", "packaging/**/*.md", "tests/**/*.md"]
MAX_LENGTH = 120


def long_lines(text):
    """@return (number, length) of each overlong line."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        is_prose = not in_code and not line.startswith("    ") and not line.lstrip().startswith("|")
        if is_prose and len(line) > MAX_LENGTH:
            yield number, len(line)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted({path for pattern in PAGES for path in root.glob(pattern)})
    failures = [f"{page.relative_to(root)}:{number}: {length} characters; at most {MAX_LENGTH}"
                for page in pages for number, length in long_lines(page.read_text(encoding="utf-8"))]
    print("\n".join(failures))
    print(f"{len(pages)} pages, {len(failures)} lines too long")
    return 1 if failures or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
