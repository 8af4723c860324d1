#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/reference.md with the code: public headers, macros, keys of PROFKIT, members of profkit::options, environment variables,
CMake options, targets and components. The page must name all of them, and no page may name one that does not exist. Pages and examples must
request the version of the headers.

usage: check_reference.py ROOT
"""
import pathlib
import re
import sys

PAGE = "docs/reference.md"
PAGES = ["README.md", "docs/*.md", "examples/**/README.md"]
CMAKE_FILES = ["CMakeLists.txt", "cmake/*.cmake", "examples/**/CMakeLists.txt", "tools/**/CMakeLists.txt"]
TEST_CMAKE_FILES = ["tests/*.cmake", "tests/**/CMakeLists.txt", "bench/*.cmake", "bench/CMakeLists.txt"]  # the page may omit their values


def read(paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths) if path.is_file())


def section(page, heading):
    """@return the text from a heading to the next one of the same level."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if not match:
        sys.exit(f"{PAGE} has no section '{heading}'")
    return match.group(1)


def first_cells(text):
    """@return the code spans in the first cell of each table row."""
    return {span for line in text.splitlines() if line.startswith("|") for span in re.findall(r"`([^`]+)`", line.split("|")[1])}


def keys_of_options(header):
    """@return the keys in the error message, with one item per value: 'kernels=on|off' is 'kernels=on' and 'kernels=off'."""
    listed = "".join(re.findall(r'"([^"]*)"', re.search(r"valid_keys =(.*?);", header, re.DOTALL).group(1)))
    items = set()
    for item in listed.split(", "):
        key, _, values = item.partition("=")
        items |= {f"{key}={value}" for value in values.split("|")} if values else {key}
    parsed = set(re.findall(r'\bkey == "(\w+)"', header))
    if parsed != {item.split("=")[0] for item in items}:
        sys.exit(f"make_options.hpp: valid_keys lists {sorted(items)}, the code takes {sorted(parsed)}")
    return items


def members_of_options(header):
    body = re.search(r"struct options \{(.*?)\n\};", header, re.DOTALL).group(1)
    return set(re.findall(r"^  (?:bool|double|std::\S+(?:<\w+>)?|profkit::\w+|kept_steps) (\w+)(?: = [^;(]+|\{[^;(]*\})?;", body, re.MULTILINE))


def cmake_options_in(cmake):
    return set(re.findall(r"^\s*(?:option|find_path|find_program)\(\s*(PROFKIT_\w+)", cmake, re.MULTILINE)) | set(
        re.findall(r"^\s*set\(\s*(PROFKIT_\w+)\s[^()]*?\sCACHE\s", cmake, re.MULTILINE))


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / PAGE).read_text(encoding="utf-8")
    headers = read(root.glob("include/profkit/**/*.hpp"))
    options = read(root / "include/profkit" / name for name in ("options.hpp", "impl/session/make_options.hpp"))
    cmake, test_cmake = (read(path for pattern in patterns for path in root.glob(pattern)) for patterns in (CMAKE_FILES, TEST_CMAKE_FILES))
    failures = []

    def compare(what, in_code, in_page):
        if not in_code:
            failures.append(f"{what}: found none in the code")
        failures.extend(f"{what}: {PAGE} does not have {each}" for each in sorted(in_code - in_page))
        failures.extend(f"{what}: {PAGE} has {each}, the code does not" for each in sorted(in_page - in_code))

    compare("public headers", {f"profkit/{path.name}" for path in root.glob("include/profkit/*.h*")}, first_cells(section(page, "Headers")))
    macros = set(re.findall(r"^\s*#\s*define (PROF\w*_\w+)", headers, re.MULTILINE))
    macros -= set(re.findall(r"^#undef (PROF\w+)", headers, re.MULTILINE))  # a header uses them alone
    given = set(re.findall(r"^\s*#\s*ifn?def (PROF\w+)", headers, re.MULTILINE))
    named = set(re.findall(r"\bPROF(?:KIT)?_\w+", section(page, "Macros")))
    compare("macros", macros | given, named)
    compare("public macros", {macro for macro in macros if macro.startswith("PROF_")},
            {re.match(r"\w+", span).group() for span in first_cells(section(page, "Macros")) if span.startswith("PROF_")})
    keys = keys_of_options(options)
    compare("keys of PROFKIT", keys, first_cells(section(page, "The variable PROFKIT")))
    compare("members of profkit::options", members_of_options(options), first_cells(section(page, "profkit::options")))
    environment = set(re.findall(r'secure_getenv\("(\w+)"\)', headers + read(root.glob("tools/profkit/**/*.[ch]pp"))))
    compare("variables of the environment", environment, first_cells(section(page, "The environment")))
    in_cmake = first_cells(section(page, "CMake"))
    for_tests = cmake_options_in(test_cmake)
    cmake_options = cmake_options_in(cmake)
    compare("CMake options", cmake_options, {span for span in in_cmake if span.startswith("PROFKIT_")} - for_tests)
    targets = {f"profkit::{name}" for name in re.findall(r"^\s*(?:profkit_add_layer\(\w+ |add_library\(profkit::)(\w+)", cmake, re.MULTILINE)}
    compare("CMake targets", targets, {span for span in in_cmake if span.startswith("profkit::")})

    version = ".".join(re.search(rf"#define PROFKIT_VERSION_{part} (\d+)", headers)[1] for part in ("MAJOR", "MINOR"))
    for path in sorted(path for pattern in PAGES + ["examples/**/CMakeLists.txt"] for path in root.glob(pattern)):
        for requested in re.findall(r"find_package\(profkit (\d[\d.]*)", path.read_text(encoding="utf-8")):
            if requested != version:
                failures.append(f"{path.relative_to(root)}: it requests version {requested}, and the headers have {version}")

    # Other pages may omit items, but not name unknown ones.
    words = set(re.findall(r"\w+", headers)) | set(re.findall(r"\w+", cmake))
    for path in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(root)
        for name in sorted(set(re.findall(r"\bPROF(?:KIT)?_\w+", text))):
            if name not in macros | given | environment | cmake_options | for_tests and not re.search(rf"\b{name}\b", read(root.glob("scripts/**/*.sh"))):
                failures.append(f"{where}: there is no {name}")
        for name in sorted(set(re.findall(r"\bprofkit::(?:\w+::)*\w+", text))):
            missing = [word for word in name.split("::") if word not in words]
            if missing:
                failures.append(f"{where}: {name}: nothing in include/profkit is called {missing[0]}")
        for given_keys in sorted(set(re.findall(r"\bPROFKIT=([^\s`\")…]+)", text))):
            if given_keys.startswith("..."):
                continue
            for item in given_keys.rstrip(".,;:").split(","):
                if item.split("=")[0] not in {key.split("=")[0] for key in keys}:
                    failures.append(f"{where}: PROFKIT has no key {item}")

    for each in failures:
        print(each)
    print(f"{len(macros | given)} macros, {len(keys)} keys, {len(environment)} variables, {len(cmake_options)} CMake options; {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
