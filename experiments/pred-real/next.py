#!/usr/bin/env python3
"""Error at a target by core-hours: points chosen by `sintonia experiment --next`, the cheapest first, and in random order.

usage: experiments/pred-real/next.py

Curves over two parameters; the target has the largest value of both and is never measured, nor is anything else with its
number of processes. Costs are those of what was measured: processes times time.
"""
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

import curves  # noqa: E402

SINTONIA = pathlib.Path(os.environ.get("SINTONIA", HERE.parent.parent / "target/release/sintonia"))
# Shares of the cost of all points.
SHARES = [0.1, 0.25, 0.5, 1.0]
WAYS = ["--next", "cheapest first", "random"]


def sintonia(*words):
    return subprocess.run([SINTONIA, *map(str, words)], check=True, capture_output=True, text=True).stdout


def value(curve, at):
    return statistics.median(curve.points[at])


def line(curve, at, measured):
    return json.dumps({"params": dict(zip(curve.parameters, at)), "value": measured, "callpath": "total", "metric": "time"})


def write(path, curve, points):
    path.write_text("\n".join(line(curve, at, one) for at in points for one in curve.points[at]) + "\n")


def error(folder, curve, points, target):
    """What is said of the target from these points: error, and the ratio of the interval's ends."""
    write(folder / "seen.jsonl", curve, points)
    (folder / "target.jsonl").write_text(line(curve, target, value(curve, target)) + "\n")
    sintonia("fit", folder / "seen.jsonl", "-o", folder / "models.json")
    (said,) = [point for point in json.loads(sintonia("validate", folder / "models.json", folder / "target.jsonl", "--json"))["points"]
               if point["region"] is None]
    both = abs(said["predicted"]) + abs(said["measured"])
    return 200 * abs(said["predicted"] - said["measured"]) / both, said["high"] / max(said["low"], 1e-300)


def by_next(folder, curve, open_points, target):
    """The next point that `--next` names, again and again."""
    values = {name: sorted({at[idx] for at in open_points}) for idx, name in enumerate(curve.parameters)}
    grid = "".join(f"{name} = {json.dumps(all)}\n" for name, all in values.items())
    (folder / "plan.toml").write_text(f"command = 'program'\nrepetitions = 1\n[parameters]\n{grid}")
    done = []
    while len(done) < len(open_points):
        (folder / "out").mkdir(exist_ok=True)
        if done:
            write(folder / "out/measurements.jsonl", curve, done)
        asked = [word for name, x in zip(curve.parameters, target) for word in ("--target", f"{name}={x:g}")]
        n = 5 if not done else 1
        said = json.loads(sintonia("experiment", folder / "plan.toml", "-o", folder / "out", "--dry-run", "--json", "--next", n, *asked))
        named = [tuple(point["params"][name] for name in curve.parameters) for point in said["next"]["points"]]
        named = [at for at in named if at in open_points and at not in done]
        if not named:
            break
        for at in named:
            done.append(at)
            yield at


def orders(folder, curve, open_points, target):
    chance = random.Random(curve.name)
    shuffled = chance.sample(sorted(open_points), len(open_points))
    yield "--next", by_next(folder, curve, open_points, target)
    yield "cheapest first", iter(sorted(open_points, key=lambda at: at[0] * value(curve, at)))
    yield "random", iter(shuffled)


def follow(folder, curve, order, target, budgets):
    """Errors and ratios when each budget is spent."""
    points, spent, outcome, results = [], 0.0, None, []
    waiting = next(order, None)
    for budget in budgets:
        changed = False
        while waiting is not None and spent + waiting[0] * value(curve, waiting) <= budget:
            points.append(waiting)
            spent += waiting[0] * value(curve, waiting)
            changed, waiting = True, next(order, None)
        if changed and 5 <= len(points):
            outcome = error(folder, curve, points, target)
        results.append((outcome, len(points)))
    return results


def main():
    sets = [("RELeARN", [c for c in curves.relearn() if all(min(v) > 0 for v in c.points.values())]),
            ("sorts, whole program", curves.sorts("max_s", "main")),
            ("made physics", curves.physics(14, 5, True))]
    rows = []
    for name, all_curves in sets:
        found = {}
        for curve in all_curves:
            target = max(curve.points, key=lambda at: (at[0], at[1]))
            open_points = [at for at in curve.points if at[0] < target[0]]
            whole = sum(at[0] * value(curve, at) for at in open_points)
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                for way, order in orders(folder, curve, open_points, target):
                    budgets = [share * whole * 1.000001 for share in SHARES]
                    for share, result in zip(SHARES, follow(folder, curve, order, target, budgets)):
                        found.setdefault((way, share), []).append(result)
        for way in WAYS:
            row = {"set": name, "n_curves": len(all_curves), "points": way}
            for share in SHARES:
                results = found[way, share]
                errors = [outcome[0] if outcome else 200.0 for outcome, _ in results]
                n = statistics.median(n for _, n in results)
                row[f"{100 * share:.0f} % of the cost"] = f"{statistics.median(errors):.0f} ({n:.0f})"
            rows.append(row)
            print(row, flush=True)
    tables.write(HERE / "next.csv", rows)
    tables.fill(HERE / "README.md", "next", list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])


if __name__ == "__main__":
    main()
