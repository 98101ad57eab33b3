#!/usr/bin/env python3
"""The source's twelve tables of tasks over eight nodes, simulated, and our own policies in the same scenarios. Writes
results.csv and results.svg and fills the page. Needs `cargo build --release --package cli` first.

usage: experiments/bal-experiments/run.py [SEEDS]
"""
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
# Calibrated once, on figures that are no ratios: see the page.
AS_SOURCE = ["--detection", "measured", "--measure-s", "1", "--stray", "0.005", "--latency-ms", "0.1"]
# As a daemon: it looks four times a second.
AT_ONCE = ["--measure-s", "0.25", "--latency-ms", "0.1"]
ENTRIES = {"1": "0", "2": "0,4"}
OURS = ["subscription", "power-of-two", "stealing", "adaptive", "forwarding", "forwarding@overlapping:2",
        "forwarding@overlapping:4", "event", "periodic:3", "on-demand"]
MEASURES = ["messages", "messages_all", "accepted", "not_accepted", "t_dist_s", "t_exec_s", "ratio", "efficiency"]
COLORS = {"source": "#b0563b", "here": "#2f6f9f"}


def simulate(policy, scenario, options, seed):
    words = [SINTONIA, "simulate", "balance", "--nodes", "8", "--cores", "1", "--tasks", "160", "--arrival-s", "1", "--task-s", "19.8",
             "--entry", ENTRIES[scenario], "--policy", policy, "--seed", str(seed), "--json", *options]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def measured(policy, scenario, options, n_seeds):
    runs = [simulate(policy, scenario, options, seed) for seed in range(1, n_seeds + 1)]
    row = {measure: statistics.fmean(run[measure] for run in runs) for measure in MEASURES}
    return row | {"ratio_std": statistics.stdev(run["ratio"] for run in runs) if 1 < n_seeds else 0}


def policy_of(row):
    """The source's names as ours."""
    rule = row["policy"].replace("on_demand", "on-demand").replace("periodic_", "periodic:")
    domain = row["domain"] if row["domain"] == "global" else f"{row['domain']}:{row['domain_size']}"
    return f"{rule}@{domain}"


def written(row):
    return {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}


def pair(source, here, form):
    return f"{form(float(source))} / {form(here)}"


def fill_tables(rows, source):
    whole, three, power = (lambda x: f"{x:.0f}"), (lambda x: f"{x:.3f}"), (lambda x: f"{x:.2e}")
    columns = [("messages", whole), ("accepted", whole), ("not_accepted", whole), ("t_dist_s", whole), ("t_exec_s", whole),
               ("ratio", three), ("efficiency", power)]
    groups = {}
    for theirs, ours in zip(source, rows):
        groups.setdefault((theirs["scenario"], theirs["domain"], theirs["domain_size"]), []).append((theirs, ours))
    for (scenario, domain, size), some in groups.items():
        lines = [[theirs["policy"].replace("_", " ")] + [pair(theirs[key], ours[key], form) for key, form in columns]
                 for theirs, ours in some]
        tables.fill(HERE / "README.md", f"{scenario} {domain} {size}", ["rule", *[key for key, _ in columns]], lines)


def fill_ours(rows):
    lines = [[row["scenario"], row["policy"], row["detection"], f"{row['ratio']:.3f}", f"{row['messages']:.0f}",
              f"{row['messages_all']:.0f}", f"{row['accepted']:.0f}", f"{row['not_accepted']:.0f}", f"{row['efficiency']:.2e}"]
             for row in rows]
    header = ["scenario", "policy", "detection", "ratio", "messages", "all messages", "accepted", "not accepted", "efficiency"]
    tables.fill(HERE / "README.md", "ours", header, lines)


def draw(rows, source):
    """Ratios of the source over ours: what lies on the line is the same."""
    size, left, top = 400, 60, 50
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (size + left) + 40} {size + 110}" font-family="sans-serif" '
             f'font-size="12"><rect width="100%" height="100%" fill="white"/>']
    kinds = {"event": "#b0563b", "periodic": "#2f6f9f", "on_demand": "#2d8a5f"}
    for at, scenario in enumerate(("1", "2")):
        x0 = left + at * (size + left)
        x, y = (lambda ratio: x0 + size * ratio), (lambda ratio: top + size * (1 - ratio))
        parts.append(f'<text x="{x0}" y="{top - 12}">Scenario {scenario}: t_opt / t_exec of the source (across) and here (up)</text>'
                     f'<path d="M{x0} {top}v{size}h{size}" fill="none" stroke="#999"/>'
                     f'<path d="M{x(0)} {y(0)}L{x(1)} {y(1)}" stroke="#ccc"/>')
        for tick in (0, 0.25, 0.5, 0.75, 1):
            parts.append(f'<text x="{x(tick)}" y="{y(0) + 16}" text-anchor="middle">{tick:g}</text>'
                         f'<text x="{x0 - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
        for theirs, ours in zip(source, rows):
            if theirs["scenario"] == scenario:
                color = next(color for kind, color in kinds.items() if theirs["policy"].startswith(kind))
                parts.append(f'<circle cx="{x(float(theirs["ratio"])):.1f}" cy="{y(ours["ratio"]):.1f}" r="4" fill="{color}" '
                             f'fill-opacity="0.7"><title>{ours["policy"]}</title></circle>')
    for at, (kind, color) in enumerate(kinds.items()):
        parts.append(f'<circle cx="{left + 110 * at}" cy="{size + 92}" r="4" fill="{color}"/>'
                     f'<text x="{left + 110 * at + 10}" y="{size + 96}">{kind.replace("_", " ")}</text>')
    (HERE / "results.svg").write_text("\n".join([*parts, "</svg>\n"]))


def main():
    n_seeds = int(sys.argv[1]) if 1 < len(sys.argv) else 20
    source = tables.read(HERE / "source.csv")
    rows = [{"scenario": row["scenario"], "policy": policy_of(row), "detection": "measured",
             **measured(policy_of(row), row["scenario"], AS_SOURCE, n_seeds)} for row in source]
    ours = [{"scenario": scenario, "policy": policy, "detection": name, **measured(policy, scenario, options, n_seeds)}
            for scenario in ENTRIES for name, options in (("at once", AT_ONCE), ("measured", AS_SOURCE)) for policy in OURS]
    tables.write(HERE / "results.csv", [written(row) for row in rows + ours])
    fill_tables(rows, source)
    fill_ours(ours)
    draw(rows, source)
    errors = [abs(row["ratio"] - float(theirs["ratio"])) for row, theirs in zip(rows, source)]
    print(f"{len(rows)} rows: ratios differ by {statistics.median(errors):.3f} in the median, {max(errors):.3f} at most")


if __name__ == "__main__":
    main()
