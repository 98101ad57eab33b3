#!/usr/bin/env python3
"""Real programs that nobody described, bare and under `sintonia run --tune`, in pairs. Writes results.csv and results.svg and
fills the page. Needs `cargo build --release --package cli --package probe` first; root for the cell with a quota.

usage: experiments/auto/run.py [--quick] [--only PROGRAM]... [--libraries A,B] [--cells A,B] [--variants A,B] [--pairs N]
                               [--limit SECONDS] [--sources DIR] [--kept DIR] [--page | --build]

Sources are fetched once, or taken from DIR/NAME with `--sources DIR`, and built for each MPI library that is there. Every run is
kept as it ends: an interrupted command goes on where it was; what results.csv has of other cells stays. `--quick` does two pairs
of the most telling cells. `--page` measures nothing and writes the page anew.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import cells  # noqa: E402
import page  # noqa: E402
import programs  # noqa: E402

SINTONIA = pathlib.Path(os.environ.get("SINTONIA", programs.ROOT / "target/release/sintonia"))
# Single levers, what runs have learnt, and settings without Sintonia are measured in these cells.
SINGLE = {"waiting": ["over", "cpuset"], "memory": ["cores", "hybrid"], "learnt": ["cores"], **{name: ["cores"] for name in cells.BY_HAND}}
# Runs with `--learn` before what they have learnt is measured.
N_LEARNING = 10
QUICK = {"cells": ["cores", "over", "cpuset"], "pairs": 2}


def listed(text):
    return text.split(",")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="programs by their names")
    parser.add_argument("--libraries", type=listed, default=list(programs.LIBRARIES))
    parser.add_argument("--cells", type=listed)
    parser.add_argument("--variants", type=listed, default=["tune", *SINGLE], help="tune, single levers, learnt (after runs that learn), settings by hand, or run (only watched)")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--limit", type=float, default=60, help="seconds for a run")
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--kept", type=pathlib.Path, default=programs.ROOT / "target/experiments/auto")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--build", action="store_true", help="build all programs and measure nothing")
    options = parser.parse_args()
    options.sintonia = SINTONIA
    options.cells = options.cells or (QUICK["cells"] if options.quick else list(cells.CELLS))
    options.pairs = options.pairs or (QUICK["pairs"] if options.quick else 5)
    if options.quick:
        options.variants = [variant for variant in options.variants if variant not in SINGLE]
    known = {"--only": (options.only or [], programs.described()[0]), "--cells": (options.cells, cells.CELLS),
             "--libraries": (options.libraries, programs.LIBRARIES)}
    for option, (given, there) in known.items():
        for name in given:
            if name not in there:
                parser.error(f"{option}: there is no `{name}`; there are {', '.join(there)}")
    return options


def kept_rows(options):
    path = options.kept / "runs.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Measurements:
    """Rows of all runs, in a file that grows."""

    def __init__(self, options):
        self.options, self.rows = options, kept_rows(options)

    def of(self, program, library, cell, variant):
        key = (program["name"], library.name, cell.name, variant)
        return [row for row in self.rows if (row["program"], row["library"], row["cell"], row["variant"]) == key]

    def add(self, row):
        self.rows.append(row)
        with open(self.options.kept / "runs.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {row['program']}, {row['library']}, {row['cell']}, {row['variant']}: "
              f"{row['elapsed_s']:.2f} s, CPU {row['cpu_s']:.2f} s, {row['outcome']}", flush=True)

    def run(self, case, variant, alone_s):
        """One run more; a bare run that would reach the time limit again is not repeated."""
        program, library, cell, _ = case
        same = self.of(program, library, cell, variant)
        if variant == "bare" and same and all(row["outcome"] == "limit" for row in same):
            self.add(same[-1])
        else:
            self.add(cells.measure(case, variant, self.options, alone_s))


def alone_s(measurements, case):
    """Time of the program without load, for the cell that has a load."""
    program, library, cell, place = case
    if not cell.is_loaded:
        return None
    quiet = cells.CELLS["cores"]
    rows = measurements.of(program, library, quiet, "bare")
    if not rows:
        measurements.run((program, library, quiet, place), "bare", None)
        rows = measurements.of(program, library, quiet, "bare")
    return statistics.median(row["elapsed_s"] for row in rows)


def pairs(measurements, case, options):
    """Rounds of bare and each variant; the bare run comes first and last in turn."""
    program, library, cell, _ = case
    variants = ["bare", *(variant for variant in options.variants if cell.name in SINGLE.get(variant, [cell.name]))]
    alone = alone_s(measurements, case)
    have = lambda variant: len(measurements.of(program, library, cell, variant))
    late = [variant for variant in variants if have(variant) == 0 and options.pairs <= have("bare")]
    if late:
        print(f"{program['name']}, {library.name}, {cell.name}: bare was measured before {', '.join(late)}, not in turn; "
              f"take its rows out of {options.kept / 'runs.jsonl'} to measure both again", flush=True)
    while "learnt" in variants and have("learning") < N_LEARNING:
        measurements.run(case, "learning", alone)
    for number in range(options.pairs):
        for variant in variants if number % 2 == 0 else reversed(variants):
            if have(variant) <= number:
                measurements.run(case, variant, alone)


def cases(options):
    """All that is to be measured, program by program; says what cannot be."""
    described, sources = programs.described()
    for name, program in described.items():
        if options.only and name not in options.only:
            continue
        counts = sorted({cells.shape(program, cell)[0] for cell in cells.CELLS.values() if cells.shape(program, cell)})
        for library in map(programs.LIBRARIES.get, options.libraries):
            try:
                place = programs.built(program, library, counts, options.kept, sources, options.sources)
            except programs.Unusable as reason:
                print(f"{name}, {library.name}: left out, {reason}", flush=True)
                continue
            for cell in map(cells.CELLS.get, options.cells):
                if cells.shape(program, cell):
                    yield program, library, cell, place


def main():
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.kept.mkdir(parents=True, exist_ok=True)
    measurements = Measurements(options)
    try:
        for case in [] if options.page else cases(options):
            if not options.build:
                try:
                    pairs(measurements, case, options)
                except programs.Unusable as reason:
                    print(f"{case[0]['name']}, {case[1].name}, {case[2].name}: left out, {reason}", flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", flush=True)
    if not options.build:
        page.write(HERE, measurements.rows)


if __name__ == "__main__":
    main()
