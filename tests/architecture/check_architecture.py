#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the #include lines of include/profkit with the table of docs/architecture.md, and the called functions with the rules of SECURITY.md.
Documents and examples include public headers only, never those of impl/.

usage: check_architecture.py --source DIR --file-sets FILE

FILE has a line "target header" for each header in a CMake file set. Prints "file:line: what is wrong" for each violation and exits with 1
if there is one.
"""

import argparse
import collections
import pathlib
import re
import sys

# The folders of impl/ that each folder may include.
FOLDERS = {
    "profile": {"profile"},
    "record": {"profile", "record"},
    "collect": {"profile", "record", "collect"},
    "drain": {"profile", "record", "collect", "drain"},
    "analyze": {"profile", "analyze"},
    "report": {"profile", "analyze", "report"},
    "session": {"profile", "record", "collect", "drain", "analyze", "report", "session"},
}
IMPL = "impl/"

# Public headers that belong to a folder by content. They obey its rules, and folders that may include it may include them. The other
# public headers may include everything, and no folder includes them, except the version number.
FOLDER_OF_PUBLIC = {
    "analyze.hpp": "analyze",
    "collector.hpp": "collect",
    "csv_printer.hpp": "report",
    "cupti.hpp": "collect",
    "document.hpp": "report",
    "error.hpp": "profile",
    "find_rank.hpp": "session",
    "kernel_class.hpp": "analyze",
    "kernels_of_scope.hpp": "analyze",
    "load_report.hpp": "session",
    "markdown_printer.hpp": "report",
    "memory_source.hpp": "collect",
    "nccl.hpp": "collect",
    "options.hpp": "session",
    "plain_report.hpp": "report",
    "profile.hpp": "profile",
    "profile_builder.hpp": "profile",
    "report.hpp": "report",
    "save_load.hpp": "profile",
    "statistics.hpp": "analyze",
    "step.hpp": "record",
    "summary.hpp": "analyze",
    "summary_file.hpp": "report",
    "text_printer.hpp": "report",
    "time.hpp": "profile",
    "work.hpp": "profile",
}
TOP = ""
VERSION = "version.hpp"
MAX_PUBLIC_HEADERS = 35

# What users read and copy. It includes public headers only.
FOR_USERS = ("README.md", "CONTRIBUTING.md", "docs", "examples", "packaging", "bench/peers", "tests/docs", "tests/packaging")
TEXT_ENDINGS = {".md", ".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".txt", ".cmake", ".py", ".sh"}

# Foreign headers by kind: (pattern of the includes, pattern of our headers that may use them). A header of a folder is "folder/name",
# also if it is public.
FOREIGN = {
    "NVTX": (r"nvtx3/.*", r"collect/nvtx\w*\.hpp"),
    "MPI": (r"mpi\.h", r"mpi\.hpp|collect/mpi_\w+\.hpp"),
    "CUPTI": (r"(generated_)?cupti\w*\.h|generated_\w+_meta\.h|nvperf\w*\.h", r"collect/cupti\w*\.hpp"),
    "the CUDA runtime": (r"cuda\w*\.h|driver_types\.h|vector_types\.h", r"cuda\.hpp|collect/(cuda|cupti)\w*\.hpp"),
    "fmt": (r"fmt/.*", r"[^/]+|(report|session)/.*"),
    "the operating system": (
        r"(sys|linux|asm|arpa|net|netinet)/.*|(pthread|unistd|dlfcn|fcntl|sched|signal|spawn|time|errno|poll|elf|link|cpuid|"
        r"x86intrin|immintrin|arm_acle|cxxabi|execinfo|limits|malloc|stdio|stdio_ext|stdlib|string|stdint|stddef)\.h",
        r"[^/]+|(record|collect|report|session)/.*|profile/(atomic_file|file_access|journal_output|own_memory|standard_streams)\.hpp",
    ),
    "input and output": (r"fstream|iostream|istream|ostream|iosfwd|sstream|cstdio|filesystem", r"(?!analyze/).*"),
    "the standard library": (r"[a-z_0-9]+", r".*"),
}

# device code belongs in .cu files; every header of ours compiles with the host compiler
FORBIDDEN = {"cuda_runtime.h": "include <cuda_runtime_api.h> instead: this one is for nvcc"}

# What these headers may include, directly or indirectly: scope.hpp is included in a thousand files, session.hpp
# in .cu files, which nvcc parses three times, profkit.hpp in each program. fmt/format.h includes most of the last list itself.
LIGHT = {
    "scope.hpp": {"cstddef", "cstdint", "ctime", "dlfcn.h", "sys/mman.h"},
    "session.hpp": {"array", "cfenv", "chrono", "cstddef", "cstdint", "ctime", "dlfcn.h", "exception", "iterator", "memory", "new", "optional", "pthread.h", "ratio",
                    "stdexcept", "string", "string_view", "sys/mman.h", "type_traits", "utility", "vector"},
    "profkit.hpp": {"array", "cfenv", "chrono", "cstddef", "cstdint", "ctime", "dlfcn.h", "exception", "fmt/format.h", "iterator", "memory", "new",
                    "optional", "pthread.h", "ratio", "stdexcept", "string", "string_view", "sys/mman.h", "type_traits", "utility", "vector"},
}

# The CMake targets from the bottom up, and the headers of each.
TARGETS = {
    "profkit_headers": r"(?!cuda|cupti|mpi|nccl|impl/\w+/(cuda_|cupti_|mpi_|nccl_)).*",
    "profkit_nccl": r"nccl\.hpp|impl/collect/nccl_\w+\.hpp",
    "profkit_mpi": r"mpi\.hpp|impl/collect/mpi_\w+\.hpp",
    "profkit_cuda": r"cuda\.hpp|impl/collect/cuda_\w+\.hpp",
    "profkit_cupti": r"cupti(_code)?\.hpp|impl/collect/cupti_\w+\.hpp",
}

MAX_PUBLIC_MACROS = 6

# Calls that SECURITY.md excludes from include/profkit and tools, with the reason.
FORBIDDEN_CALLS = {
    r"getenv": "secure_getenv instead: a program with more rights than its user must not do what the user's environment says",
    r"system|popen|exec[lv]p?e?|execvpe|execveat|fexecve|posix_spawnp?|v?fork|wordexp": "profkit runs no other program",
    r"tmpnam|tempnam|mktemp|gets|strcpy|strcat|sprintf|vsprintf": "an unsafe call",
}
ALLOWED_CALLS = {"tools/profkit/run_command.cpp": "execvp"}  # profkit run becomes the program that the user names
LIBRARY_NAME = r'"[^"/]+"'

# Names that must not return, with their replacement. Member accesses and function calls do not count.
FORBIDDEN_NAMES = {
    r"\bof\b(?!\s*\()": "name the parameter after what it is: profile, summary, path, values",
    r"\b(most|least|longest|highest)_\w*": "limits are called max_... and min_...",
}
CODE_FOLDERS = ("include", "tools", "tests", "bench", "examples")
LOOK_BACK = 400  # number of characters before dlopen to search for a check that the path is absolute

# target: the path in include/profkit, None if it is not ours
Include = collections.namedtuple("Include", "line text target")


def without_comments(text):
    blank = lambda match: "\n" * match.group().count("\n")
    return re.sub(r"/\*.*?\*/", blank, text, flags=re.S)


def without_any_comments(text):
    """Also removes comments that begin with //, but not inside literals."""
    keep = lambda match: match.group() if match.group()[0] == '"' else ""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*', keep, without_comments(text))


def without_literals(text):
    """Removes comments and the text of literals, including raw ones, and keeps line numbers."""
    blank = lambda match: "\n" * match.group().count("\n")
    return re.sub(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


class Checker:
    def __init__(self, source, file_sets):
        self.source = pathlib.Path(source)
        self.root = self.source / "include" / "profkit"
        self.violations = []
        self.file_sets = file_sets
        self.headers = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.h*"))
        self.texts = {header: (self.root / header).read_text(encoding="utf-8") for header in self.headers}
        self.includes = {header: list(self.includes_of(header)) for header in self.headers}

    def complain(self, header, line, what):
        self.violations.append(f"include/profkit/{header}:{line}: {what}")

    def includes_of(self, header):
        for number, line in enumerate(without_comments(self.texts[header]).split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                if re.match(r"\s*#\s*include\b", line):
                    self.complain(header, number, "an include that is not a plain name")
                continue
            quote, text = match.groups()
            target = None
            if quote == '"':
                path = (self.root / header).parent / text
                if not path.is_file() or self.root.resolve() not in path.resolve().parents:
                    self.complain(header, number, f'"{text}" is not a header of include/profkit')
                    continue
                target = path.resolve().relative_to(self.root.resolve()).as_posix()
            elif text.startswith("profkit/"):
                target = text[len("profkit/"):]
                if target not in self.texts:
                    self.complain(header, number, f"<{text}> does not exist")
                    continue
            yield Include(number, text, target)

    @staticmethod
    def place_of(header):
        """@return "folder/name" for a header of a folder, the name alone for the other headers."""
        if header in FOLDER_OF_PUBLIC:
            return f"{FOLDER_OF_PUBLIC[header]}/{header}"
        return header.removeprefix(IMPL)

    @classmethod
    def folder_of(cls, header):
        place = cls.place_of(header)
        return place.split("/")[0] if "/" in place else TOP

    def check_folders(self):
        for header in self.headers:
            folder = self.folder_of(header)
            if "/" in header and (not header.startswith(IMPL) or folder not in FOLDERS):
                self.complain(header, 1, f"lies neither at the top nor in one of the folders {', '.join(IMPL + each for each in FOLDERS)}")
                continue
            for include in self.includes[header]:
                if header == VERSION:
                    self.complain(header, include.line, f"{VERSION} may include nothing: every folder may include it")
                if include.target in (None, VERSION) or folder == TOP:
                    continue
                other = self.folder_of(include.target)
                if other == TOP:
                    self.complain(header, include.line, f"{folder}/ may not include {include.target}: it is at the top")
                elif other not in FOLDERS[folder]:
                    self.complain(header, include.line, f"{folder}/ may not include {other}/, only {', '.join(sorted(FOLDERS[folder]))}")

    def check_public_headers(self):
        public = [header for header in self.headers if "/" not in header]
        if len(public) > MAX_PUBLIC_HEADERS:
            self.violations.append(f"include/profkit:1: {len(public)} public headers, at most {MAX_PUBLIC_HEADERS}; what users do not include lies in impl/")
        for header in public:
            if not re.search(r"^#pragma once\n\n/// @file\n/// @brief \w", self.texts[header], flags=re.M):
                self.complain(header, 1, "a public header begins with /// @file and /// @brief")

    def check_users_include_public_headers(self):
        for name in FOR_USERS:
            place = self.source / name
            for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
                if path.suffix not in TEXT_ENDINGS or not path.is_file():
                    continue
                for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                    if re.search(r"#\s*include\s*\"[^\"]*\bprofkit/impl/|[<`]profkit/impl/", line):
                        self.violations.append(f"{path.relative_to(self.source).as_posix()}:{number}: includes a header of impl/, which may change; "
                                               "include a public header")

    def check_foreign(self):
        for header in self.headers:
            for include in self.includes[header]:
                if include.target is not None:
                    continue
                if include.text in FORBIDDEN:
                    self.complain(header, include.line, f"<{include.text}>: {FORBIDDEN[include.text]}")
                    continue
                for kind, (what, who) in FOREIGN.items():
                    if re.fullmatch(what, include.text):
                        if not re.fullmatch(who, self.place_of(header)):
                            self.complain(header, include.line, f"<{include.text}>: this header may not include {kind}")
                        break
                else:
                    self.complain(header, include.line, f"<{include.text}>: no folder may include this; see FOREIGN in {__file__}")

    def reached_from(self, header):
        reached, todo = {header}, [header]
        while todo:
            new = {include.target for include in self.includes[todo.pop()]} - reached - {None}
            reached |= new
            todo += new
        return reached

    def check_light(self):
        found = set()
        for light in (header for header in LIGHT if header in self.texts):
            for header in self.reached_from(light):
                for include in self.includes[header]:
                    if include.target is None and include.text not in LIGHT[light] and (header, include.line) not in found:
                        found.add((header, include.line))
                        self.complain(header, include.line, f"<{include.text}>: too heavy, {light} includes this header")

    def check_namespaces(self):
        """All names are in the namespace of the version, except what all versions share."""
        for header in self.headers:
            for number, line in enumerate(without_comments(self.texts[header]).split("\n"), 1):
                opened = re.match(r"\s*namespace (PROFKIT_NAMESPACE|profkit)\b(?!::layout_\d+ \{)", line)
                if opened and opened[1] == "profkit" and header != VERSION:
                    self.complain(header, number, "names belong in namespace PROFKIT_NAMESPACE")
                elif opened and VERSION not in self.reached_from(header):
                    self.complain(header, number, f"PROFKIT_NAMESPACE is not defined here: include {VERSION}")

    def check_cycles(self):
        done = set()

        def visit(header, path):
            if header in path:
                return path[path.index(header):] + [header]
            if header in done:
                return None
            for include in self.includes[header]:
                if include.target is not None:
                    cycle = visit(include.target, path + [header])
                    if cycle:
                        return cycle
            done.add(header)
            return None

        for header in self.headers:
            cycle = visit(header, [])
            if cycle:
                line = next(include.line for include in self.includes[cycle[0]] if include.target == cycle[1])
                self.complain(cycle[0], line, "a cycle: " + " -> ".join(cycle))
                done.update(cycle)

    def check_text(self):
        public_macros = []
        for header in self.headers:
            text = self.texts[header]
            if text.split("\n", 1)[0] != "// SPDX-License-Identifier: Apache-2.0":
                self.complain(header, 1, 'the first line is not "// SPDX-License-Identifier: Apache-2.0"')
            if not re.search(r"^#pragma once$", text, flags=re.M):
                self.complain(header, 1, "no #pragma once")
            for number, line in enumerate(without_comments(text).split("\n"), 1):
                macro = re.match(r"\s*#\s*define\s+(\w+)", line)
                if macro and not re.match(r"PROF(KIT)?_", macro.group(1)):
                    self.complain(header, number, f"the macro {macro.group(1)} does not begin with PROF_ or PROFKIT_")
                elif macro and macro.group(1).startswith("PROF_") and macro.group(1) not in public_macros:
                    public_macros.append(macro.group(1))
                    if len(public_macros) > MAX_PUBLIC_MACROS:
                        self.complain(header, number, f"public macro number {len(public_macros)}, at most {MAX_PUBLIC_MACROS}")

    def check_file_sets(self):
        order = list(TARGETS)
        targets_of = collections.defaultdict(list)
        for target, header in self.file_sets:
            targets_of[header.removeprefix("profkit/")].append(target)
        for header in self.headers:
            targets = targets_of[header]
            if len(targets) != 1:
                where = "no file set" if not targets else "several file sets: " + ", ".join(targets)
                self.complain(header, 1, f"is in {where} (cmake/headers.cmake)")
            elif not re.fullmatch(TARGETS[targets[0]], header):
                self.complain(header, 1, f"belongs to another target than {targets[0]} (cmake/headers.cmake)")
            for include in self.includes[header]:
                if include.target is None or not targets or not targets_of[include.target]:
                    continue
                if order.index(targets_of[include.target][0]) > order.index(targets[0]):
                    self.complain(header, include.line, f"{targets[0]} may not include {include.target} of {targets_of[include.target][0]}")
        for header in sorted(set(targets_of) - set(self.headers)):
            self.violations.append(f"cmake/headers.cmake:1: {header} does not exist")

    def check_calls(self):
        programs = sorted(path for folder in ("include", "tools") for path in (self.source / folder).rglob("*.[ch]pp"))
        for path in programs:
            text = without_any_comments(path.read_text(encoding="utf-8"))
            name = path.relative_to(self.source).as_posix()

            def complain(position, what):
                self.violations.append(f"{name}:{text.count(chr(10), 0, position) + 1}: {what}")

            without_literals = re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda match: " " * len(match.group()), text)
            for calls, why in FORBIDDEN_CALLS.items():
                for match in re.finditer(rf"(?<![\w.>])({calls})\s*\(", without_literals):
                    if match.group(1) != ALLOWED_CALLS.get(name):
                        complain(match.start(), f"{match.group(1)}: {why}")
            for match in re.finditer(r"\bdlm?open\s*\(\s*([^,]*)([^;]*)", text):
                is_loaded_already = "RTLD_NOLOAD" in match.group(2)  # nothing is opened in that case
                if not is_loaded_already and not self.is_safe_to_open(text, match.group(1).strip(), match.start()):
                    complain(match.start(), f"dlopen({match.group(1)}): neither a library's name without a folder, nor a path that is seen to begin with /")

    @staticmethod
    def is_safe_to_open(text, what, position):
        """Whether the argument is a literal or constant library name, or a path that is compared with '/' shortly before."""
        if re.fullmatch(LIBRARY_NAME, what):
            return True
        variable = re.fullmatch(r"(\w+)(\.c_str\(\))?", what)
        if not variable:
            return False
        values = re.findall(rf"\bconstexpr char const\* {variable.group(1)} = ([^;]*);", text)
        if values:
            return all(re.fullmatch(LIBRARY_NAME, value) for value in values)
        compared = rf"(\*{variable.group(1)}|\b{variable.group(1)}\.front\(\)) [!=]= '/'"
        return re.search(compared, text[max(0, position - LOOK_BACK):position]) is not None

    def check_suppressions(self):
        """A NOLINT comment must name the check and give a reason."""
        for path in sorted(path for folder in ("include", "tools", "tests", "bench") for path in (self.source / folder).rglob("*.[ch]pp")):
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                if "NOLINT" in line and not re.search(r"// NOLINT(NEXTLINE|BEGIN)?\([\w.-]+(, ?[\w.-]+)*\): \w.{9}|// NOLINTEND\([\w., -]+\)$", line):
                    self.violations.append(f"{path.relative_to(self.source).as_posix()}:{number}: NOLINT without a check and a reason: // NOLINT(check): why")

    def check_names(self):
        files = (path for folder in CODE_FOLDERS for path in (self.source / folder).rglob("*") if path.suffix in {".hpp", ".cpp", ".cu"})
        for path in sorted(files):
            for number, line in enumerate(without_literals(path.read_text(encoding="utf-8")).split("\n"), 1):
                for name, instead in FORBIDDEN_NAMES.items():
                    match = re.search(rf"(?<![.>:])(?:{name})", line)
                    if match:
                        self.violations.append(f"{path.relative_to(self.source).as_posix()}:{number}: the name {match.group()}: {instead}")

    def check_tests_are_built(self):
        tests = self.source / "tests"
        lists = [*tests.glob("CMakeLists.txt"), *tests.glob("*.cmake"), *tests.glob("*/CMakeLists.txt")]
        if not lists:
            return
        named = {(path.parent / name).relative_to(tests).as_posix()
                 for path in lists for name in re.findall(r"[\w./-]+\.test\.cpp", path.read_text(encoding="utf-8"))}
        for path in sorted(tests.rglob("*.test.cpp")):
            name = path.relative_to(tests).as_posix()
            if name not in named:
                self.violations.append(f"tests/{name}:1: is built by no list of tests/")

    def check(self):
        for check in (self.check_folders, self.check_public_headers, self.check_users_include_public_headers, self.check_foreign,
                      self.check_light, self.check_namespaces, self.check_cycles, self.check_text, self.check_file_sets, self.check_calls,
                      self.check_suppressions, self.check_names, self.check_tests_are_built):
            check()
        return self.violations


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("--file-sets", required=True)
    arguments = parser.parse_args()
    with open(arguments.file_sets, encoding="utf-8") as file:
        file_sets = [tuple(line.split()) for line in file if line.strip()]
    checker = Checker(arguments.source, file_sets)
    violations = checker.check()
    for violation in violations:
        print(violation)
    print(f"{len(checker.headers)} headers, {sum(map(len, checker.includes.values()))} includes, {len(violations)} violations")
    if not checker.headers:
        print("no header was found")
    return 1 if violations or not checker.headers else 0


if __name__ == "__main__":
    sys.exit(main())
