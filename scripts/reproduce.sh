#!/usr/bin/env bash
# Produces the tables T1 to T13 of docs/reproduction.md, and those of the compiled forward pass and of fused operations. Continues an interrupted run.
#   usage: scripts/reproduce.sh OUT_DIR TEXT_FILE     TEXT_FILE: about 1 MB of English text, for the data loader
#   ONLY="NAME..."       only these tables: t1 t2 t3 t5 t7 t8 t9 t10 t11 t12 t13 types sdpa compiled fused
#   PYTHON, NSYS, DEPENDENCIES: as for scripts/gpu_check.sh
# About 20 minutes on an H200, without fused. Requirements: as for scripts/gpu_check.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:?usage: scripts/reproduce.sh OUT_DIR TEXT_FILE}
text=${2:?usage: scripts/reproduce.sh OUT_DIR TEXT_FILE}
text=$(realpath "$text")
# shellcheck source=scripts/lib/gpu_build.sh
source "$root/scripts/lib/gpu_build.sh"

mkdir -p "$out"
out=$(cd "$out" && pwd)
gpu_build "$out" transformer_train profkit_program
trainer=$build/examples/transformer_train/transformer_train

say() { printf '[%5d s] %s\n' "$SECONDS" "$*"; }
wanted() { [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]; }

# logged NAME COMMAND...: writes the output to NAME.log.
logged() {
  local log=$out/$1.log status=0
  shift
  printf '$ transformer_train %s\n' "${*:2}" >>"$log"
  "$@" >>"$log" 2>&1 || status=$?
  ((status == 0)) || { tail -n 5 "$log"; die "exit code $status: see $log"; }
}
die() { say "$*"; exit 1; }

# run NAME OPTION...: one run of the trainer into OUT/NAME, unless it exists.
run() {
  local name=$1
  shift
  [ ! -e "$out/$name/tables.md" ] || return 0
  say "$name: transformer_train $*"
  logged "$name" "$trainer" "$@" --out "$out/$name"
}

# many NAME COMMAND OPTION...: a trainer command, which resumes an interrupted run itself.
many() {
  local name=$1
  shift
  say "$name: transformer_train $*"
  logged "$name" "$trainer" "$@" --out "$out/$name"
}

steps=(--warmup 5 --steps 30)
few=(--warmup 3 --steps 10)

if wanted t1; then # each precision; then the same without warm-up, each in a separate process
  many t1 sweep --sizes medium --ctx 512 --modes fwd_bwd,train --precisions fp32,tf32,bf16,fp16,fp16_scaled "${steps[@]}"
  for cell in "small 256 fwd fp32" "medium 512 fwd_bwd fp32" "medium 512 fwd_bwd bf16"; do
    read -r size ctx mode precision <<<"$cell"
    many t1 sweep --sizes "$size" --ctx "$ctx" --modes "$mode" --precisions "$precision" --warmup 0 --steps 30
    many t1 sweep --sizes "$size" --ctx "$ctx" --modes "$mode" --precisions "$precision" "${steps[@]}"
  done
fi
if wanted t2; then # also T6
  run t2-medium-512-train-fp32 --size medium --ctx 512 --mode train --precision fp32 --questions "${steps[@]}"
  run t2-medium-512-train-bf16 --size medium --ctx 512 --mode train --precision bf16 --questions "${steps[@]}"
  run t2-small-512-fwd-fp32 --size small --ctx 512 --mode fwd --precision fp32 --questions "${steps[@]}"
fi
if wanted t7; then
  t7=$out/t7-small-512-fwd-fp32
  run "${t7##*/}" --size small --ctx 512 --mode fwd --precision fp32 --api-calls --save-profile "$t7.profile" "${few[@]}"
  [ -e "$t7/nvtx_kern_sum.csv" ] || "$build/tools/profkit/profkit" report "$t7.profile" --nsys "$t7" >>"$t7.log"
fi
if wanted t8; then
  for mode in fwd fwd_bwd train; do
    run "t8-2.7B-512-$mode-fp32" --size 2.7B --ctx 512 --mode "$mode" --precision fp32 "${few[@]}"
  done
fi
if wanted types; then
  for precision in fp32 tf32 bf16 fp16 fp16_scaled; do
    run "types-$precision" --size small --ctx 256 --mode train --precision "$precision" "${few[@]}"
  done
fi
if wanted sdpa; then
  for backend in auto flash efficient cudnn math; do
    run "sdpa-$backend-bf16" --size small --ctx 512 --mode train --precision bf16 --attention sdpa --sdpa-backend "$backend" "${few[@]}"
  done
  run sdpa-auto-fp32 --size small --ctx 512 --mode train --precision fp32 --attention sdpa "${few[@]}"
fi
if wanted t10; then
  run t10-small-512-fwd-fp32 --size small --ctx 512 --mode fwd --precision fp32 --memory-snapshot "${few[@]}"
  run t10-small-512-train-fp32 --size small --ctx 512 --mode train --precision fp32 --memory-snapshot "${few[@]}"
fi
if wanted t11; then many t11 silu; fi
# 4 ms of processor time for each of 16 samples take longer than a step
if wanted t12; then many t12 loader --workers 0,2,4,8 --data "$text" --precision bf16 --work 4000 --steps-per-epoch 200; fi
if wanted t3; then # also T4
  many t3 sweep --sizes small,medium,large,xl,2.7B --ctx 128 --modes train --precisions fp32,bf16 "${few[@]}"
  many t3 sweep "${few[@]}"
fi
if wanted t5; then many t5 attention; fi
# check NAME CHECK: runs a check of gpu_check.sh, which writes the table.
check() {
  [ ! -e "$out/$1/done" ] || return 0
  say "$1: gpu_check.sh, $2"
  CHECKS=$2 "$root/scripts/gpu_check.sh" "$out/$1" "$text" >"$out/$1.log" 2>&1 || say "a check failed: see $out/$1.log"
  [ ! -e "$out/$1/gpu_check.md" ] || touch "$out/$1/done"
}
if wanted t13; then check t13 capture; fi
if wanted t9; then check t9 cost; fi
if wanted compiled; then check compiled aoti; fi
if wanted fused; then check fused fused; fi
"$python" "$root/scripts/lib/reproduced_tables.py" "$out"
say "all tables are in $1/tables"
