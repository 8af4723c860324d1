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

    def expect(self, where, what, **tree):
        found = self.violations(**tree)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(where + ": "), found)
        self.assertIn(what, found[0])

    def test_accepts_a_good_tree(self):
        self.assertEqual(self.violations(), [])

    def test_wrong_direction(self):
        self.expect("include/profkit/impl/analyze/bad.hpp:4", "analyze/ may not include record/",
                    changes={"impl/analyze/bad.hpp": '#include <vector>\n#include "../record/scope.hpp"\n'})
        self.expect("include/profkit/impl/collect/bad.hpp:3", "collect/ may not include report/",
                    changes={"impl/collect/bad.hpp": "#include <profkit/impl/report/report.hpp>\n"})
        self.expect("include/profkit/impl/profile/bad.hpp:3", "profile/ may not include analyze/",
                    changes={"impl/profile/bad.hpp": '#include "../analyze/analyze.hpp"\n'})

    def test_a_folder_includes_the_top(self):
        self.expect("include/profkit/impl/record/bad.hpp:3", "it is at the top", changes={"impl/record/bad.hpp": '#include "../../scope.hpp"\n'})

    def test_the_version_is_for_every_folder(self):
        self.assertEqual(self.violations(changes={"version.hpp": "", "impl/report/json.hpp": '#include "../../version.hpp"\n'}), [])
        self.expect("include/profkit/version.hpp:6", "may include nothing", changes={"version.hpp": "#include <string>\n"})

    def test_unknown_folder(self):
        for header in ("util/bad.hpp", "impl/util/bad.hpp", "impl/bad.hpp", "record/bad.hpp"):
            with self.subTest(header=header):
                self.expect(f"include/profkit/{header}:1", "lies neither at the top nor in one of the folders impl/profile,", changes={header: ""})

    def test_public_headers_obey_the_rules_of_their_folder(self):
        public = {"profile.hpp": "#include <vector>\n", "summary.hpp": '#include "profile.hpp"\n'}
        self.assertEqual(self.violations(changes={**public, "impl/report/good.hpp": '#include "../../summary.hpp"\n',
                                                  "options.hpp": '#include "summary.hpp"\n#include "impl/record/clock.hpp"\n'}), [])
        self.expect("include/profkit/summary.hpp:6", "analyze/ may not include report/",
                    changes={**public, "summary.hpp": '#include "impl/report/report.hpp"\n'})
        self.expect("include/profkit/impl/profile/bad.hpp:3", "profile/ may not include analyze/",
                    changes={**public, "impl/profile/bad.hpp": '#include "../../summary.hpp"\n'})
        self.expect("include/profkit/summary.hpp:6", "it is at the top", changes={**public, "summary.hpp": '#include "scope.hpp"\n'})
        self.expect("include/profkit/summary.hpp:6", "this header may not include", changes={**public, "summary.hpp": "#include <iostream>\n"})

    def test_public_headers_are_few_and_described(self):
        def public(count):
            return {f"p{i}.hpp": "" for i in range(count - 3)}  # three are in GOOD
        self.assertEqual(self.violations(changes=public(35)), [])
        self.expect("include/profkit:1", "36 public headers, at most 35", changes=public(36))
        self.expect("include/profkit/bad.hpp:1", "begins with /// @file", raw={"bad.hpp": PREAMBLE})

    def test_users_include_no_header_of_impl(self):
        include = "#include <profkit/impl/record/scope.hpp>\n"
        for path in ("README.md", "CONTRIBUTING.md", "docs/a.md", "examples/a/b.cpp", "examples/a/b.hpp", "examples/a/b.cu", "bench/peers/a.cpp",
                     "tests/packaging/consumer/a.cpp", "tests/docs/a.cpp", "packaging/conan/a.cpp"):
            with self.subTest(path=path):
                self.expect(f"{path}:2", "includes a header of impl/", tests={path: "\n" + include})
        for bad in ('#include "../include/profkit/impl/record/scope.hpp"\n', "  #  include <profkit/impl/a.hpp>\n", "Include `profkit/impl/a.hpp`.\n"):
            with self.subTest(bad=bad):
                self.expect("docs/a.md:1", "includes a header of impl/", tests={"docs/a.md": bad})
        for path, text in (("docs/a.md", "`include/profkit/impl/` may change\n#include <profkit/scope.hpp>\n"), ("tests/record/a.cpp", include),
                           ("tools/profkit/a.cpp", include), ("bench/a.cpp", include), ("examples/a.cpp", "#include <c10/core/impl/a.h>\n")):
            with self.subTest(path=path):
                self.assertEqual(self.violations(tests={path: text}), [])

    def test_cycle(self):
        self.expect("include/profkit/impl/analyze/a.hpp:3", "a cycle: impl/analyze/a.hpp -> impl/analyze/b.hpp -> impl/analyze/a.hpp",
                    changes={"impl/analyze/a.hpp": '#include "b.hpp"\n', "impl/analyze/b.hpp": '#include "a.hpp"\n'})

    def test_header_that_includes_itself(self):
        self.expect("include/profkit/impl/analyze/a.hpp:3", "a cycle", changes={"impl/analyze/a.hpp": '#include "a.hpp"\n'})

    def test_third_party_in_the_wrong_place(self):
        for header, include in (("impl/record/bad.hpp", "nvtx3/nvToolsExt.h"), ("impl/collect/memory.hpp", "cuda_runtime_api.h"),
                                ("impl/collect/memory.hpp", "cupti.h"), ("impl/profile/bad.hpp", "fmt/format.h"), ("impl/analyze/bad.hpp", "unistd.h"),
                                ("impl/collect/nvtx_more.hpp", "cuda_runtime_api.h"), ("impl/report/bad.hpp", "nvtx3/nvtx3.hpp"),
                                ("impl/analyze/bad.hpp", "iostream"), ("impl/collect/bad.hpp", "fmt/core.h")):
            with self.subTest(header=header, include=include):
                self.expect(f"include/profkit/{header}:3", "this header may not include", changes={header: f"#include <{include}>\n"})

    def test_unknown_third_party(self):
        self.expect("include/profkit/impl/report/bad.hpp:3", "no folder may include this", changes={"impl/report/bad.hpp": "#include <boost/any.hpp>\n"})

    def test_cuda_runtime_h(self):
        self.expect("include/profkit/impl/collect/cuda_bad.hpp:3", "cuda_runtime_api.h", changes={"impl/collect/cuda_bad.hpp": "#include <cuda_runtime.h>\n"})

    def test_heavy_header_under_scope(self):
        for include in ("string", "vector", "atomic", "mutex", "x86intrin.h"):
            with self.subTest(include=include):
                self.expect("include/profkit/impl/record/site.hpp:3", "too heavy",
                            changes={"impl/record/scope.hpp": '#include "site.hpp"\n', "impl/record/site.hpp": f"#include <{include}>\n"})

    def test_heavy_header_under_profkit(self):
        for include in ("filesystem", "functional", "map", "mutex", "regex", "unordered_map", "variant", "nvtx3/nvtx3.hpp"):
            with self.subTest(include=include):
                self.expect("include/profkit/impl/collect/nvtx_more.hpp:3", "too heavy, profkit.hpp includes this header",
                            changes={"impl/collect/nvtx_more.hpp": f"#include <{include}>\n", "profkit.hpp": '#include "impl/collect/nvtx_more.hpp"\n'})

    def test_heavy_header_beside_scope_is_fine(self):
        self.assertEqual(self.violations(changes={"impl/record/step.hpp": "#include <mutex>\n"}), [])

    def test_missing_header(self):
        self.expect("include/profkit/impl/report/bad.hpp:3", "is not a header of include/profkit", changes={"impl/report/bad.hpp": '#include "none.hpp"\n'})
        self.expect("include/profkit/impl/report/bad.hpp:3", "does not exist", changes={"impl/report/bad.hpp": "#include <profkit/none.hpp>\n"})

    def test_include_in_a_comment_does_not_count(self):
        self.assertEqual(self.violations(changes={"impl/analyze/good.hpp": '/*\n#include "../report/report.hpp"\n*/\n// #include <cupti.h>\n'}), [])

    def test_line_is_right_after_a_comment(self):
        self.expect("include/profkit/impl/analyze/bad.hpp:6", "may not include", changes={"impl/analyze/bad.hpp": "/*\n\n*/\n#include <unistd.h>\n"})

    def test_spdx_and_pragma(self):
        self.expect("include/profkit/impl/report/bad.hpp:1", "SPDX", raw={"impl/report/bad.hpp": "#pragma once\n"})
        self.expect("include/profkit/impl/report/bad.hpp:1", "#pragma once", raw={"impl/report/bad.hpp": "// SPDX-License-Identifier: Apache-2.0\n"})

    def test_macro_names(self):
        self.expect("include/profkit/impl/report/bad.hpp:3", "the macro MAX", changes={"impl/report/bad.hpp": "#define MAX 1\n"})
        macros = "".join(f"#define PROF_{i}\n#define PROFKIT_{i}\n" for i in range(7))
        self.expect("include/profkit/scope.hpp:18", "public macro number 7", changes={"scope.hpp": macros})

    def test_file_sets(self):
        good = [(target_of(name), f"profkit/{name}") for name in GOOD]
        self.expect("include/profkit/scope.hpp:1", "no file set", file_sets=[pair for pair in good if pair[1] != "profkit/scope.hpp"])
        self.expect("include/profkit/scope.hpp:1", "several", file_sets=good + [("profkit_cuda", "profkit/scope.hpp")])
        self.expect("cmake/headers.cmake:1", "report/none.hpp does not exist", file_sets=good + [("profkit_headers", "profkit/impl/report/none.hpp")])
        self.expect("include/profkit/impl/report/report.hpp:1", "belongs to another target",
                    changes={"profkit.hpp": ""},
                    file_sets=[("profkit_cuda" if "report" in header else target, header) for target, header in good])

    def test_target_includes_one_above_it(self):
        self.expect("include/profkit/all.hpp:6", "profkit_headers may not include cuda.hpp of profkit_cuda",
                    changes={"all.hpp": '#include "cuda.hpp"\n'})

    def test_calls_that_are_not_secure(self):
        for call, what in (('char* a = ::getenv("A");', "secure_getenv instead"), ('auto a = std::getenv("A");', "secure_getenv instead"),
                           ('std::system("ls");', "no other program"), ('::popen("ls", "r");', "no other program"),
                           ('::execvp(name, argv);', "no other program"), ('posix_spawn(&a, b);', "no other program"),
                           ('wordexp(a, &b, 0);', "no other program"), ("if (fork() == 0) {}", "no other program"),
                           ("std::sprintf(a, b);", "an unsafe call")):
            with self.subTest(call=call):
                self.expect("include/profkit/impl/collect/bad.hpp:3", what, changes={"impl/collect/bad.hpp": call + "\n"})
        self.expect("tools/profkit/bad.cpp:2", "secure_getenv instead", tests={"tools/profkit/bad.cpp": '\nauto a = std::getenv("A");\n'})

    def test_calls_that_only_look_like_those(self):
        self.assertEqual(self.violations(changes={"impl/collect/good.hpp": '::secure_getenv("A"); // getenv("A")\nauto a = "system(1)"; file_system(a);\n'
                                                                      "clock.system(); reset_after_fork(); /* popen(a) */\n"}), [])

    def test_libraries_are_opened_by_name_or_absolute_path(self):
        for good in ('::dlopen("libcuda.so.1", RTLD_NOW);', 'constexpr char const* name = "libcupti.so.13";\n::dlopen(name, RTLD_NOW);',
                     "if (*path != '/') throw 1;\n::dlopen(path, RTLD_NOW);", "return path.front() == '/' ? ::dlopen(path.c_str(), RTLD_NOW) : nullptr;",
                     "::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);"):
            with self.subTest(good=good):
                self.assertEqual(self.violations(changes={"impl/collect/good.hpp": good + "\n"}), [])
        for bad in ('::dlopen("./libcuda.so.1", RTLD_NOW);', '::dlopen("lib/libcuda.so.1", RTLD_NOW);', '::dlopen("", RTLD_NOW);', "::dlopen(path, RTLD_NOW);",
                    "::dlopen((folder + name).c_str(), RTLD_NOW);", "::dlmopen(LM_ID_NEWLM, path, RTLD_NOW);", 'constexpr char const* path = "./a.so"; ::dlopen(path, RTLD_NOW);',
                    "if (*other != '/') throw 1; ::dlopen(path, RTLD_NOW);", "::dlopen(path, RTLD_NOW); f(RTLD_NOLOAD);"):
            with self.subTest(bad=bad):
                self.expect("include/profkit/impl/collect/bad.hpp:3", "neither a library's name", changes={"impl/collect/bad.hpp": bad + "\n"})

    def test_names(self):
        for good in ("// of all\n", 'auto text = "of";\n', "x.of();\n", "int max_of(int profile);\n", "int at_least_one;\n", "int most;\n"):
            with self.subTest(good):
                self.assertEqual(self.violations(changes={"impl/collect/good.hpp": good}), [])
        self.expect("include/profkit/impl/collect/bad.hpp:3", "name the parameter after what it is", changes={"impl/collect/bad.hpp": "int f(int of);\n"})
        for bad in ("least_named", "most_steps", "longest_norm", "highest_"):
            with self.subTest(bad):
                self.expect("include/profkit/impl/collect/bad.hpp:4", f"the name {bad}: limits", changes={"impl/collect/bad.hpp": f"/* a\n*/ int {bad};\n"})
        self.expect("tests/support/bad.hpp:1", "the name of", tests={"tests/support/bad.hpp": "int f(int of);\n"})

    def test_findings_are_silenced_with_a_reason(self):
        for good in ("// NOLINTNEXTLINE(cert-err34-c): the kernel writes it", "f(); // NOLINT(a-b, c-d): because of that",
                     "// NOLINTBEGIN(a-b): because of that\n// NOLINTEND(a-b)"):
            with self.subTest(good=good):
                self.assertEqual(self.violations(changes={"impl/collect/good.hpp": good + "\n"}), [])
        for bad in ("f();  // NOLINT", "f();  // NOLINT(a-b)", "// NOLINTNEXTLINE(a-b):", "// NOLINTNEXTLINE: it is so that way", "// NOLINT(*): it is so that way",
                    "// NOLINTBEGIN(a-b)"):
            with self.subTest(bad=bad):
                self.expect("include/profkit/impl/collect/bad.hpp:3", "NOLINT without a check and a reason", changes={"impl/collect/bad.hpp": bad + "\n"})

    def test_test_that_is_not_built(self):
        self.expect("tests/record/a.test.cpp:1", "is built by no list",
                    tests={"tests/units.cmake": "record/b.test.cpp", "tests/CMakeLists.txt": "c.test.cpp", "tests/record/a.test.cpp": "",
                           "tests/record/b.test.cpp": "", "tests/c.test.cpp": ""})


if __name__ == "__main__":
    unittest.main()
