#!/usr/bin/env bash
# Moves the installed library, compiles a program with pkg-config's flags for it, and runs the program.
#   usage: pkg_config.sh PREFIX WORK_DIR VERSION COMPILER [CODE]      CODE: the compiled code of sessions, if it is not in PREFIX
# Exit code 77: this machine has no pkg-config.
set -euo pipefail
prefix=$1 work=$2/moved_tree version=$3 compiler=$4 code=("${@:5}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cp -a "$prefix" "$work/moved"
export PKG_CONFIG_PATH=$work/moved/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

said=$(pkg-config --modversion profkit)
[ "$said" = "$version" ] || { echo "error: profkit.pc says that this is version $said; it is $version"; exit 1; }
read -ra compile <<<"$(pkg-config --cflags profkit)"
read -ra link <<<"$(pkg-config --libs profkit)"
set -x
"$compiler" -std=c++17 "${compile[@]}" "$here/consumer/main.cpp" -o "$work/consumer" "${code[@]}" "${link[@]}"
PROFKIT=warmup=1,steps=3,report=full "$work/consumer" | grep consumed
# Plug-ins that the program opens must record into its recorder.
nm --dynamic "$work/consumer" | grep -E ' [A-TV-Zuvw] _ZN7profkit[0-9]*layout_[0-9]*8recorderE$'
