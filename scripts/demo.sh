#!/usr/bin/env bash
# Runs xfire with an uneven load three times: plain, observed, and tuned while it runs; shows what tuning did
# and the three times side by side.
#
#   scripts/demo.sh    needs target/release/sintonia and target/xfire-openmpi/xfire (`make demo` builds them)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly sintonia=target/release/sintonia xfire=target/xfire-openmpi/xfire record=target/demo-run
readonly ranks=6
# Points south of the line cost twice as much; workers wait for most of that time, so that five of them show their
# speed on two cores. xfire deals all points at once unless somebody sets its factors.
work=(apps/xfire/data/ellipse.conf --points 60000 --end_min 4 --substeps 2 --wait_us 10 --no_output
  --imbalance 4643000)
launch=(mpirun.openmpi -np "$ranks" "$xfire" "${work[@]}")

say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then cat; else sed $'s/\033\\[[0-9]*m//g'; fi; }

# Runs what follows, shows the program's own output, and leaves its time in `seconds` and its result in `line`.
run() {
  local output
  output=$("$@" 2> >(cat >&2)) || { echo "demo: \`$*\` failed" >&2; exit 1; }
  printf '%s\n' "$output"
  seconds=$(sed -nE 's/.* in ([0-9.]+) s with .*/\1/p' <<<"$output")
  line=$(sed -nE 's/.*, line ([0-9a-f]+)$/\1/p' <<<"$output")
}

rm -rf "$record" "$record-observed"
say "1. Plain: ${launch[*]}"
run "${launch[@]}"
plain=$seconds plain_line=$line

say "2. Observed: sintonia run --app apps/xfire/xfire.toml --tunlet factoring --observe -- ..."
run "$sintonia" run --app apps/xfire/xfire.toml --tunlet factoring --observe --quiet --out "$record-observed" \
  -- "${launch[@]}"
observed=$seconds observed_line=$line

say "3. Tuned: sintonia run --app apps/xfire/xfire.toml --tunlet factoring -- ..."
run "$sintonia" run --app apps/xfire/xfire.toml --tunlet factoring --out "$record" -- "${launch[@]}"
tuned=$seconds tuned_line=$line

say "Side by side"
awk -v p="$plain" -v o="$observed" -v t="$tuned" 'BEGIN {
  printf "  %-10s %7s  %s\n", "", "time", "against plain"
  printf "  %-10s %6.2f s\n", "plain", p
  printf "  %-10s %6.2f s  %+.1f %%\n", "observed", o, 100 * (o / p - 1)
  printf "  %-10s %6.2f s  %+.1f %%\n", "tuned", t, 100 * (t / p - 1)
}'
if [ "$plain_line" = "$observed_line" ] && [ "$plain_line" = "$tuned_line" ]; then
  echo "  The fire line is the same, bit for bit: $plain_line"
else
  echo "demo: the results differ: $plain_line, $observed_line, $tuned_line" >&2
  exit 1
fi
echo "  The report as a page: $record/report.html; every decision: $record/tuning.jsonl"
