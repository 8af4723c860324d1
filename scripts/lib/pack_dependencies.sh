#!/usr/bin/env bash
# Packs the dependencies of scripts/gpu_check.sh except CUDA and torch, for a machine without a package manager: the Debian packages of fmt,
# CLI11, protozero, zlib and nlohmann-json, and the Catch2 that scripts/test.sh builds. Run scripts/test.sh first; it installs them.
#   usage: scripts/lib/pack_dependencies.sh [DIR]     default: .dependencies, which git ignores
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
to=${1:-$root/.dependencies}
# shellcheck disable=SC2010
catch2=${CATCH2:-$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/profkit/catch2-* | grep -vE -- "-(aarch64|arm64)$" | tail -n 1)}

if [ $# -gt 0 ] && [ -e "$to" ]; then
  echo "error: $to exists; name a new folder" >&2
  exit 1
fi
rm -rf "$to"
mkdir -p "$to/usr"
for package in libfmt-dev libfmt9 libcli11-dev libprotozero-dev zlib1g-dev nlohmann-json3-dev; do
  dpkg -L "$package" | grep -vE '^/usr/share/(doc|man)' | while read -r path; do
    [ ! -d "$path" ] || continue
    mkdir -p "$to$(dirname "$path")"
    # The target of an absolute link is in another package.
    case $(readlink "$path") in /*) cp -L "$path" "$to$path" ;; *) cp -a "$path" "$to$path" ;; esac
  done
done
cp -a "$catch2" "$to/catch2"
du -sh "$to"
