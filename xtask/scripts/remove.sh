#!/usr/bin/env bash
# Takes a plugin out of a copy of the sources and runs all tests of what is left, which must not miss it:
#   xtask/scripts/remove.sh learner discriminative-hmm
# What goes: its file, its `mod` line and the name of its type in lists of `pub use`, tests in a file of its name, its example
# config, and the experiments that name it. Options behind the name go to `cargo test`; `--workspace` unless there are some.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=$1 name=$2
shift 2
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git clone --quiet --no-hardlinks . "$place/sources"
cd "$place/sources"

file=$(grep -rlE "plugin!\(\"$kind\", [A-Za-z0-9]+, \"$name\"\)" --include='*.rs' crf-*/src)
type=$(grep -hoE "plugin!\(\"$kind\", [A-Za-z0-9]+, \"$name\"\)" "$file" | sed -E 's/.*, ([A-Za-z0-9]+), .*/\1/')
module=$(basename "$file" .rs) library=${file%%/*}
mapfile -t tests < <(find "$library/tests" -name "$module.rs")
mapfile -t experiments < <(grep -rlF "\"$name\"" experiments)
rm "$file" "crf-bench/plugins/$kind/$name.toml" "${tests[@]}" "${experiments[@]}"
mapfile -t roots < <(grep -rlE "\b(mod $module;|$module::|$type\b)" "$library/src" --include=lib.rs --include=mod.rs)
[ "${#tests[@]}" = 0 ] || mapfile -t -O "${#roots[@]}" roots < <(grep -rl "^mod $module;" "$library/tests")
sed -i -E "/^(pub )?mod $module;$/d; /^pub use (crate::)?$module::.*;$/d; s/\b$type, //; s/, $type\b//" "${roots[@]}"
git --no-pager diff --stat
CARGO_TARGET_DIR=$target cargo test "${@:---workspace}"
