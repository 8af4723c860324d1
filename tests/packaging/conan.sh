#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the package of packaging/conan and builds its test_package with it. No remote is asked, so fmt is the distribution's.
#   usage: conan.sh SOURCE_DIR WORK_DIR CONAN
set -euo pipefail
source=$1 work=$2/conan conan=$3
rm -rf "$work"
mkdir -p "$work"
export CONAN_HOME=$work/home
# A folder of its own for what the test builds.
cp -a "$source/packaging/conan/test_package" "$work/test_package"
"$conan" profile detect
"$conan" create "$source/packaging/conan" --no-remote -tf "$work/test_package" -o '&:fmt=system' -c tools.cmake.cmaketoolchain:generator=Ninja
package=$(find "$work/home/p" -path '*/p/share/cmake/profkit/profkit-config.cmake')
[ "$(wc -l <<<"$package")" = 1 ] && [ -n "$package" ]
# Nothing but what is installed, and what Conan says of it.
find "$(dirname "$package")/../../.." -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | diff - <(printf '%s\n' conaninfo.txt conanmanifest.txt include licenses share)
