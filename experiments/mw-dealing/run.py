#!/usr/bin/env python3
"""Policies that deal tasks to workers on 300 random cases for each of several seeds. Writes results.csv and fills the page. Needs
`cargo build --release --package cli` first.

usage: experiments/mw-dealing/run.py [CASES]          default: 300
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
RUNS = [("same", seed) for seed in range(1, 5)] + [(later, seed) for later in ("anew", "reversed") for seed in (7, 8)]


def judge(run, n_cases):
    later, seed = run
    words = ["simulate", "cases", "--cases", str(n_cases), "--seed", str(seed), "--later", later, "--json"]
    judged = json.loads(subprocess.run([SINTONIA, *words], check=True, capture_output=True, text=True).stdout)
    return [{"later": later, "seed": seed, "policy": of["policy"],
             "first_mean": of["first"]["mean"], "first_p99": of["first"]["p99"], "first_max": of["first"]["max"],
             "later_mean": of["later"]["mean"], "later_p99": of["later"]["p99"], "later_max": of["later"]["max"],
             "first_near_best": of["first_near_best"], "all_near_best": of["all_near_best"]} for of in judged]


def main():
    if not SINTONIA.exists():
        sys.exit(f"{SINTONIA} is missing: build it with `cargo build --release -p cli`, or name it in SINTONIA")
    n_cases = int(sys.argv[1]) if sys.argv[1:] else 300
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for rows in pool.map(lambda run: judge(run, n_cases), RUNS) for row in rows]
    tables.write(HERE / "results.csv", [{key: f"{it:.4f}" if isinstance(it, float) else it for key, it in row.items()} for row in rows])
    header = ["later iterations", "seed", "policy", "first: mean", "p99", "largest", "later: mean", "p99", "largest",
              "near the best: first", "all"]
    lines = []
    for row in rows:
        if row["later"] != "same" and row["policy"] not in ("best", "ss"):
            continue
        ratios = [f"{row[key]:.3f}" for key in list(row)[3:9]]
        shares = [f"{100 * row[key]:.1f} %" for key in ("first_near_best", "all_near_best")]
        lines.append([row["later"], str(row["seed"]), row["policy"], *ratios, *shares])
    tables.fill(HERE / "README.md", "cases", header, lines)


if __name__ == "__main__":
    main()
