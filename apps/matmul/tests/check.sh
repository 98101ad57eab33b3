#!/bin/sh
# Products are right, and the same for both versions and any number of workers: `check.sh BUILD`.
set -eu
build=$1
run() { ${MPIRUN:-mpirun} "$@"; }
checksum() { sed -n 's/.*checksum \([0-9a-f]*\), right$/\1/p'; }
fail() { echo "check.sh: $1" >&2; exit 1; }

for dim in 1 2 37 64; do
    expected=$(run -n 2 "$build/matmul1" $dim | checksum)
    [ -n "$expected" ] || fail "matmul1 $dim is wrong"
    for workers in 1 2 3; do
        found=$(run -n $((workers + 1)) "$build/matmul2" $dim | checksum)
        [ "$found" = "$expected" ] || fail "matmul2 $dim with $workers workers gives '$found', not $expected"
    done
done
for case in S1 S2 S3; do
    run -n 3 "$build/mastersend" $case 50 1 | grep -q "$case, dimension 50 to 2 workers" || fail "mastersend $case"
done
run -n 1 "$build/matrixinit" 50 | grep -q 'dimension 50, checksums' || fail matrixinit
for words in "-n 3 $build/matmul1 10" "-n 1 $build/matmul2 10" "-n 2 $build/matmul2 x" "-n 2 $build/mastersend S4 1"; do
    if run $words >/dev/null 2>&1; then fail "'$words' is not refused"; fi
done
echo "matmul: all products are right"
