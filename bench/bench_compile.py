# SPDX-License-Identifier: Apache-2.0
"""The cost of including a header: processor time of the compiler with -O2 -c, in alternating runs, and the object size."""
import os
import pathlib
import subprocess
import tempfile

MAIN = """#include <profkit/profkit.hpp>

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


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(programs CXX)
add_subdirectory({root} profkit EXCLUDE_FROM_ALL)
foreach(number RANGE 1 {programs})
  add_executable(program_${{number}} main.cpp work.cpp code.cpp)
  target_link_libraries(program_${{number}} PRIVATE {library})
endforeach()
"""


def measure_projects(compiler, root, rounds, say):
    """Processor time of building CMake projects (Release) with some programs, each with a session and a report: with the code of sessions
    compiled once, and in each program. {number of programs: {library: {"s": [...], "bytes": bytes of all programs}}}"""
    found = {}
    for programs in (1, 2, 4):
        for library in ("profkit::profkit", "profkit::headers"):
            each = found.setdefault(str(programs), {}).setdefault(library, {"s": []})
            for turn in range(rounds):
                say(f"projects: {programs} programs with {library}, round {turn + 1} of {rounds}")
                with tempfile.TemporaryDirectory() as name:
                    folder = pathlib.Path(name)
                    (folder / "CMakeLists.txt").write_text(PROJECT.format(root=root, programs=programs, library=library))
                    (folder / "main.cpp").write_text(MAIN)
                    is_own = library == "profkit::headers"
                    (folder / "code.cpp").write_text("#include <profkit/code.hpp>\n" if is_own else "")
                    (folder / "work.cpp").write_text("void work() {}\n")
                    subprocess.run(["cmake", "-S", name, "-B", f"{name}/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                                    f"-DCMAKE_CXX_COMPILER={compiler}"], check=True, stdout=subprocess.DEVNULL)
                    each["s"].append(round(processor_ms(["cmake", "--build", f"{name}/build", "--", "--quiet"]) / 1000, 2))
                    each["bytes"] = sum(file.stat().st_size for file in folder.glob("build/program_*"))
    return found


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
