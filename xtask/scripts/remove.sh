#!/usr/bin/env bash
# Takes plugins out of a copy of the sources and runs the tests of what is left, which must not miss them:
#   xtask/scripts/remove.sh learner discriminative-hmm selector logit-boost inference icm [-- options of cargo test]
# What goes: a plugin's file and its folder of helpers, its `mod` line and the name of its type in lists of `pub use`, tests in a
# file of its name, and the experiments that name it. All tests run unless options say which.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git clone --quiet --no-hardlinks . "$place/sources"
cd "$place/sources"

remove() {
  local kind=$1 name=$2 plugin file type module library tests experiments roots
  # The line may be broken behind the commas.
  plugin="plugin!\(\s*\"$kind\",\s*[A-Za-z0-9]+,\s*\"$name\""
  file=$(grep -rlzP "$plugin" --include='*.rs' crf-*/src)
  type=$(tr '\n' ' ' <"$file" | grep -oP "$plugin" | sed -E 's/.*, *([A-Za-z0-9]+), .*/\1/')
  module=$(basename "$file" .rs) library=${file%%/*}
  mapfile -t tests < <(find "$library/tests" -name "$module.rs")
  mapfile -t experiments < <(grep -rlF "\"$name\"" experiments)
  rm -r "$file" "${tests[@]}" "${experiments[@]}"
  rm -rf "${file%.rs}"
  mapfile -t roots < <(grep -rlE "\b(mod $module;|$module::|$type\b)" "$library/src" --include=lib.rs --include=mod.rs)
  mapfile -t -O "${#roots[@]}" roots < <(grep -rl "^mod $module;" "$library/tests")
  sed -i -E "/^(pub(\(crate\))? )?mod $module;$/d; /^pub use (crate::)?$module::.*;$/d; s/\b$type, //; s/, $type\b//" "${roots[@]}"
}

while [ "${1:---}" != -- ]; do
  remove "$1" "$2"
  shift 2
done
[ $# = 0 ] || shift
git --no-pager diff --stat
CARGO_TARGET_DIR=$target cargo test "${@:---workspace}"
