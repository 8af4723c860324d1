#!/usr/bin/env bash
# Builds the Debian packages and installs them with dpkg into a folder that is a separate system, or removes them from it.
#   usage: debian.sh install BUILD_DIR ROOT CPACK | remove ROOT
set -euo pipefail

fail() {
  echo "error: $*" >&2
  exit 1
}

PATH=$PATH:/usr/sbin:/sbin
as_root=()
[ "$(id -u)" = 0 ] || as_root=(fakeroot)

# Runs dpkg without dependencies, because those are installed outside the folder.
in_root() {
  "${as_root[@]}" dpkg --root="$root" --force-depends --log="$root/dpkg.log" "$@"
}

# install BUILD_DIR CPACK
install() {
  local build=$1 cpack=$2 library each package
  rm -rf "$root"
  mkdir -p "$root/packages" "$root/system/var/lib/dpkg/updates" "$root/system/var/lib/dpkg/info"
  touch "$root/system/var/lib/dpkg/status"
  for each in packages again; do
    SOURCE_DATE_EPOCH=1700000000 "${as_root[@]}" "$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$root/$each"
  done
  for package in "$root"/packages/*.deb; do
    cmp "$package" "$root/again/${package##*/}" || fail "two packages of the same build differ"
  done
  library=$(ls "$root"/packages/libprofkit-dev_*.deb) || fail "cpack made no libprofkit-dev"
  dpkg-deb --info "$library"
  for each in $(dpkg-deb -f "$library" Depends | sed 's/([^)]*)//g; s/[,|]/ /g'); do
    dpkg-query -W -f '${Status}' "$each" | grep -q 'ok installed' || fail "libprofkit-dev depends on $each, which this machine does not have"
  done
  # awk must read all input, because dpkg-deb fails if its pipe is closed early.
  dpkg-deb -c "$library" | awk '$6 == "./usr/include/profkit/profkit.hpp" { found = 1 } END { exit !found }' || fail "libprofkit-dev has no profkit/profkit.hpp"
  # Compiled code is for one architecture.
  if dpkg-deb -c "$library" | awk '/libprofkit_code[.]a$/ { found = 1 } END { exit !found }'; then
    [ "$(dpkg-deb -f "$library" Architecture)" = "$(dpkg --print-architecture)" ] || fail "libprofkit-dev is for the wrong architecture"
  else
    [ "$(dpkg-deb -f "$library" Architecture)" = all ] || fail "libprofkit-dev without compiled code is not for all architectures"
  fi
  for package in "$root"/packages/*.deb; do
    dpkg-deb -c "$package" | awk '{ print $2 }' | sort -u | grep -vx root/root && fail "$package: files that are not root's"
  done
  root=$root/system
  in_root --install "$root"/../packages/*.deb
  # shellcheck disable=SC2144 # at most one file matches
  if [ -e "$root/../packages/"profkit_*.deb ]; then "$root/usr/bin/profkit" --version; fi
}

# Files of dpkg itself remain.
remove() {
  local left
  root=$root/system
  # shellcheck disable=SC2046 # names of packages
  in_root --purge $(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package}\n')
  left=$(find "$root" -not -path "$root/var*" -not -path "$root/dpkg.log" -mindepth 1)
  [ -z "$left" ] || fail "what the packages installed is still there: $left"
}

what=$1
case $what in
  install)
    root=$3
    install "$2" "$4"
    ;;
  remove)
    root=$2
    remove
    ;;
  *) fail "no '$what'; there are install and remove" ;;
esac
