# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this file share its variables
# Sourced by scripts/*.sh: folders, progress lines, commands with a log.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/profkit
jobs=$(nproc)
logs=$root/build/log

mkdir -p "$cache" "$logs"

# say TEXT...: a line with the time since the script began
say() {
  printf '[%02d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}

die() {
  say "error: $*" >&2
  exit 1
}

have() {
  command -v "$1" >/dev/null 2>&1
}

# Shows the last line of a log every few seconds, until the script ends or kills this process.
watch_log() {
  local log=$1 script=$$ elapsed=0 line
  while sleep 1 && kill -0 "$script" 2>/dev/null; do
    elapsed=$((elapsed + 1))
    ((elapsed % 20 == 0)) || continue
    line=$(tail -c 2000 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | cut -c 1-110) || line=
    say "    $line"
  done
}

# logged WHAT LOG COMMAND...: runs the command with its output in LOG. Returns its exit code.
logged() {
  local what=$1 log=$2 status=0 begin=$SECONDS watcher
  shift 2
  say "$what"
  : >"$log"
  watch_log "$log" &
  watcher=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
  if ((status == 0)); then
    ((SECONDS - begin < 10)) || say "    done in $((SECONDS - begin)) s"
  else
    say "    failed (exit code $status), see ${log#"$root"/}"
  fi
  return "$status"
}

# Prints the part of a build or test log that says why it failed.
show_failure() {
  local log=$1
  echo "---- ${log#"$root"/} ----"
  if grep -qE 'error:|^FAILED|\*\*\*(Failed|Timeout|Exception)' "$log"; then
    grep -nE -A 30 'error:|^FAILED|\*\*\*(Failed|Timeout|Exception)' "$log" | cut -c 1-200 | sed -n 1,120p
    echo "..."
    tail -n 15 "$log" | cut -c 1-200
  else
    tail -n 60 "$log" | cut -c 1-240
  fi
  echo "----"
}

# must_log WHAT LOG COMMAND...: like logged, but ends the script if the command fails.
must_log() {
  local log=$2
  logged "$@" && return
  show_failure "$log"
  exit 1
}
