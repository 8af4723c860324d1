#!/usr/bin/env bash
# Builds and runs everything that needs a GPU, prints a table of PASS and FAIL with figures, and writes it with all results.
#   usage: scripts/gpu_check.sh OUT_DIR [TEXT_FILE]     TEXT_FILE: English text of about 1 MB to train on; without it that check is left out
#   CHECKS="NAME..."     only these checks: gpu_check.py --help lists them
#   KILLS=200            how many programs the check journal kills, 20 unless told; 200 take about 8 minutes
#   PYTHON=python3       an interpreter that has torch 2.11 with CUDA
#   NSYS=FILE            Nsight Systems; without it, and none on PATH, its check is left out
#   DEPENDENCIES=DIR     a folder made by scripts/pack_dependencies.sh, where fmt, CLI11, Catch2 and nlohmann-json are not installed
# Needs nvcc, CMake 3.25, Ninja. About 12 minutes on an H200. CHECKS=long trains for 3 minutes and takes about 7; no other run includes it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:?usage: scripts/gpu_check.sh OUT_DIR [TEXT_FILE]}
source "$root/scripts/lib/gpu_build.sh"

mkdir -p "$out"
out=$(cd "$out" && pwd)
gpu_build "$out" profkit_gpu_tests profkit_nsys profkit_attribution_exact profkit_kernels_in_journal profkit_slower_scope example_cuda_streams example_cuda_graph profkit_program profkit_kernel_status profkit_launch_cost step_graph_check bridge_cost transformer_train

# shellcheck disable=SC2086
exec "$python" "$root/scripts/gpu_check.py" --build "$build" --out "$out" --nsys "${NSYS:-nsys}" ${2:+--text "$2"} ${CHECKS:+--only $CHECKS} ${KILLS:+--kills "$KILLS"}
