#!/usr/bin/env bash
# Measures the cost of profkit on this machine. Writes docs/results/bench/host.json and the tables of docs/overhead.md and
# docs/results/bench/host.md. Installs missing packages. Takes 10 minutes on two idle cores, and half an hour for projects.
#   usage: scripts/bench.sh [--check] [--quick] [SECTION]...
#   sections: scopes instructions nsys memory first_use compile projects analysis trace peers (default: all)
#   peers: the same loop with LTTng-UST, NVTX, and with Tracy, Perfetto, Caliper and spall if their sources can be fetched
#   --check                compare with bench/recorded.json instead; exit code 1: a figure is worse; 3: undecided. The last line says which
#   --quick                fewer rounds
#   CXX=g++                the compiler
#   PEER_SOURCES=FOLDER    use sources of peers in FOLDER/tracy and so on instead of fetching them
#   NSYS=FILE              Nsight Systems; without it and without nsys on PATH, its section is skipped
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

compiler=${CXX:-g++}
build=$root/build/bench
need_packages "$compiler=g++" cmake=cmake ninja=ninja-build python3=python3 valgrind=valgrind strace=strace libfmt-dev libbenchmark-dev zlib1g-dev
if [[ " $* " == *" peers "* || (" $* " != *" "[a-z]* && " $* " != *" --check "*) ]]; then # with the section peers
  (need_packages lttng=lttng-tools liblttng-ust-dev) || say "no LTTng: the peers are measured without it"
fi
compares=OFF
if [[ " $* " == *" --check "* ]]; then # by the program profkit
  compares=ON
  need_packages libcli11-dev nlohmann-json3-dev
fi
need_cmake
need_nvtx
say "NVTX headers in ${nvtx:-no folder: sections that need them are skipped}"

configure=(cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$compiler" -DPROFKIT_BUILD_TESTS=OFF
  -DPROFKIT_BUILD_EXAMPLES=OFF "-DPROFKIT_BUILD_PROGRAM=$compares" -DPROFKIT_BUILD_PEERS=ON -DCMAKE_CUDA_COMPILER= "-DPROFKIT_NVTX_INCLUDE=$nvtx")
! have ccache || configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
must_log "configure" "$logs/bench-configure.log" "${configure[@]}"
build_command=(cmake --build "$build" -j "$jobs")
sections=()
for each in "$@"; do [[ $each == -* ]] || sections+=("$each"); done
if [ "${sections[*]:-}" = peers ]; then
  build_command+=(--target profkit_peers)
  [ $compares = OFF ] || build_command+=(profkit_program)
fi
must_log "build" "$logs/bench-build.log" "${build_command[@]}"

exec python3 -B "$root/bench/bench_run.py" --build "$build" --compiler "$compiler" --nsys "${NSYS:-nsys}" ${nvtx:+--nvtx "$nvtx"} "$@"
