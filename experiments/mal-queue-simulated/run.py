#!/usr/bin/env python3
"""Runs `sintonia simulate queue` on ten drawn queues of 40 jobs in each of eight settings. Writes results.csv and
completion.svg, and fills the page. Needs `cargo build --release --package cli`.

usage: experiments/mal-queue-simulated/run.py [SINTONIA]
"""
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

SEEDS = range(1, 11)
WAYS = ["rigid", "moldable-small", "moldable-range", "malleable", "malleable-by-curve"]
# The first one is that of the bars; the last ones are chosen against malleable jobs.
SETTINGS = {
    "load 0.9": [],
    "load 0.6": ["--load", "0.6"],
    "load 1.5": ["--load", "1.5"],
    "all at once": ["--at-once"],
    "no speedup": ["--parallelism", "1"],
    "30 s each": ["--run-s", "30"],
    "price 120 s": ["--price-s", "120"],
    "120 s each, price 120 s": ["--run-s", "120", "--price-s", "120"],
}
FIGURES = ["makespan_s", "waiting_s", "completion_s", "node_hours", "resizes"]


def measure(sintonia):
    rows = []
    for setting, words in SETTINGS.items():
        for seed in SEEDS:
            command = [sintonia, "simulate", "queue", "--nodes", "32", "--jobs", "40", "--seed", str(seed), "--json", *words]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows += [{"setting": setting, "seed": seed, "way": found["way"],
                      **{name: f"{found[name]:.2f}" for name in FIGURES}} for found in json.loads(said)]
    return rows


def mean(rows, setting, way, figure):
    return statistics.mean(float(row[figure]) for row in rows if (row["setting"], row["way"]) == (setting, way))


def change(rows, setting, figure, of="malleable-by-curve"):
    """By how much the curve changes a mean, and in how many of the queues it lowers it."""
    def by(way, seed):
        return next(float(row[figure]) for row in rows
                    if (row["setting"], row["way"], row["seed"]) == (setting, way, str(seed)))

    def cell(way):
        share = mean(rows, setting, of, figure) / mean(rows, setting, way, figure) - 1
        return f"{100 * share:+.0f} % ({sum(by(of, seed) < by(way, seed) for seed in SEEDS)})"
    return cell


def minutes(seconds):
    return f"{seconds / 60:.1f}"


def report(rows):
    page = HERE / "README.md"
    lines = [[way, *[minutes(mean(rows, "load 0.9", way, name)) for name in FIGURES[:3]],
              f"{mean(rows, 'load 0.9', way, 'node_hours'):.0f}", f"{mean(rows, 'load 0.9', way, 'resizes'):.0f}"]
             for way in WAYS]
    header = ["way", "makespan, min", "mean waiting, min", "mean completion, min", "node-hours", "resizes"]
    tables.fill(page, "results", header, lines)
    lines = []
    for setting in SETTINGS:
        completion = change(rows, setting, "completion_s")
        lines.append([setting, *[completion(way) for way in WAYS[:4]], change(rows, setting, "makespan_s")("rigid"),
                      change(rows, setting, "makespan_s")("moldable-range"),
                      change(rows, setting, "node_hours")("malleable")])
    header = ["setting", *[f"completion: {way}" for way in WAYS[:4]], "makespan: rigid", "makespan: moldable-range",
              "node-hours: malleable"]
    tables.fill(page, "settings", header, lines)


def main():
    sintonia = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/sintonia")
    tables.write(HERE / "results.csv", measure(sintonia))
    rows = tables.read(HERE / "results.csv")
    means = {setting: {way: mean(rows, setting, way, "completion_s") for way in WAYS} for setting in SETTINGS}
    completion(HERE / "completion.svg", means)
    report(rows)


def completion(path, means):
    """Mean completion times by setting, as shares of those of rigid jobs."""
    colors = dict(zip(WAYS, ["#b0563b", "#c9a227", "#8a8a8a", "#7fb0d6", "#2f6f9f"]))
    left, top, tall, wide, scale = 170, 50, 12, 700, 140
    parts = [f'<text x="10" y="20">Mean completion time, as a share of that of rigid jobs (32 nodes, means of 10 queues)</text>']
    for place, (way, color) in enumerate(colors.items()):
        parts.append(f'<rect x="{10 + 135 * place}" y="28" width="10" height="10" fill="{color}"/>'
                     f'<text x="{24 + 135 * place}" y="37">{way}</text>')
    y = top
    for setting, found in means.items():
        parts.append(f'<text x="{left - 8}" y="{y + 36}" text-anchor="end">{setting}</text>')
        for way in WAYS:
            share = found[way] / found["rigid"]
            parts.append(f'<rect x="{left}" y="{y}" width="{min(scale * share, wide - left - 60):.1f}" height="{tall - 2}" '
                         f'fill="{colors[way]}"/><text x="{left + min(scale * share, wide - left - 60) + 4:.1f}" y="{y + 9}" '
                         f'font-size="9">{share:.2f}</text>')
            y += tall
        y += 10
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {y}" font-family="sans-serif" font-size="12">'
            f'<rect width="{wide}" height="{y}" fill="white"/>')
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))


if __name__ == "__main__":
    main()
