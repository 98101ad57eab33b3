#!/usr/bin/env bash
# Searches for inputs that break a reader, with libFuzzer, guided by coverage; as many targets at a time as there are cores, or JOBS.
#
#   scripts/fuzz.sh [TARGET] [SECONDS]    all targets and 900 seconds each unless said otherwise
#
# What it learns stays in target/fuzz/corpus, what it finds in target/fuzz/found: a file found there becomes a
# seed (crates/testing/fuzz/seeds/TARGET) together with its mend.
#
# Exit codes: 0 nothing was found, 1 an input breaks a target, 2 there is no such target.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:-}
seconds=${2:-900}
seeds=crates/testing/fuzz/seeds
found=target/fuzz/found
triple=$(rustc -vV | sed -n 's/^host: //p')

if [ -n "$target" ] && [ ! -d "$seeds/$target" ]; then
  echo "fuzz: no target \`$target\`; there are:" "$(ls "$seeds" | xargs)" >&2
  exit 2
fi

# The counters that libFuzzer reads; only with `--target` are they kept out of build scripts.
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks"
echo "fuzz: building with counters"
RUSTFLAGS=$flags cargo build --quiet --release --target "$triple" --target-dir target/fuzz/build \
  --package fuzz --features coverage

search() {
  local name=$1 log=target/fuzz/$1.log
  mkdir -p "target/fuzz/corpus/$name" "$found"
  if FUZZ_TARGET=$name "target/fuzz/build/$triple/release/fuzz" "target/fuzz/corpus/$name" "$seeds/$name" \
    -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/$name-" \
    >"$log" 2>&1; then
    echo "fuzz: $name: nothing in $(sed -n 's/^Done \([0-9]*\) runs.*/\1 runs/p' "$log")"
  else
    echo "fuzz: $name: BROKEN by $(ls -t "$found/$name-"* | head -n 1); see $log"
    return 1
  fi
}
export -f search
export seeds found triple seconds
# A found input ends only its own target's search.
{ if [ -n "$target" ]; then echo "$target"; else ls "$seeds"; fi; } |
  xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'search {}' || exit 1
