#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_architecture.py accepts a good tree and names each fault of a bad one."""

import pathlib
import tempfile
import unittest

from check_architecture import Checker

PREAMBLE = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
PUBLIC_PREAMBLE = PREAMBLE + "\n/// @file\n/// @brief Text.\n"

GOOD = {
    "scope.hpp": '#include "impl/record/scope.hpp"\n',
    "profkit.hpp": '#include "impl/report/report.hpp"\n#include "scope.hpp"\n',
    "cuda.hpp": '#include "impl/collect/cuda_timer.hpp"\n',
    "impl/profile/profile.hpp": "#include <fstream>\n#include <vector>\n",
    "impl/record/scope.hpp": "#include <cstdint>\n",
    "impl/record/clock.hpp": '#include <unistd.h>\n#include "../profile/profile.hpp"\n',
    "impl/collect/nvtx.hpp": '#include <nvtx3/nvtx3.hpp>\n#include "../record/scope.hpp"\n',
    "impl/collect/cuda_timer.hpp": "#include <cuda_runtime_api.h>\n",
    "impl/analyze/analyze.hpp": '#include <profkit/impl/profile/profile.hpp>\n#include <algorithm>\n',
    "impl/report/report.hpp": '#include <fmt/format.h>\n',
}


def target_of(header):
    return "profkit_cuda" if header == "cuda.hpp" or "/cuda_" in header else "profkit_headers"


INCLUDE_OF_IMPL = "#include <profkit/impl/record/scope.hpp>\n"
PUBLIC = {"profile.hpp": "#include <vector>\n", "summary.hpp": '#include "profile.hpp"\n'}
FILE_SETS = [(target_of(name), f"profkit/{name}") for name in GOOD]
MACROS = "".join(f"#define PROF_{i}\n#define PROFKIT_{i}\n" for i in range(7))


def public_headers(count):
    return {f"p{i}.hpp": "" for i in range(count - 3)}  # three are in GOOD


def bad(header, body, line, what, **others):
    """A tree with a bad header: (place of the violation, its text, tree)."""
    return f"include/profkit/{header}:{line}", what, {"changes": {**others.get("changes", {}), header: body}, **{k: v for k, v in others.items() if k != "changes"}}


GOOD_TREES = [
    {},
    {"changes": {"version.hpp": "namespace PROFKIT_NAMESPACE {\nnamespace profkit {\n",  # the version is for every folder
                 "impl/report/json.hpp": '#include "../../version.hpp"\nnamespace PROFKIT_NAMESPACE::detail {\nnamespace profkit::layout_3 {\n',
                 "impl/report/xml.hpp": '#include "json.hpp"\nnamespace PROFKIT_NAMESPACE {\n'}},
    {"changes": {**PUBLIC, "impl/report/good.hpp": '#include "../../summary.hpp"\n', "options.hpp": '#include "summary.hpp"\n#include "impl/record/clock.hpp"\n'}},
    {"changes": public_headers(35)},
    *({"tests": {path: text}} for path, text in (
        ("docs/a.md", "`include/profkit/impl/` may change\n#include <profkit/scope.hpp>\n"), ("tests/record/a.cpp", INCLUDE_OF_IMPL),
        ("tools/profkit/a.cpp", INCLUDE_OF_IMPL), ("bench/a.cpp", INCLUDE_OF_IMPL), ("examples/a.cpp", "#include <c10/core/impl/a.h>\n"))),
    {"changes": {"impl/record/step.hpp": "#include <mutex>\n"}},  # heavy, but scope.hpp does not include it
    {"changes": {"impl/analyze/good.hpp": '/*\n#include "../report/report.hpp"\n*/\n// #include <cupti.h>\n'}},
    *({"changes": {"impl/collect/good.hpp": body + "\n"}} for body in (
        # Calls that only look like forbidden ones
        '::secure_getenv("A"); // getenv("A")\nauto a = "system(1)"; file_system(a);\nclock.system(); reset_after_fork(); /* popen(a) */',
        # Libraries opened by name or absolute path
        '::dlopen("libcuda.so.1", RTLD_NOW);', 'constexpr char const* name = "libcupti.so.13";\n::dlopen(name, RTLD_NOW);',
        "if (*path != '/') throw 1;\n::dlopen(path, RTLD_NOW);", "return path.front() == '/' ? ::dlopen(path.c_str(), RTLD_NOW) : nullptr;",
        "::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);",
        # Names
        "// of all", 'auto text = "of";', "x.of();", "int max_of(int profile);", "int at_least_one;", "int most;",
        # Findings silenced with a reason
        "// NOLINTNEXTLINE(cert-err34-c): the kernel writes it", "f(); // NOLINT(a-b, c-d): because of that",
        "// NOLINTBEGIN(a-b): because of that\n// NOLINTEND(a-b)")),
]
FAULTS = [
    bad("impl/analyze/bad.hpp", '#include <vector>\n#include "../record/scope.hpp"\n', 4, "analyze/ may not include record/"),
    bad("impl/collect/bad.hpp", "#include <profkit/impl/report/report.hpp>\n", 3, "collect/ may not include report/"),
    bad("impl/profile/bad.hpp", '#include "../analyze/analyze.hpp"\n', 3, "profile/ may not include analyze/"),
    bad("impl/record/bad.hpp", '#include "../../scope.hpp"\n', 3, "it is at the top"),
    bad("version.hpp", "#include <string>\n", 6, "may include nothing"),
    *(bad("impl/record/bad.hpp", f"namespace profkit{rest} {{\n", 3, "names belong in namespace PROFKIT_NAMESPACE")
      for rest in ("", "::detail", "::layout_3::detail")),
    bad("impl/record/bad.hpp", '#include "scope.hpp"\nnamespace PROFKIT_NAMESPACE {\n', 4, "is not defined here", changes={"version.hpp": ""}),
    *(bad(header, "", 1, "lies neither at the top nor in one of the folders impl/profile,")
      for header in ("util/bad.hpp", "impl/util/bad.hpp", "impl/bad.hpp", "record/bad.hpp")),
    # Public headers obey the rules of their folder.
    bad("summary.hpp", '#include "impl/report/report.hpp"\n', 6, "analyze/ may not include report/", changes=PUBLIC),
    bad("impl/profile/bad.hpp", '#include "../../summary.hpp"\n', 3, "profile/ may not include analyze/", changes=PUBLIC),
    bad("summary.hpp", '#include "scope.hpp"\n', 6, "it is at the top", changes=PUBLIC),
    bad("summary.hpp", "#include <iostream>\n", 6, "this header may not include", changes=PUBLIC),
    ("include/profkit:1", "36 public headers, at most 35", {"changes": public_headers(36)}),
    ("include/profkit/bad.hpp:1", "begins with /// @file", {"raw": {"bad.hpp": PREAMBLE}}),
    *((f"{path}:2", "includes a header of impl/", {"tests": {path: "\n" + INCLUDE_OF_IMPL}}) for path in (
        "README.md", "CONTRIBUTING.md", "docs/a.md", "examples/a/b.cpp", "examples/a/b.hpp", "examples/a/b.cu", "bench/peers/a.cpp",
        "tests/packaging/consumer/a.cpp", "tests/docs/a.cpp", "packaging/conan/a.cpp")),
    *(("docs/a.md:1", "includes a header of impl/", {"tests": {"docs/a.md": text}}) for text in (
        '#include "../include/profkit/impl/record/scope.hpp"\n', "  #  include <profkit/impl/a.hpp>\n", "Include `profkit/impl/a.hpp`.\n")),
    bad("impl/analyze/a.hpp", '#include "b.hpp"\n', 3, "a cycle: impl/analyze/a.hpp -> impl/analyze/b.hpp -> impl/analyze/a.hpp",
        changes={"impl/analyze/b.hpp": '#include "a.hpp"\n'}),
    bad("impl/analyze/a.hpp", '#include "a.hpp"\n', 3, "a cycle"),
    *(bad(header, f"#include <{include}>\n", 3, "this header may not include") for header, include in (
        ("impl/record/bad.hpp", "nvtx3/nvToolsExt.h"), ("impl/collect/memory.hpp", "cuda_runtime_api.h"), ("impl/collect/memory.hpp", "cupti.h"),
        ("impl/profile/bad.hpp", "fmt/format.h"), ("impl/analyze/bad.hpp", "unistd.h"), ("impl/collect/nvtx_more.hpp", "cuda_runtime_api.h"),
        ("impl/report/bad.hpp", "nvtx3/nvtx3.hpp"), ("impl/analyze/bad.hpp", "iostream"), ("impl/collect/bad.hpp", "fmt/core.h"))),
    bad("impl/report/bad.hpp", "#include <boost/any.hpp>\n", 3, "no folder may include this"),
    bad("impl/collect/cuda_bad.hpp", "#include <cuda_runtime.h>\n", 3, "cuda_runtime_api.h"),
    *(bad("impl/record/site.hpp", f"#include <{include}>\n", 3, "too heavy", changes={"impl/record/scope.hpp": '#include "site.hpp"\n'})
      for include in ("string", "vector", "atomic", "mutex", "x86intrin.h")),
    *(bad("impl/collect/nvtx_more.hpp", f"#include <{include}>\n", 3, "too heavy, profkit.hpp includes this header",
          changes={"profkit.hpp": '#include "impl/collect/nvtx_more.hpp"\n'})
      for include in ("filesystem", "functional", "map", "mutex", "regex", "unordered_map", "variant", "nvtx3/nvtx3.hpp")),
    bad("impl/report/bad.hpp", '#include "none.hpp"\n', 3, "is not a header of include/profkit"),
    bad("impl/report/bad.hpp", "#include <profkit/none.hpp>\n", 3, "does not exist"),
    bad("impl/analyze/bad.hpp", "/*\n\n*/\n#include <unistd.h>\n", 6, "may not include"),
    ("include/profkit/impl/report/bad.hpp:1", "SPDX", {"raw": {"impl/report/bad.hpp": "#pragma once\n"}}),
    ("include/profkit/impl/report/bad.hpp:1", "#pragma once", {"raw": {"impl/report/bad.hpp": "// SPDX-License-Identifier: Apache-2.0\n"}}),
    bad("impl/report/bad.hpp", "#define MAX 1\n", 3, "the macro MAX"),
    bad("scope.hpp", MACROS, 18, "public macro number 7"),
    ("include/profkit/scope.hpp:1", "no file set", {"file_sets": [pair for pair in FILE_SETS if pair[1] != "profkit/scope.hpp"]}),
    ("include/profkit/scope.hpp:1", "several", {"file_sets": FILE_SETS + [("profkit_cuda", "profkit/scope.hpp")]}),
    ("cmake/headers.cmake:1", "report/none.hpp does not exist", {"file_sets": FILE_SETS + [("profkit_headers", "profkit/impl/report/none.hpp")]}),
    ("include/profkit/impl/report/report.hpp:1", "belongs to another target",
     {"changes": {"profkit.hpp": ""}, "file_sets": [("profkit_cuda" if "report" in header else target, header) for target, header in FILE_SETS]}),
    bad("all.hpp", '#include "cuda.hpp"\n', 6, "profkit_headers may not include cuda.hpp of profkit_cuda"),
    *(bad("impl/collect/bad.hpp", call + "\n", 3, what) for call, what in (
        ('char* a = ::getenv("A");', "secure_getenv instead"), ('auto a = std::getenv("A");', "secure_getenv instead"),
        ('std::system("ls");', "no other program"), ('::popen("ls", "r");', "no other program"), ('::execvp(name, argv);', "no other program"),
        ('posix_spawn(&a, b);', "no other program"), ('wordexp(a, &b, 0);', "no other program"), ("if (fork() == 0) {}", "no other program"),
        ("std::sprintf(a, b);", "an unsafe call"))),
    ("tools/profkit/bad.cpp:2", "secure_getenv instead", {"tests": {"tools/profkit/bad.cpp": '\nauto a = std::getenv("A");\n'}}),
    *(bad("impl/collect/bad.hpp", call + "\n", 3, "neither a library's name") for call in (
        '::dlopen("./libcuda.so.1", RTLD_NOW);', '::dlopen("lib/libcuda.so.1", RTLD_NOW);', '::dlopen("", RTLD_NOW);', "::dlopen(path, RTLD_NOW);",
        "::dlopen((folder + name).c_str(), RTLD_NOW);", "::dlmopen(LM_ID_NEWLM, path, RTLD_NOW);",
        'constexpr char const* path = "./a.so"; ::dlopen(path, RTLD_NOW);', "if (*other != '/') throw 1; ::dlopen(path, RTLD_NOW);",
        "::dlopen(path, RTLD_NOW); f(RTLD_NOLOAD);")),
    bad("impl/collect/bad.hpp", "int f(int of);\n", 3, "name the parameter after what it is"),
    *(bad("impl/collect/bad.hpp", f"/* a\n*/ int {name};\n", 4, f"the name {name}: limits") for name in ("least_named", "most_steps", "longest_norm", "highest_")),
    ("tests/support/bad.hpp:1", "the name of", {"tests": {"tests/support/bad.hpp": "int f(int of);\n"}}),
    *(bad("impl/collect/bad.hpp", comment + "\n", 3, "NOLINT without a check and a reason") for comment in (
        "f();  // NOLINT", "f();  // NOLINT(a-b)", "// NOLINTNEXTLINE(a-b):", "// NOLINTNEXTLINE: it is so that way", "// NOLINT(*): it is so that way",
        "// NOLINTBEGIN(a-b)")),
    ("tests/record/a.test.cpp:1", "is built by no list",
     {"tests": {"tests/units.cmake": "record/b.test.cpp", "tests/CMakeLists.txt": "c.test.cpp", "tests/record/a.test.cpp": "", "tests/record/b.test.cpp": "",
                "tests/c.test.cpp": ""}}),
]


class CheckArchitecture(unittest.TestCase):
    def violations(self, changes=None, file_sets=None, tests=None, raw=None):
        files = {name: (PREAMBLE if "/" in name else PUBLIC_PREAMBLE) + body for name, body in {**GOOD, **(changes or {})}.items()}
        files.update(raw or {})
        if file_sets is None:
            file_sets = [(target_of(name), f"profkit/{name}") for name in files]
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**{f"include/profkit/{name}": text for name, text in files.items()}, **(tests or {})}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return Checker(folder, file_sets).check()

    def test_accepts_good_trees(self):
        for tree in GOOD_TREES:
            with self.subTest(tree=tree):
                self.assertEqual(self.violations(**tree), [])

    def test_names_each_fault(self):
        for where, what, tree in FAULTS:
            with self.subTest(where=where, what=what, tree=tree):
                found = self.violations(**tree)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(where + ": "), found)
                self.assertIn(what, found[0])


if __name__ == "__main__":
    unittest.main()
