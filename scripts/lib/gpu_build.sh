# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this file share its variables
# Sourced: builds targets that need a GPU. Sets python and build.
#   gpu_build OUT_DIR TARGET...     the log is OUT_DIR/build.log
python=${PYTHON:-python3}
build=$root/build/gpu

gpu_build() {
  local out=$1 dependencies=${DEPENDENCIES:-$root/.dependencies} prefixes
  shift
  mkdir -p "$out" "$build"
  prefixes=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)')
  [ ! -d "$dependencies" ] || prefixes="$prefixes;$dependencies/usr;$dependencies/catch2"
  {
    time cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$prefixes" -DPROFKIT_BUILD_BENCHMARKS=ON \
      "-DPython3_EXECUTABLE=$(command -v "$python")" -DCMAKE_CUDA_ARCHITECTURES=90
    time cmake --build "$build" --target "$@"
  } >"$out/build.log" 2>&1 || { tail -n 40 "$out/build.log"; return 1; }
}
