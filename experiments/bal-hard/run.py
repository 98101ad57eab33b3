#!/usr/bin/env python3
"""Slow and lossy networks, unequal nodes and heavy tails: what the rules make of them, simulated, five seeds each. Writes results.csv
and fills the page. Needs `cargo build --release --package cli` first.

usage: experiments/bal-hard/run.py [RULE ...]          default: subscription power-of-two
"""
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
RULES = ["subscription", "power-of-two"]
SEEDS = range(1, 6)
BASE = {"nodes": 32, "cores": 4, "tasks": 2560, "arrival-s": 0.05}
SHORT = {"task-s": "exponential:1", "arrival-s": 0.008}
LARGE = {"nodes": 4096, "cores": 1, "tasks": 5 * 4096, "arrival-s": 8 / 4096, "entry": "every:8", "measure-s": 0.25}
CASES = {
    "as it should be": {},
    "latency 100 ms": {"latency-ms": 100},
    "latency 500 ms": {"latency-ms": 500},
    "latency 1 s": {"latency-ms": 1000},
    "1 % of messages lost": {"loss": 0.01},
    "10 % lost": {"loss": 0.1},
    "30 % lost": {"loss": 0.3},
    "10 % lost, latency 100 ms": {"loss": 0.1, "latency-ms": 100},
    "10 % lost, latency 1 s": {"loss": 0.1, "latency-ms": 1000},
    "tasks of 1 s (exponential), latency 10 ms": {**SHORT, "latency-ms": 10},
    "tasks of 1 s (exponential), latency 100 ms": {**SHORT, "latency-ms": 100},
    "tasks of 20 s (exponential)": {"task-s": "exponential:20"},
    "the same, speeds 1, 2, 4": {"task-s": "exponential:20", "speeds": "1,2,4"},
    "tasks of 5 s (lognormal, deviation 1.5)": {"task-s": "lognormal:5,1.5"},
    "half a load, at random": {"arrival-s": 0.31, "tasks": 1500, "arrival-random": True},
    "4,096 nodes of one core, tasks at every eighth": LARGE,
}


def simulate(rule, case, seed):
    words = [SINTONIA, "simulate", "balance", "--policy", rule, "--seed", str(seed), "--json"]
    for name, value in (BASE | case).items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def row(rule, name):
    found = [simulate(rule, CASES[name], seed) for seed in SEEDS]
    of_asked = [it["t_central_asked_s"] / it["t_exec_s"] for it in found]
    return {"case": name, "rule": rule,
            "central": statistics.median(it["t_opt_s"] / it["t_central_s"] for it in found),
            "central_asked": statistics.median(it["t_opt_s"] / it["t_central_asked_s"] for it in found),
            "ratio": statistics.median(it["ratio"] for it in found),
            "of_asked": statistics.median(of_asked), "of_asked_least": min(of_asked), "of_asked_most": max(of_asked),
            "messages_per_task": statistics.median(it["messages_all"] / it["tasks"] for it in found)}


def main():
    if not SINTONIA.exists():
        sys.exit(f"{SINTONIA} is missing: build it with `cargo build --release -p cli`, or name it in SINTONIA")
    rules = sys.argv[1:] or RULES
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda it: row(*it), [(rule, name) for name in CASES for rule in rules]))
    tables.write(HERE / "results.csv", [{key: f"{it:.3f}" if isinstance(it, float) else it for key, it in row.items()} for row in rows])
    by = {(row["case"], row["rule"]): row for row in rows}
    header = ["case", "central, no cost", "central, asked"]
    header += [f"{rule}: {what}" for rule in rules for what in ("ratio", "of central, asked", "messages per task")]
    lines = []
    for name in CASES:
        first = by[name, rules[0]]
        cells = [name, f"{first['central']:.3f}", f"{first['central_asked']:.3f}"]
        for rule in rules:
            it = by[name, rule]
            cells += [f"{it['ratio']:.3f}", f"{it['of_asked']:.2f} ({it['of_asked_least']:.2f} to {it['of_asked_most']:.2f})",
                      f"{it['messages_per_task']:.2f}"]
        lines.append(cells)
    tables.fill(HERE / "README.md", "cases", header, lines)


if __name__ == "__main__":
    main()
