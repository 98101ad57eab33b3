#!/usr/bin/env python3
"""The whole program, foretold by its regions, by its own time, and by both (what `sintonia predict` says where both were measured).

usage: experiments/pred-real/whole.py
"""
import collections
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import curves
import run

tables = run.tables
KINDS = {"regions": ["regions"], "whole": ["whole"], "both": ["regions", "whole"]}


def of_sorts():
    """For each sort and kind of input: mean times of a rank in the parts of `main`, and in all of it."""
    by = collections.defaultdict(lambda: {"regions": [], "whole": []})
    for row in csv.DictReader(open(curves.DATA / "sorts.csv")):
        path, value = row["path"].split("->"), float(row["avg_s"])
        at = {"p": float(row["p"]), "n": float(row["n"])}
        if len(path) <= 2 and 0 < value:
            kind, region = ("whole", "total") if len(path) == 1 else ("regions", path[1])
            by[row["algorithm"], row["input"]][kind].append((region, at, value))
    return list(by.values())


def of_known_terms(n_programs=25, seed=9):
    """Made programs: each region is one term of the vocabulary, with 2 % of noise of the run and 3 % of its own."""
    chance = random.Random(seed)
    between = lambda low, high: low * (high / low) ** chance.random()
    programs = []
    for _ in range(n_programs):
        work, halo, tree, power = between(0.3, 3), between(0.001, 0.1), between(0.001, 0.1), chance.choice([0.5, 2 / 3, 0.75])
        regions = {"force": lambda p, n: work * n**3 / p, "halo": lambda p, n: halo * (n**3 / p) ** power,
                   "tree": lambda p, n: tree * math.log2(2 * p), "serial": lambda p, n: tree * n}
        program = {"regions": [], "whole": []}
        for p in (1, 2, 4, 8, 16, 32, 64):
            for n in (1.0, 1.4, 2.0, 2.8):
                for _ in range(3):
                    of_run = math.exp(0.02 * chance.gauss(0, 1))
                    at = {"p": float(p), "n": n}
                    times = {name: time(p, n) * of_run * math.exp(0.03 * chance.gauss(0, 1)) for name, time in regions.items()}
                    program["regions"] += [(name, at, value) for name, value in times.items()]
                    program["whole"].append(("total", at, sum(times.values())))
        programs.append(program)
    return programs


def foretell(folder, program, kinds, is_unseen):
    """Errors and whether the interval holds, at the points of the whole that are not seen."""
    seen = [it for kind in kinds for it in program[kind] if not is_unseen(it[1])]
    new = [it for it in program["whole"] if is_unseen(it[1])]
    for name, points in (("seen", seen), ("new", new)):
        lines = (json.dumps({"params": at, "value": value, "callpath": region, "metric": "time"}) for region, at, value in points)
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    subprocess.run([run.SINTONIA, "fit", folder / "seen.jsonl", "-o", folder / "models.json"], check=True, capture_output=True)
    done = subprocess.run([run.SINTONIA, "validate", folder / "models.json", folder / "new.jsonl", "--json"],
                          check=True, capture_output=True, text=True)
    whole = [point for point in json.loads(done.stdout)["points"] if point["region"] is None]
    return [(run.smape(it["predicted"], it["measured"]), it["low"] <= it["measured"] <= it["high"]) for it in whole]


def main():
    if not run.SINTONIA.exists():
        sys.exit(f"{run.SINTONIA} is missing: build it with `cargo build --release -p cli`, or name it in SINTONIA")
    sets = {"four sorts, p >= 256": (of_sorts(), lambda at: 256 <= at["p"]),
            "four sorts, n >= 2^26": (of_sorts(), lambda at: 2**26 <= at["n"]),
            "made, regions of known terms, p >= 32": (of_known_terms(), lambda at: 32 <= at["p"])}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (programs, is_unseen) in sets.items():
            row = [name]
            for kinds in KINDS.values():
                found = [it for program in programs for it in foretell(pathlib.Path(folder), program, kinds, is_unseen)]
                errors = [error for error, _ in found]
                within = 100 * statistics.fmean(is_within for _, is_within in found)
                row.append(f"{statistics.median(errors):.1f} / {statistics.fmean(errors):.1f} ({within:.0f} %)")
            rows.append(row)
            print(*row, sep=", ", flush=True)
    tables.fill(run.HERE / "README.md", "whole", ["held out", *KINDS], rows)


if __name__ == "__main__":
    main()
