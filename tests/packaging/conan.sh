#!/usr/bin/env bash
# Builds the package of packaging/conan and its test_package. Uses no remote, so fmt is the distribution's.
#   usage: conan.sh SOURCE_DIR WORK_DIR CONAN CODE       CODE: the compiled code of sessions and reports
set -euo pipefail
source=$1 work=$2/conan conan=$3 code=$4
rm -rf "$work"
mkdir -p "$work"
export CONAN_HOME=$work/home
# A separate folder for the packages of the test.
cp -a "$source/packaging/conan/test_package" "$work/test_package"
"$conan" profile detect
# Instead of compiling the code again: the launcher of the compiler copies its objects from CODE.
mkdir "$work/objects"
(cd "$work/objects" && ar x "$code")
cat >"$work/launcher" <<'END'
#!/usr/bin/env bash
for each; do
  object=$(dirname "$0")/objects/$(basename -- "$each")
  [ ! -e "$object" ] || exec cp "$object" "$each"
done
exec "$@"
END
chmod +x "$work/launcher"
"$conan" create "$source/packaging/conan" --no-remote -tf "$work/test_package" -o '&:fmt=system' -c tools.cmake.cmaketoolchain:generator=Ninja \
  -c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_COMPILER_LAUNCHER': '$work/launcher'}"
package=$(find "$work/home/p" -path '*/p/share/cmake/profkit/profkit-config.cmake')
[ "$(wc -l <<<"$package")" = 1 ] && [ -n "$package" ]
# Uses only the installed package and Conan's files.
find "$(dirname "$package")/../../.." -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | diff - <(printf '%s\n' conaninfo.txt conanmanifest.txt include lib licenses share)
