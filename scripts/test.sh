#!/usr/bin/env bash
# Installs missing packages, builds everything and runs all tests. Takes about an hour on two cores. The first run also downloads about 3 GiB.
#   usage: scripts/test.sh [STAGE]...      stages: release asan-ubsan tsan aarch64 (default: all)
#   PROFKIT_VENV=DIR                       an existing virtual environment with torch
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

stages=(release asan-ubsan tsan aarch64)
wanted=("$@")
((${#wanted[@]} > 0)) || wanted=("${stages[@]}")
for stage in "${wanted[@]}"; do
  [[ " ${stages[*]} " == *" $stage "* ]] || die "no stage '$stage'. Valid: ${stages[*]}"
done

passed=0
failed=0
skipped=0
summary=()

# count STAGE PASSED FAILED SKIPPED [REMARK]
count() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  skipped=$((skipped + $4))
  summary+=("$(printf '  %-12s %4d passed %4d failed %4d skipped  %s' "$1" "$2" "$3" "$4" "${5:-}")")
}

# Counts the passed, failed and skipped tests in a JUnit file of ctest, and prints the end of the output of those that failed. A test that
# could not run counts as failed.
read_results() {
  python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree

counts = {"passed": 0, "failed": 0, "skipped": 0}
for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    skip = case.find("skipped")
    if case.get("status") == "run":
        counts["passed"] += 1
    elif skip is not None and skip.get("message", "").startswith("SKIP_"):
        counts["skipped"] += 1
        print("skipped: " + case.get("name"), file=sys.stderr)
    else:
        counts["failed"] += 1
        print("failed: " + case.get("name"), file=sys.stderr)
        for line in (case.findtext("system-out") or "").strip().splitlines()[-20:]:
            print("  " + line[:200], file=sys.stderr)
print(counts["passed"], counts["failed"], counts["skipped"])
PYTHON
}

# stage NAME PRESET [CONFIGURE ARGUMENT]...
stage() {
  local name=$1 preset=$2 begin=$SECONDS step results counts line command status=0
  shift 2
  local log=$logs/$name
  for step in configure build test; do
    case $step in
      configure) command=(cmake --preset "$preset" "${common[@]}" "$@") ;;
      build) command=(cmake --build --preset "$preset" -j "$jobs" -- -k 0) ;;
      test)
        results=$root/build/$preset/results.xml
        rm -f "$results"
        command=(ctest --preset "$preset" -j "$((jobs + 1))" --output-junit "$results") # some tests wait
        ;;
    esac
    logged "$name: $step" "$log-$step.log" "${wrapper[@]}" "${command[@]}" && continue
    status=1
    show_failure "$log-$step.log"
    if [ "$step" != test ] || [ ! -s "$results" ]; then
      count "$name" 0 1 0 "$step failed, see ${log#"$root"/}-$step.log"
      return
    fi
  done
  counts=$(read_results "$results" 2>"$log-results.txt") || counts="0 1 0"
  ((status == 0)) || counts=${counts/ 0 / 1 } # ctest itself failed
  while IFS= read -r line; do say "    $line"; done <"$log-results.txt"
  # shellcheck disable=SC2086 # three words
  count "$name" $counts "$((SECONDS - begin)) s"
}

# coverage PRESET: prints the coverage of include/profkit by the tests of that stage.
coverage() {
  local log=$logs/coverage.log
  if logged "coverage" "$log" python3 "$root/scripts/lib/coverage.py" "$root/build/$1"; then
    count coverage 1 0 0 "$(tail -n 1 "$log")"
  else
    count coverage 0 1 0 "$(tail -n 1 "$log")"
  fi
  cat "$log"
}

need_packages python3=python3
[[ " ${wanted[*]} " != *" release "* ]] || start_torch
need_packages g++=g++ cmake=cmake ninja=ninja-build objdump=binutils valgrind=valgrind clang++=clang pkg-config=pkg-config fakeroot=fakeroot dpkg-shlibdeps=dpkg-dev file=file git=git libfmt-dev libcli11-dev libprotozero-dev zlib1g-dev nlohmann-json3-dev
if [[ " ${wanted[*]} " == *" release "* ]]; then
  need_packages doxygen=doxygen clang-tidy=clang-tidy clang-format=clang-format shellcheck=shellcheck codespell=codespell libgloo-dev
  want_packages g++-11=g++-11 g++-12=g++-12 clang++-13=clang-13 clang++-14=clang-14 clang++-15=clang-15 clang++-16=clang-16 clang++-19=clang-19 clang++-22=clang-22
  want_packages chromium=chromium
  want_packages mpicxx.openmpi=libopenmpi-dev mpirun.openmpi=openmpi-bin mpicxx.mpich=libmpich-dev mpirun.mpich=mpich
  need_conan
  want_promtool
fi
want_packages ld.lld=lld
[[ " ${wanted[*]} " != *san* ]] || need_sanitizers
[[ " ${wanted[*]} " != *" aarch64 "* ]] || want_packages aarch64-linux-gnu-g++=g++-aarch64-linux-gnu qemu-aarch64=qemu-user
need_cmake
need_catch2
prefixes=$catch2
if [[ " ${wanted[*]} " == *" release "* ]]; then
  need_torch
  need_perfetto
  need_nvcc
  prefixes="$catch2;$libtorch"
fi
have nsys || say "no nsys on PATH: its tests are skipped"

cd "$root"
common=("-DCMAKE_PREFIX_PATH=$prefixes")
! have ccache || common+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# Programs with sanitizers are ten times as large, and GNU ld takes five times as long to link them. Line numbers in sanitizer output take a
# fifth of the compile time, so only the presets have them.
linker=
! have ld.lld || linker=-fuse-ld=lld
wrapper=()

for stage in "${wanted[@]}"; do
  # CMake cannot change the compiler of a build folder.
  [[ "$stage" != *san* ]] || grep -qs "^CMAKE_CXX_COMPILER:.*[/=]$clang\$" "build/$stage/CMakeCache.txt" || rm -rf "build/$stage"
  case $stage in
    release) stage release ci "-DPython3_EXECUTABLE=$python" "-DPROFKIT_PYTHON=$python" "-DPROFKIT_CONAN=$conan" ;;
    asan-ubsan)
      rm -rf build/asan-ubsan/coverage # files of an earlier run
      stage asan-ubsan asan-ubsan -DCMAKE_CXX_FLAGS_DEBUG= -DPROFKIT_FUZZ_SECONDS=5 "-DCMAKE_CXX_COMPILER=$clang" "-DCMAKE_EXE_LINKER_FLAGS=$linker"
      coverage asan-ubsan
      ;;
    tsan)
      # The runtime of the sanitizer does not support the address space layout of some kernels.
      ! setarch "$(uname -m)" -R true 2>/dev/null || wrapper=(setarch "$(uname -m)" -R)
      # The runtime of g++ 12 may hold its own locks across fork. The shared one of clang++ permits programs with their own operator new.
      runtime="-shared-libsan -Wl,-rpath,$("$clang" -print-runtime-dir)"
      stage tsan tsan -DCMAKE_CXX_FLAGS_DEBUG= "-DCMAKE_CXX_COMPILER=$clang" "-DCMAKE_EXE_LINKER_FLAGS=$linker $runtime"
      wrapper=()
      ;;
    aarch64)
      need_foreign_packages
      if [ -n "$foreign" ]; then
        stage aarch64 aarch64 "-DCMAKE_PREFIX_PATH=$foreign/usr;$foreign/catch2" "-Dfmt_DIR=$(dirname "$(find "$foreign/usr" -name fmt-config.cmake)")"
      else
        say "no cross compiler, emulator or packages for aarch64: its tests are skipped"
      fi
      ;;
  esac
done

echo
say "summary"
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
