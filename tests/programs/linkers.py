#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links a program in all ways (static, static-pie, pie, no-pie; ld.bfd, gold, lld; options of the CMake target and of pkg-config), and
checks that it records a scope. Dynamic programs must export the recorder.

usage: linkers.py OBJECT COMPILER CODE SYMBOLS PC
  OBJECT   tests/programs/alive.cpp, compiled for a shared library, as most static libraries are
  CODE     the code of sessions, as a library
  SYMBOLS  the list of symbols that the CMake target gives to the linker
  PC       profkit.pc
Exit code 4: no linker works.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODES = ["-static", "-static-pie", "-pie", "-no-pie"]
LINKERS = ["bfd", "gold", "lld"]


def can_link(compiler, folder, linker, mode):
    """Links an empty program, because gold does not support -static-pie and the static C library may be missing."""
    empty = folder / "empty.cpp"
    empty.write_text("int main() {}\n")
    program = folder / "empty"
    done = subprocess.run([compiler, "-fPIC", empty, "-o", program, mode, f"-fuse-ld={linker}"], capture_output=True, check=False)
    return done.returncode == 0 and subprocess.run([program], check=False).returncode == 0


def main():
    thing, compiler, code, symbols, pc = sys.argv[1:]
    libs = re.search(r"^Libs: (.*)$", pathlib.Path(pc).read_text(encoding="utf-8"), re.MULTILINE).group(1).split()
    libs = [each for each in libs if not each.startswith(("-L", "-lprofkit_code"))]  # CODE is that library, which is not installed
    routes = {"CMake": ["-pthread", "-ldl", f"-Wl,--dynamic-list={symbols}"], "pkg-config": libs}
    tried = 0
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "program"
        for linker in LINKERS:
            if shutil.which(f"ld.{linker}") is None:
                print(f"no ld.{linker}")
                continue
            for mode in MODES:
                if not can_link(compiler, folder, linker, mode):
                    print(f"{linker} {mode}: not possible here")
                    continue
                for route, options in routes.items():
                    what = f"{linker} {mode}, options of {route}"
                    tried += 1
                    linked = subprocess.run([compiler, thing, code, "-o", program, mode, f"-fuse-ld={linker}", *options],
                                            capture_output=True, text=True, check=False)
                    if linked.returncode != 0:
                        failures.append(f"{what}: does not link: {linked.stderr.strip()[-300:]}")
                        continue
                    done = subprocess.run([program], capture_output=True, text=True, check=False, env={})
                    if done.returncode != 0 or done.stdout != "1 scope\n":
                        failures.append(f"{what}: exit status {done.returncode}, {done.stdout!r} {done.stderr!r}")
                    if "static" in mode:
                        continue
                    exported = subprocess.run(["nm", "--dynamic", program], capture_output=True, text=True, check=True).stdout
                    if not re.search(r" [A-TV-Zuvw] _ZN7profkit[0-9]*layout_[0-9]*8recorderE$", exported, re.MULTILINE):
                        failures.append(f"{what}: does not export the recorder")
    print(f"{tried} programs were linked")
    print("\n".join(failures))
    return 1 if failures else 0 if tried else 4


if __name__ == "__main__":
    sys.exit(main())
