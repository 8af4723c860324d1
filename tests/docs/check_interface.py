#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tests/docs/interface.txt lists the public interface: the names of namespace profkit without detail, the public macros, and the C
functions, each with its declaration, as far as the public headers declare or include them. So a change of the interface is a change of that file: docs/compatibility.md says what is allowed.

usage: check_interface.py ROOT [--record]      --record writes the list
"""
import pathlib
import re
import sys

from check_comments import public_names

LIST = "tests/docs/interface.txt"
NO_DECLARATION = re.compile(r"(using namespace|static_assert|namespace)\b|(template ?<.*?> ?)?(class|struct) (PROFKIT_\w+ )?\w+;$")


def declarations_of(file):
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".h":  # C: all declarations are in one line
        yield from re.findall(r"^(?:typedef )?\w+ \w+.*?;", text, re.M)
        return
    for _, _, words, around in public_names(text):
        words = re.sub(r"\[\[(gnu::used|nodiscard|maybe_unused)\]\] ?|PROFKIT_TAGGED_\w+ |\binline ", "", words)
        if not NO_DECLARATION.match(words) and not re.match(r"[^(]*\w::~?\w+\(", words):  # defined here, declared elsewhere
            words = re.sub(r"(\)(?: const)?(?: noexcept)?) : \w+$", r"\1", words.rstrip("{},; "))  # without initialisers of members
            yield " ".join(["::".join(around) + ":"] * bool(around) + [words])


def headers(include):
    """The public headers without those that are compiled once per program, and what they include."""
    found, waiting = set(), [each for each in include.glob("*.h*") if not each.name.endswith("code.hpp")]
    while waiting:
        file = waiting.pop()
        found.add(file)
        others = re.findall(r'^#include "(.*)"', file.read_text(encoding="utf-8"), re.M)
        waiting += {(file.parent / each).resolve() for each in others} - found
    return sorted(found, key=lambda each: ("impl" in each.parts, each))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    include = root / "include/profkit"
    now = []
    for file in headers(include):
        now += [f"{file.relative_to(root / 'include')}: {each}" for each in sorted(set(declarations_of(file)))]
    path = root / LIST
    if "--record" in sys.argv:
        path.write_text("\n".join(now) + "\n", encoding="utf-8")
    listed = path.read_text(encoding="utf-8").splitlines()
    without_file = lambda lines: {each.split(": ", 1)[1] for each in lines}  # a declaration may move to another header
    removed = [each for each in listed if each.split(": ", 1)[1] not in without_file(now)]
    added = [each for each in now if each.split(": ", 1)[1] not in without_file(listed)]
    for sign, lines in ("-", removed), ("+", added):
        print("\n".join(f"{sign} {each}" for each in lines))
    if removed:
        print("The interface has changed, or lost something. From 1.0 on, a name stays, deprecated, for a minor version: docs/compatibility.md")
    if removed or added:
        print("If the change is wanted, record it: python3 tests/docs/check_interface.py . --record, and add a line to CHANGELOG.md")
    print(f"{len(now)} declarations, {len(removed)} removed, {len(added)} added")
    return 1 if removed or added or len(now) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
