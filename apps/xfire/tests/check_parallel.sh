#!/bin/sh
# Runs xfire serially and with several numbers of workers and shares, and compares the results byte
# for byte. Usage: MPIRUN=... check_parallel.sh XFIRE
set -eu
xfire=$1
data=$(dirname "$0")/../data
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
n_failed=0

fail() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# compare NAME RANKS OPTIONS...: a checked parallel run against the serial result in $out/serial.
compare() {
    name=$1 ranks=$2
    shift 2
    $MPIRUN -np "$ranks" "$xfire" "$@" --check --quiet --out "$out/parallel" < /dev/null ||
        fail "$name with $ranks ranks: exit code $?"
    for file in perimeters.geojson arrival.asc; do
        [ ! -e "$out/serial/$file" ] || cmp "$out/serial/$file" "$out/parallel/$file" ||
            fail "$name with $ranks ranks: $file"
    done
    rm -rf "$out/parallel"
}

# expect CODE OPTIONS...: an error is told by its exit code.
expect() {
    code=0
    expected=$1
    shift
    "$xfire" --serial --out "$out/error" "$@" > /dev/null 2>&1 < /dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected, of: $*"
}

for line in roadside ignition front; do
    set -- "$data/test.conf" --line "$data/$line.txt" --end_min 40
    "$xfire" --serial "$@" --quiet --out "$out/serial" < /dev/null ||
        fail "serial $line: exit code $?"
    compare "$line" 2 "$@"
    compare "$line" 3 "$@" --f0 0.5 --f1 0.5 --f2 0.5 --min_chunk 1
    compare "$line" 4 "$@" --f0 0.3 --f1 0.9 --f2 0.1 --min_chunk 5
    compare "$line" 5 "$@" --f0 0 --f1 -3 --f2 1e9 --workers 2
    rm -rf "$out/serial"
done

set -- "$data/ellipse.conf" --points 3000 --end_min 1
"$xfire" --serial "$@" --quiet --out "$out/serial" < /dev/null ||
    fail "serial ellipse: exit code $?"
compare ellipse 4 "$@" --imbalance 4643000 --wait_us 1 --f0 0.6 --f1 0.5 --f2 0.5
compare ellipse 7 "$@"

"$xfire" --help < /dev/null | grep -q -- --imbalance || fail "--help"
expect 2
expect 2 "$data/test.conf" --no_such_option
expect 2 "$data/test.conf" --points many
expect 2 "$data/test.conf" --fuel 14
expect 3 "$out/nowhere.conf"
expect 3 "$data/test.conf" --wind "$out/nowhere.txt"
expect 3 "$data/test.conf" --line "$data/wind.txt"
expect 3 "$data/test.conf" --terrain "$data/wind.txt"
expect 3 "$data/test.conf" --ellipse 1,1,5,5
expect 4 "$data/test.conf" --points 5000 --max_points 1000
expect 5 "$data/test.conf" --out "$out/no/such/folder"

[ "$n_failed" -eq 0 ] && echo "parallel: all results equal, bit for bit"
