#!/usr/bin/env bash
# Builds and runs the benchmarks that need a GPU. Writes OUT_DIR/gpu_bench.json and gpu_bench.md, again after each round.
#   usage: bench/gpu_bench.sh OUT_DIR [SECONDS]      SECONDS: for all parts, without building (default 240)
#   PARTS="NAME..."      only these: gpu_bench.py --help lists them
#   CHECK=FILE           compare with this gpu_bench.json, such as that of docs/results/h200; exit code 1: an addition grew; 3: undecided
#   ALSO_BUILD="NAME..." more targets, such as profkit_gpu_tests
#   PYTHON=python3       an interpreter with torch 2.11 and CUDA; without torch, steps and Kineto are left out
#   NSYS=FILE            Nsight Systems; without it and without nsys on PATH, it is left out
#   DEPENDENCIES=DIR     a folder made by scripts/lib/pack_dependencies.sh, where fmt and CLI11 are not installed
# A second run with the same OUT_DIR skips finished parts. Needs nvcc, CMake 3.25, Ninja.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:---help} in
  -*) sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
out=$1
# shellcheck source=scripts/lib/gpu_build.sh
source "$root/scripts/lib/gpu_build.sh"

mkdir -p "$out"
out=$(cd "$out" && pwd)
# Fast builds first: if a later target fails, the others are measured.
targets="profkit_launch_cost profkit_gpu_scope_cost"
! "$python" -c 'import torch' 2>/dev/null || targets="$targets step_cost"
[ -z "${CHECK:-}" ] || targets="$targets profkit_program"
# shellcheck disable=SC2086
gpu_build "$out" $targets ${ALSO_BUILD:-} -- -k 0 || echo "some targets were not built; the others are measured"

# shellcheck disable=SC2086
exec "$python" -B "$root/bench/gpu_bench.py" --build "$build" --out "$out" --seconds "${2:-240}" ${PARTS:+--only $PARTS} ${CHECK:+--check "$CHECK"}
