#!/bin/sh
# The cells are the same on any number of ranks, bit for bit, and as they were: `check.sh BUILD`.
set -eu
build=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run() { ${MPIRUN:-mpirun} "$@"; }
end() { sed -n 's/.*; \(warmest .*\)$/\1/p'; }
fail() { echo "check.sh: $1" >&2; exit 1; }

# check ROWS COLUMNS STEPS END RANKS...: on these numbers of ranks, each with its picture.
check() {
    rows=$1 columns=$2 steps=$3 expected=$4
    shift 4
    for ranks in "$@"; do
        found=$(run -n $ranks "$build/stencil" "$rows" "$columns" "$steps" "$out/$ranks.pgm" | end)
        [ "$found" = "$expected" ] || fail "$rows x $columns on $ranks ranks gives '$found', not '$expected'"
        cmp "$out/1.pgm" "$out/$ranks.pgm" || fail "$rows x $columns on $ranks ranks gives another picture"
    done
}

check 40 61 200 'warmest 0.35784175248027311, digest 839ef2fa9cced8f5' 1 2 3 4
check 7 6 1 'warmest 0.69704142011834314, digest 4debc0f3edd7ccc2' 1 6
for words in "0 5 5" "5 5" "5 5 many" "5 5 5 $out/no/a.pgm"; do
    if run -n 1 "$build/stencil" $words >/dev/null 2>&1; then fail "'$words' is not refused"; fi
done
if run -n 4 "$build/stencil" 3 9 1 >/dev/null 2>&1; then fail "4 ranks for 3 rows are not refused"; fi

# What it takes to make the program malleable: lines that are new or other ones, without comments.
sources=$(dirname "$0")/../src
changed=$(diff -w "$sources/stencil.c" "$sources/stencil_malleable.c" | grep '^>' | grep -vc '^>  \*')
[ "$changed" -le 15 ] || fail "$changed lines are changed"
echo "stencil: all cells are the same"
