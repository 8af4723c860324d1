# SPDX-License-Identifier: Apache-2.0
"""The cost of including a header: processor time of the compiler with -O2 -c, in alternating runs, and the object size."""
import os
import pathlib
import subprocess
import tempfile

# As in a target that links profkit::profkit, which compiles the code of sessions and reports elsewhere.
MAIN = """#define PROFKIT_CODE_ELSEWHERE
#include <profkit/profkit.hpp>

void work();

int main() {
  profkit::session session;
  for (profkit::step step : session) {
    PROF_SCOPE("work");
    work();
  }
  fmt::print("{}\\n", session.report());
}
"""

# Name and content of each file.
FILES = {
    "empty": "",
    "scope.hpp": "#include <profkit/scope.hpp>\n",
    "scope.hpp, one scope": "#include <profkit/scope.hpp>\nvoid work();\nvoid measured() {\n  PROF_SCOPE(\"scope\");\n  work();\n}\n",
    "main.cpp": MAIN,
    "fmt/format.h": "#include <fmt/format.h>\n",
    "nvtx3.hpp": "#include <nvtx3/nvtx3.hpp>\n",
    "nvtx3.hpp and fmt/format.h": "#include <nvtx3/nvtx3.hpp>\n#include <fmt/format.h>\n",
}


def processor_ms(command):
    """User and system time of the command and its children, in ms. Other programs influence it less than wall time."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def measure(compiler, include, nvtx_include, rounds, say):
    """{name: {"ms": [...], "object_bytes": n}}"""
    files = {name: text for name, text in FILES.items() if "nvtx" not in name or nvtx_include}
    return measure_files(files, ["-DFMT_HEADER_ONLY"], compiler, include, nvtx_include, rounds, say)


def measure_files(files, options, compiler, include, nvtx_include, rounds, say):
    """The same for these files."""
    found = {name: {"ms": []} for name in files}
    flags = ["-std=c++17", "-O2", *options, "-I", str(include)]
    if nvtx_include:
        flags += ["-isystem", str(nvtx_include)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, text in enumerate(files.values()):
            (folder / f"{number}.cpp").write_text(text)
        for turn in range(-1, rounds):  # the first run loads the headers into the page cache
            say(f"compile time: round {turn + 1} of {rounds}")
            order = list(enumerate(files))
            for number, file in order if turn % 2 == 0 else reversed(order):
                out = folder / f"{number}.o"
                taken = processor_ms([compiler, *flags, "-c", str(folder / f"{number}.cpp"), "-o", str(out)])
                if turn >= 0:
                    found[file]["ms"].append(round(taken, 1))
                found[file]["object_bytes"] = out.stat().st_size
    return found
