#!/usr/bin/env bash
# Trains a small Transformer on the text of this repository and shows where each step spends time, on the GPU or else on the CPU.
# Installs missing packages and builds the trainer first. The first run downloads about 3 GiB. Training takes at most a minute.
#   usage: scripts/demo.sh [OPTION]...     options of transformer_train that replace those below: --data FILE, --size small, --max-seconds 0, ...
#   PROFKIT_VENV=DIR                       an existing virtual environment with torch
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

build=$root/build/demo
given=("$@")
arguments=()

# default OPTION VALUE: adds the option unless it is given
default() {
  local each
  for each in "${given[@]}"; do
    case $each in "$1" | "$1"=*) return ;; esac
  done
  arguments+=("$1" "$2")
}

# prints the text files of this repository
write_text() {
  (
    cd "$root"
    find LICENSE ./*.md docs include examples tests scripts cmake -type f \
      \( -name LICENSE -o -name '*.md' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.cmake' -o -name '*.py' -o -name '*.sh' \) -print0 |
      LC_ALL=C sort -z | xargs -0 cat
  ) >"$1"
}

need_packages g++=g++ cmake=cmake ninja=ninja-build python3=python3 libfmt-dev libcli11-dev libprotozero-dev zlib1g-dev
need_cmake
need_torch
need_nvcc

configure=(cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$libtorch" -DPROFKIT_BUILD_TESTS=OFF
  -DPROFKIT_BUILD_BENCHMARKS=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")
! have ccache || configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
must_log "configuring" "$logs/demo-configure.log" "${configure[@]}"
must_log "building the trainer" "$logs/demo-build.log" cmake --build "$build" -j "$jobs" --target transformer_train

write_text "$build/text.txt"
default --size tiny
default --mode train
default --precision fp32
default --optimizer fused_adamw
default --device auto
default --data "$build/text.txt"
default --seed 1
default --out "$build/out"
default --warmup 5
default --max-seconds 30
if have nvidia-smi && nvidia-smi -L 2>/dev/null | grep -q GPU; then
  say "GPU: $(nvidia-smi --query-gpu=name --format=csv,noheader | sed -n 1p)"
  default --ctx 256
  default --batch 16
  default --lr 0.001
  default --steps 500
else
  say "no GPU: training on $(nproc) CPU cores"
  default --ctx 128
  default --batch 4
  default --lr 0.001
  default --steps 100
fi

trainer=$build/examples/transformer_train/transformer_train
arguments+=("${given[@]}")
say "${trainer#"$root"/} ${arguments[*]}"
echo
status=0
"$trainer" "${arguments[@]}" || status=$?
echo
((status == 0)) || die "the trainer ended with exit code $status"

out=
previous=
for each in "${arguments[@]}"; do
  case $each in --out=*) out=${each#--out=} ;; esac
  [ "$previous" != --out ] || out=$each
  previous=$each
done
say "done. The same figures as files, in ${out#"$root"/}: $(cd "$out" && printf '%s ' *)"
