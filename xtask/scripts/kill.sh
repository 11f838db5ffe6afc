#!/usr/bin/env bash
# Kills an experiment at random moments and compares what it becomes with a run that is left alone:
#   xtask/scripts/kill.sh experiments/vail/fig-2-2.toml 50 [--quick and other options of `experiment`]
set -euo pipefail
cd "$(dirname "$0")/../.."
file=$1 kills=$2
shift 2

cargo build --release --quiet --package xtask
xtask=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/xtask
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

began=$(date +%s%N)
"$xtask" experiment "$file" "$@" --out "$place/whole" >/dev/null
whole=$(($(date +%s%N) - began))

same() {
  for name in results.jsonl results.csv config.toml figure.svg; do
    cmp "$place/whole/$name" "$place/run/$name" || { echo "$name differs after $killed kills" >&2; exit 1; }
  done
}

killed=0
while [ "$killed" -lt "$kills" ]; do
  "$xtask" experiment "$file" "$@" --out "$place/run" >/dev/null 2>&1 &
  run=$!
  # On the average ten kills until a run is done: moments early and late in it.
  sleep "$(awk -v n="$whole" -v r="$RANDOM" 'BEGIN { print n / 1e9 * r / 32768 / 5 }')"
  if kill -KILL "$run" 2>/dev/null; then killed=$((killed + 1)); fi
  if wait "$run" 2>/dev/null; then
    same
    rm -r "$place/run"
  fi
done
"$xtask" experiment "$file" "$@" --out "$place/run" >/dev/null
same
echo "$killed kills, and every run has the bytes of the undisturbed one"
