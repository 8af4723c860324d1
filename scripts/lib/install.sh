# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this file share its variables
# Sourced after common.sh: installs missing packages. Existing ones are used unchanged.

torch_version=2.11.0
catch2_version=3.7.1
nvtx_version=13.0.85
perfetto_version=0.59.1
conan_version=2.34.0
catch2_suite=trixie # the Debian release whose source package is Catch2 $catch2_version

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "this command needs root, and there is no sudo: $*"
  fi
}

# Updates the lists of packages, once in a run.
update_package_lists() {
  [ -z "${has_new_package_lists:-}" ] || return 0
  has_new_package_lists=yes
  logged "updating the package lists" "$logs/apt-update.log" as_root apt-get -q -o DPkg::Lock::Timeout=300 update || true
}

# need_packages NAME...: installs a Debian package, or with "COMMAND=PACKAGE" the package if the command is missing.
need_packages() {
  local each missing=()
  for each in "$@"; do
    case $each in
      *=*) have "${each%%=*}" || missing+=("${each#*=}") ;;
      *) ! have dpkg-query || dpkg-query -W -f '${Status}\n' "$each" 2>/dev/null | grep -q 'ok installed' || missing+=("$each") ;;
    esac
  done
  ((${#missing[@]} > 0)) || return 0
  have apt-get || die "not found: ${missing[*]}. These are names of Debian packages; install the equivalents of your system."
  update_package_lists
  must_log "installing ${missing[*]}" "$logs/apt-install.log" \
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
}

# want_packages COMMAND=PACKAGE...: the same for optional packages, if the system offers them. Tests that need a missing one are skipped.
want_packages() {
  local each missing=() offered=()
  for each in "$@"; do have "${each%%=*}" || missing+=("$each"); done
  ((${#missing[@]} > 0)) && have apt-cache || return 0
  update_package_lists
  for each in "${missing[@]}"; do [ -z "$(apt-cache madison "${each#*=}")" ] || offered+=("$each"); done
  ((${#offered[@]} == 0)) || (need_packages "${offered[@]}") || say "not installed: ${offered[*]#*=}; their tests are skipped"
}

# Sets clang to a clang++ with sanitizers and coverage: the default one, or clang++-22, which compiles a fifth faster, if the system offers it.
need_sanitizers() {
  clang="clang++-22"
  want_packages "$clang"=clang-22 llvm-cov-22=llvm-22
  have "$clang" && have llvm-cov-22 && (need_packages libclang-rt-22-dev) && return
  clang="clang++"
  need_packages llvm-cov=llvm libclang-rt-dev
}

need_cmake() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version //p')
  [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] || die "CMake 3.25 or newer is required; found $version"
}

has_catch2() {
  local probe
  probe=$(mktemp -d)
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(probe LANGUAGES NONE)\nfind_package(Catch2 3.3 REQUIRED)\n' >"$probe/CMakeLists.txt"
  local found=0
  cmake -S "$probe" -B "$probe/build" -G Ninja -DCMAKE_PREFIX_PATH="$catch2" >/dev/null 2>&1 || found=1
  rm -rf "$probe"
  return "$found"
}

# Prints Debian's archive from the apt configuration of this machine, or nothing.
debian_archive() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -r "$file" ] || sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' "$file"
  done | awk '/\/debian\/?$/ && !found { print; found = 1 }'
}

# build_catch2 ARCHIVE FOLDER [CMAKE ARGUMENT]...: downloads the source package of Catch2 and builds it. Uses separate package lists, so
# that those of the machine do not change.
build_catch2() {
  local archive=$1 to=$2 work
  shift 2
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/source"
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$archive" "$catch2_suite" >"$work/suite.sources"
  local apt=(apt-get -q -o Dir::State::Lists="$work/lists" -o Dir::Etc::sourcelist="$work/suite.sources" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update &&
    (cd "$work" && "${apt[@]}" source --download-only catch2) &&
    tar -xf "$work"/catch2_*.orig.tar.* -C "$work/source" --strip-components=1 &&
    cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=17 -DBUILD_TESTING=OFF \
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=30 -DCATCH_INSTALL_DOCS=OFF -DCMAKE_INSTALL_PREFIX="$to.part" "$@" &&
    cmake --build "$work/build" --target install &&
    rm -rf "$to" && mv "$to.part" "$to"
  local status=$?
  rm -rf "$work"
  return "$status"
}

# Sets catch2 to a folder for CMAKE_PREFIX_PATH.
need_catch2() {
  catch2=$cache/catch2-$catch2_version
  has_catch2 && return
  local archive
  archive=$(debian_archive)
  if have apt-get && [ -n "$archive" ]; then
    logged "building Catch2 $catch2_version, once (about a minute)" "$logs/catch2.log" build_catch2 "$archive" "$catch2" && has_catch2 && return
    show_failure "$logs/catch2.log"
  fi
  say "Catch2 3 is not installed and cannot be built from a Debian package; CMake will try to fetch it"
}

# Sets foreign to a folder with Catch2 and headers for aarch64, separate from those of this machine. Sets it to "" if they are not
# available, or without a compiler or an emulator.
need_foreign_packages() {
  local archive
  foreign=
  archive=$(debian_archive)
  have aarch64-linux-gnu-g++ && have qemu-aarch64 && have dpkg-query && [ -n "$archive" ] || return 0
  local catch2_there=$cache/catch2-$catch2_version-aarch64
  [ -d "$catch2_there" ] || logged "building Catch2 $catch2_version for aarch64, once" "$logs/catch2-aarch64.log" build_catch2 "$archive" "$catch2_there" \
    "-DCMAKE_TOOLCHAIN_FILE=$root/cmake/aarch64-linux-gnu.cmake" || return 0
  rm -rf "$cache/aarch64"
  CATCH2=$catch2_there "$root/scripts/lib/pack_dependencies.sh" "$cache/aarch64" >"$logs/aarch64.log" 2>&1 || return 0
  foreign=$cache/aarch64
}

# version_in_venv PACKAGE: prints the version, or nothing if the package is missing.
version_in_venv() {
  "$python" -c 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]).split("+")[0])' "$1" 2>/dev/null || true
}

make_venv() {
  local base=python3
  if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
    need_packages python3-venv
    base=/usr/bin/python3
  fi
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "torch $torch_version needs Python 3.10 or newer"
  "$base" -m venv "$venv" || die "cannot make a virtual environment in $venv"
}

# Installs torch into a virtual environment, unless it is there. PROFKIT_VENV names an environment to use instead of one in the cache.
install_torch() {
  venv=${PROFKIT_VENV:-$cache/venv}
  python=$venv/bin/python
  [ "$(version_in_venv torch)" != "$torch_version" ] || [ -z "$(version_in_venv numpy)" ] || return 0
  [ -z "${PROFKIT_VENV:-}" ] || die "PROFKIT_VENV=$venv has no torch $torch_version with numpy"
  local free_gib
  free_gib=$(($(df -Pk "$cache" | awk 'NR == 2 { print $4 }') / 1048576))
  ((free_gib >= 12)) || die "torch needs about 12 GiB of disk with its downloads, $cache has $free_gib GiB"
  "$python" -m pip --version >/dev/null 2>&1 || make_venv
  must_log "installing torch $torch_version into $venv, once (a download of about 3 GiB)" "$logs/torch.log" \
    "$python" -m pip install --progress-bar off --disable-pip-version-check "torch==$torch_version" numpy
}

# Begins to install torch in the background: it takes a minute of one processor. need_torch waits for it.
start_torch() {
  (install_torch) &
  torch_installer=$!
}

# Sets python, from a virtual environment with torch, and libtorch, a folder for CMAKE_PREFIX_PATH.
need_torch() {
  [ -z "${torch_installer:-}" ] || wait "$torch_installer" || die "torch was not installed, see above"
  install_torch
  libtorch=$("$python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))')/share/cmake
  say "torch $torch_version in $venv"
}

# LibTorch's CMake files need nvcc of the CUDA release that it was built for. If this machine has none, NVIDIA's Python packages serve as a
# toolkit: they contain the same files. Only the library names that a linker searches for must be added.
need_nvcc() {
  local lib major at
  lib=$(dirname "$(dirname "$libtorch")")/lib
  [ -e "$lib/libtorch_cuda.so" ] || return 0
  major=$(version_in_venv cuda-toolkit)
  major=${major%%.*}
  for at in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    if [ -x "$at" ] && "$at" --version | grep -q "release ${major:-}"; then
      PATH=$(dirname "$at"):$PATH
      return
    fi
  done

  local toolkit
  toolkit=$(dirname "$(dirname "$lib")")/nvidia/cu$major
  if [ ! -x "$toolkit/bin/nvcc" ] || [ ! -x "$toolkit/nvvm/bin/cicc" ] || [ ! -e "$toolkit/include/cuda_profiler_api.h" ]; then
    must_log "no nvcc $major on this machine: installing NVIDIA's compiler into $venv (about 100 MiB)" "$logs/nvcc.log" \
      "$python" -m pip install --progress-bar off --disable-pip-version-check "cuda-toolkit[nvcc,nvvm,crt,cccl,profiler]==$(version_in_venv cuda-toolkit)"
  fi
  ln -sfn lib "$toolkit/lib64"
  for at in "$toolkit"/lib/lib*.so.*; do
    [ -e "${at%%.so.*}.so" ] || ln -s "$(basename "$at")" "${at%%.so.*}.so"
  done
  export CUDA_HOME=$toolkit CUDA_PATH=$toolkit CUDAToolkit_ROOT=$toolkit CUDACXX=$toolkit/bin/nvcc
  PATH=$toolkit/bin:$PATH
  say "CUDA toolkit: Python packages in $toolkit"
}

# Installs Google's trace protos, for the test that decodes the compact trace; without them it is skipped. Call it after need_torch.
need_perfetto() {
  [ "$(version_in_venv perfetto)" != "$perfetto_version" ] || return 0
  if [ -n "${PROFKIT_VENV:-}" ]; then
    say "PROFKIT_VENV=$venv has no perfetto $perfetto_version: the test that decodes traces is skipped"
    return 0
  fi
  logged "installing perfetto $perfetto_version into $venv" "$logs/perfetto.log" \
    "$python" -m pip install --progress-bar off --disable-pip-version-check "perfetto==$perfetto_version" || return 0
}

# Sets conan to the program in a separate environment. Sets it to "" if it is not available; its test is then omitted.
need_conan() {
  local folder=$cache/conan-$conan_version
  conan=$folder/bin/conan
  [ ! -x "$conan" ] || return 0
  python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages python3-venv
  python3 -m venv "$folder" && logged "installing conan $conan_version into $folder" "$logs/conan.log" \
    "$folder/bin/python" -m pip install --progress-bar off --disable-pip-version-check "conan==$conan_version" || conan=
}

# unpack_promtool FILE: takes promtool out of Debian's package, which is not installed, because it would start a server.
unpack_promtool() {
  local work
  work=$(mktemp -d)
  (cd "$work" && apt-get -q download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool >promtool) &&
    chmod +x "$work/promtool" && mv "$work/promtool" "$1"
  local status=$?
  rm -rf "$work"
  return "$status"
}

# Sets PROMTOOL, which checks metrics, if the system has it or offers its package (a download of 19 MB). Otherwise its test is skipped.
want_promtool() {
  export PROMTOOL=promtool
  ! have promtool || return 0
  PROMTOOL=$cache/promtool
  [ ! -x "$PROMTOOL" ] && have apt-cache && have dpkg-deb || return 0
  update_package_lists
  [ -z "$(apt-cache madison prometheus)" ] || logged "unpacking promtool, once" "$logs/promtool.log" unpack_promtool "$PROMTOOL" || true
}

# Sets nvtx to the folder of NVTX's headers, from a CUDA toolkit or NVIDIA's Python package. Sets it to "" if they are not available.
need_nvtx() {
  local each
  for each in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda-*/include "$cache"/venv/lib/python3*/site-packages/nvidia/cu*/include \
    "$cache"/nvtx/nvidia/*/include; do
    nvtx=$each
    [ ! -e "$nvtx/nvtx3/nvtx3.hpp" ] || return 0
  done
  nvtx=
  logged "no CUDA toolkit: installing the headers of NVTX into $cache/nvtx" "$logs/nvtx.log" \
    python3 -m pip install --progress-bar off --disable-pip-version-check --target "$cache/nvtx" "nvidia-nvtx==$nvtx_version" || return 0
  for each in "$cache"/nvtx/nvidia/*/include; do
    [ ! -e "$each/nvtx3/nvtx3.hpp" ] || nvtx=$each
  done
}
