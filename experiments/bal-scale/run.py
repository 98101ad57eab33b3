#!/usr/bin/env python3
"""What each policy costs on 8 to 100,000 nodes, simulated. Writes results.csv and results.svg and fills the page. Needs
`cargo build --release --package cli` first.

usage: experiments/bal-scale/run.py [LARGEST NUMBER OF NODES]
"""
import json
import math
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
SIZES = [8, 64, 512, 4096, 100000]
# What everybody hears of grows with the square of the nodes: such rules are not simulated beyond this.
GLOBAL_MAX = 512
POLICIES = {
    "subscription": None, "subscription@random:8": None, "power-of-two@random:8": None, "stealing@random:8": None,
    "event": GLOBAL_MAX, "on-demand": GLOBAL_MAX, "periodic:5": GLOBAL_MAX, "event@random:8": None,
    "on-demand@random:8": None, "periodic:5@random:8": None, "adaptive@random:8": None, "forwarding@random:8": None,
    "event@overlapping:8": None, "forwarding@overlapping:8": None,
}
COLORS = ["#2f6f9f", "#9cc3de", "#2d8a5f", "#b35a1f", "#b0563b", "#7a4fa3", "#777777", "#dfae9e", "#c4a7dd", "#bbbbbb", "#8a7a2d",
          "#2d7f8a", "#e06070", "#5bb5a2"]
MEASURES = ["ratio", "messages", "staleness", "idle_share", "response_s", "events"]


def simulate(policy, n_nodes):
    words = [SINTONIA, "simulate", "balance", "--nodes", str(n_nodes), "--tasks", str(5 * n_nodes), "--arrival-s",
             repr(8 / n_nodes), "--task-s", "19.8", "--entry", "every:8", "--policy", policy, "--measure-s", "0.25", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def text(x, y, words, anchor="start", color="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def panel(rows, x0, title, value, ticks, is_log):
    top, tall, wide = 50, 300, 300
    scale = (lambda v: math.log10(max(v, ticks[0]))) if is_log else (lambda v: v)
    low, high = scale(ticks[0]), scale(ticks[-1])
    x = lambda n: x0 + wide * math.log(n / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
    y = lambda v: top + tall * (1 - (scale(v) - low) / (high - low))
    parts = [text(x0, top - 14, title), f'<path d="M{x0} {top}v{tall}h{wide}" fill="none" stroke="#999"/>']
    parts += [text(x(n), top + tall + 16, f"{n:g}", "middle") for n in SIZES]
    for tick in ticks:
        parts += [text(x0 - 6, y(tick) + 4, f"{tick:g}", "end"), f'<path d="M{x0} {y(tick):.1f}h{wide}" stroke="#eee"/>']
    for policy, color in zip(POLICIES, COLORS):
        at = [(x(row["nodes"]), y(min(value(row), ticks[-1]))) for row in rows if row["policy"] == policy]
        parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in at)}" fill="none" stroke="{color}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{color}"/>' for a, b in at]
    return parts


def draw(rows):
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1340 390" font-family="sans-serif" font-size="12">'
             '<rect width="100%" height="100%" fill="white"/>']
    parts += panel(rows, 60, "Ideal time over actual time", lambda row: row["ratio"], [0, 0.25, 0.5, 0.75, 1], False)
    parts += panel(rows, 430, "Messages per task", lambda row: row["messages"] / (5 * row["nodes"]), [0.1, 1, 10, 100, 1000, 10000], True)
    parts += panel(rows, 800, "Share of requests that were refused", lambda row: row["staleness"], [0, 0.25, 0.5, 0.75, 1], False)
    parts += [text(1130, 62 + 18 * at, policy, color=color) for at, (policy, color) in enumerate(zip(POLICIES, COLORS))]
    (HERE / "results.svg").write_text("\n".join([*parts, "</svg>\n"]))


def fill(rows):
    found = {(row["policy"], row["nodes"]): row for row in rows}
    sizes = [n for n in SIZES if any(row["nodes"] == n for row in rows)]
    forms = {"ratio": lambda row: f"{row['ratio']:.3f}", "messages": lambda row: f"{row['messages'] / (5 * row['nodes']):.3g}",
             "staleness": lambda row: f"{row['staleness']:.2f}"}
    for name, form in forms.items():
        lines = [[policy, *[form(found[policy, n]) if (policy, n) in found else "" for n in sizes]] for policy in POLICIES]
        tables.fill(HERE / "README.md", name, ["policy", *[f"{n:,}" for n in sizes]], lines)


def main():
    largest = int(sys.argv[1]) if 1 < len(sys.argv) else SIZES[-1]
    rows = []
    for n_nodes in [n for n in SIZES if n <= largest]:
        for policy, n_max in POLICIES.items():
            if n_max is None or n_nodes <= n_max:
                run = simulate(policy, n_nodes)
                rows.append({"policy": policy, "nodes": n_nodes, **{measure: run[measure] for measure in MEASURES}})
        shown = lambda value: f"{value:.5g}" if isinstance(value, float) else value
        tables.write(HERE / "results.csv", [{key: shown(value) for key, value in row.items()} for row in rows])
        draw(rows)
        fill(rows)


if __name__ == "__main__":
    main()
