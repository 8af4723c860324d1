#!/usr/bin/env bash
# Builds and runs the tests that need a GPU (gpu_check.* of ctest). Prints a table of PASS and FAIL with figures, and writes all results.
#   usage: scripts/gpu_check.sh OUT_DIR [TEXT_FILE]     TEXT_FILE: English text of about 1 MB to train on; without it that check is skipped
#   CHECKS="NAME..."     only these checks: tests/gpu/gpu_check.py --list names them
#   KILLS=200            number of programs that the check journal kills (default 20); 200 take about 8 minutes
#   PYTHON=python3       an interpreter with torch 2.11 and CUDA
#   NSYS=FILE            Nsight Systems; without it and without nsys on PATH, its checks are skipped
#   DEPENDENCIES=DIR     a folder made by scripts/lib/pack_dependencies.sh, where fmt, CLI11, Catch2 and nlohmann-json are not installed
# Needs nvcc, CMake 3.25, Ninja. About 15 minutes on an H200. CHECKS=long trains for 3 minutes and takes about 7; CHECKS=ranks_busy
# runs two ranks beside busy loops and takes about 4. No other run includes them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:?usage: scripts/gpu_check.sh OUT_DIR [TEXT_FILE]}
# shellcheck source=scripts/lib/gpu_build.sh
source "$root/scripts/lib/gpu_build.sh"

mkdir -p "$out"
out=$(cd "$out" && pwd)
selected=(-L '^gpu_check$' --no-tests=error)
if [ -n "${CHECKS:-}" ]; then
  known=$("$python" -B "$root/tests/gpu/gpu_check.py" --list | cut -d ' ' -f 1)
  for each in $CHECKS; do
    grep -qx -- "$each" <<<"$known" || { echo "error: no check '$each'. Valid: ${known//$'\n'/ }" >&2; exit 2; }
  done
  # shellcheck disable=SC2086
  selected+=(-C request -R "^gpu_check\\.($(echo $CHECKS | tr ' ' '|'))\$")
fi
gpu_build "$out" profkit_gpu_tests profkit_nsys profkit_gpu_programs example_cuda_streams example_cuda_graph profkit_program profkit_run profkit_run_ranges profkit_kernel_status profkit_launch_cost profkit_collect_tests profkit_samples_cost torch_checks bridge_cost transformer_train

export GPU_CHECK_OUT=$out GPU_CHECK_TEXT=${2:+$(realpath "$2")}
rm -f "$out/gpu_check.json"
status=0
# Print results immediately; the log has all output.
ctest --test-dir "$build" --verbose "${selected[@]}" 2>&1 | tee "$out/ctest.log" | sed -un 's/^[0-9]*: \(\[ *[0-9]* s\] .*\)/\1/p' || status=$?
sed -n '/^The following tests FAILED/,/^Errors/p' "$out/ctest.log" # also shows tests that ended without a result
[ ! -e "$out/gpu_check.md" ] || sed -n '/^| check |/,/^$/p' "$out/gpu_check.md"
exit "$status"
