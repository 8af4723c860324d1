#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes sources that compile each header as if alone, with fewer compilations than headers.

usage: header_chains.py INCLUDE_DIR OUTPUT_DIR HEADER...      prints the sources, separated by semicolons

If B includes A before its first declaration, directly or indirectly, then a source that includes A and then B compiles both alone: B
sees nothing that it does not include. (This fails if A includes more headers after its declarations, because B could be one of them.)
The headers are covered with the fewest such chains: a minimum path cover, by a maximum matching of headers with their successors.
Headers that include most are matched first. So the headers that take longest share a chain where they can, and are compiled once.
"""
import functools
import pathlib
import re
import sys

sys.setrecursionlimit(10000)


def includes_of(root, header):
    """@return the headers of the project that a header includes before anything else, and whether it includes more after that."""
    first, is_first, includes_later = [], True, False
    for line in (root / header).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        match = re.match(r'#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match and is_first:
            path = (root / header).parent / match[2] if match[1] == '"' else root / match[2]
            if path.exists():
                first.append(path.resolve().relative_to(root.resolve()).as_posix())
        elif match:
            includes_later = True
        elif line and not line.startswith("//") and line != "#pragma once":
            is_first = False
    return first, includes_later


def chains_of(root, headers):
    @functools.lru_cache(maxsize=None)
    def seen_by(header):
        first, _ = includes_of(root, header)
        return frozenset(first).union(*(seen_by(each) for each in first))

    can_be_first = {each for each in headers if not includes_of(root, each)[1]}

    successors = {each: [] for each in headers}
    for header in sorted(headers, key=lambda each: (len(seen_by(each)), each)):
        for each in seen_by(header) & can_be_first:
            successors[each].append(header)
    before = {}

    def match(header, tried):
        for each in successors[header]:
            if each not in tried:
                tried.add(each)
                if each not in before or match(before[each], tried):
                    before[each] = header
                    return True
        return False

    for each in sorted(headers, key=lambda each: (-len(seen_by(each)), each)):
        match(each, set())
    after = {first: second for second, first in before.items()}
    chains = []
    for each in headers:
        if each not in before:
            chains.append([each])
            while chains[-1][-1] in after:
                chains[-1].append(after[chains[-1][-1]])
    return chains


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    sources = []
    for chain in chains_of(root, sys.argv[3:]):
        source = output / (chain[-1].replace("/", "_") + ".cpp")
        text = "".join(f"#include <{each}>\n" for each in chain)
        if not source.exists() or source.read_text(encoding="utf-8") != text:  # would otherwise be compiled again
            source.write_text(text, encoding="utf-8")
        sources.append(source.as_posix())
    print(";".join(sources), end="")


main()
