#!/usr/bin/env python3
"""Foretells held-out points of measured and made curves: by Sintonia, by the formula alone, by simple rules, by Extra-P.

usage: experiments/pred-real/run.py

Extra-P is used where `scripts/setup.sh bench` has installed it (target/venv-extrap); without, its columns stay empty.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

import curves  # noqa: E402
import picture  # noqa: E402

ROOT = HERE.parent.parent
SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
EXTRAP = ROOT / "target/venv-extrap/bin/python"
METHODS = ["ours", "formula alone", "a + b/p", "last slope", "Extra-P", "Extra-P, best setting"]
RATE = 0.95


def smape(said, measured):
    both = abs(said) + abs(measured)
    return 200 * abs(said - measured) / both if both else 0.0


def interval_score(low, high, measured):
    """Of logarithms: the width, and 2 / (1 - rate) for what lies outside (Gneiting and Raftery 2007)."""
    low, high, measured = (math.log(value) for value in (low, high, measured))
    return high - low + 2 / (1 - RATE) * (max(low - measured, 0) + max(measured - high, 0))


def seen_and_unseen(split):
    """For each curve of which enough is left: its name, parameters, points to fit and points to foretell."""
    for curve in split.curves:
        unseen = {at: values for at, values in curve.points.items() if split.is_unseen(curve, at)}
        seen = {at: values for at, values in curve.points.items() if at not in unseen}
        if unseen and 3 <= len(seen):
            yield curve.name, curve.parameters, seen, unseen


def lines(name, parameters, points):
    for at, values in points.items():
        for value in values:
            yield json.dumps({"params": dict(zip(parameters, at)), "value": value, "callpath": name, "metric": "time"})


def ours(folder, cases):
    """What Sintonia says: by curve and point, with its interval, and the formula's value."""
    (folder / "seen.jsonl").write_text("\n".join(line for name, names, seen, _ in cases for line in lines(name, names, seen)))
    (folder / "new.jsonl").write_text("\n".join(line for name, names, _, new in cases for line in lines(name, names, new)))
    subprocess.run([SINTONIA, "fit", folder / "seen.jsonl", "-o", folder / "models.json"], check=True, capture_output=True)
    done = subprocess.run([SINTONIA, "validate", folder / "models.json", folder / "new.jsonl", "--json"],
                          check=True, capture_output=True, text=True)
    said, names_of = {}, {name: names for name, names, _, _ in cases}
    for point in json.loads(done.stdout)["points"]:
        if point["region"] is not None:
            formula = [form["value"] for form in point["forms"] if form["form"] == "formula"]
            point["formula"] = formula[0] if formula else point["predicted"]
            names = names_of[point["region"]]
            said[point["region"], tuple(point["parameters"][name] for name in names)] = point
    return said


def divided(parameters, seen):
    """`a + b/p` without negative coefficients, fitted by relative error; of curves over p alone."""
    if len(parameters) != 1:
        return None
    points = [(at[0], statistics.median(values)) for at, values in seen.items()]
    row = [(1 / y, 1 / (p * y)) for p, y in points]
    aa, ab, bb = (sum(x[i] * x[j] for x in row) for i, j in ((0, 0), (0, 1), (1, 1)))
    a1, b1 = sum(x[0] for x in row), sum(x[1] for x in row)
    det = aa * bb - ab * ab
    a, b = ((bb * a1 - ab * b1) / det, (aa * b1 - ab * a1) / det) if det > 1e-12 * aa * bb else (-1, 0)
    if a < 0:
        a, b = 0, b1 / bb
    elif b < 0:
        a, b = a1 / aa, 0
    return lambda at: a + b / at[0]


def last_slope(parameters, seen):
    """The power law through the last two points; of curves over one parameter."""
    if len(parameters) != 1:
        return None
    (p0, y0), (p1, y1) = sorted((at[0], statistics.median(values)) for at, values in seen.items())[-2:]
    slope = math.log(y1 / y0) / math.log(p1 / p0)
    return lambda at: y1 * (at[0] / p1) ** slope


def extrap(folder, cases):
    """What Extra-P says with its default and with its best setting, by curve and point."""
    if not EXTRAP.exists():
        return {}
    asked = [{"name": name, "parameters": names,
              "seen": [{"point": at, "values": values} for at, values in seen.items()],
              "unseen": list(new)} for name, names, seen, new in cases]
    (folder / "cases.json").write_text(json.dumps(asked))
    script = HERE.parent / "common/extrap_curves.py"
    done = subprocess.run([EXTRAP, script, folder / "cases.json"], check=True, capture_output=True, text=True)
    return {(name, tuple(at), setting): value for name, at, setting, value in json.loads(done.stdout)}


def foretell(split):
    """A row for each held-out point."""
    cases = list(seen_and_unseen(split))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        said = ours(pathlib.Path(folder), cases)
        by_extrap = extrap(pathlib.Path(folder), cases)
    for name, parameters, seen, new in cases:
        rules = {"a + b/p": divided(parameters, seen), "last slope": last_slope(parameters, seen)}
        for at, values in new.items():
            point = said[name, at]
            row = {"set": split.name, "curve": name, "at": " ".join(f"{x:g}" for x in at),
                   "measured": statistics.median(values), "ours": point["predicted"],
                   "low": point["low"], "high": point["high"], "formula alone": point["formula"]}
            row |= {rule: fitted(at) if fitted else None for rule, fitted in rules.items()}
            row |= {"Extra-P": by_extrap.get((name, at, "default")), "Extra-P, best setting": by_extrap.get((name, at, "best"))}
            rows.append(row)
    return rows


def errors(rows, method):
    return [smape(row[method], row["measured"]) for row in rows if row[method] is not None]


def median_and_mean(all):
    return f"{statistics.median(all):.1f} / {statistics.fmean(all):.1f}" if all else ""


def main():
    if not SINTONIA.exists():
        sys.exit(f"{SINTONIA} is missing: build it with `cargo build --release -p cli`, or name it in SINTONIA")
    by_set, all_rows = [], []
    for split in curves.splits():
        rows = foretell(split)
        all_rows += rows
        inside = [row["low"] <= row["measured"] <= row["high"] for row in rows]
        positive = [row for row in rows if 0 < min(row["low"], row["measured"])]
        summary = {"set": split.name, "n_curves": len({row["curve"] for row in rows}), "n_points": len(rows),
                   "is_measured": split.is_measured}
        summary |= {method: median_and_mean(errors(rows, method)) for method in METHODS}
        summary["coverage"] = f"{100 * statistics.fmean(inside):.0f}"
        summary["width"] = f"{statistics.median(row['high'] / row['low'] for row in positive):.2f}"
        summary["interval_score"] = f"{statistics.fmean(interval_score(row['low'], row['high'], row['measured']) for row in positive):.2f}"
        by_set.append(summary)
        print(*(f"{key} {value}," for key, value in summary.items()), flush=True)
    tables.write(HERE / "results.csv", by_set)
    by_curve = {}
    for row in all_rows:
        by_curve.setdefault((row["set"], row["curve"]), []).append(row)
    tables.write(HERE / "curves.csv", [
        {"set": key[0], "curve": key[1], "n_points": len(rows)}
        | {method: f"{statistics.fmean(errors(rows, method)):.2f}" if errors(rows, method) else "" for method in METHODS}
        | {"n_within": sum(row["low"] <= row["measured"] <= row["high"] for row in rows)}
        for key, rows in by_curve.items()])
    header = ["held out", "curves", "points", *METHODS, "within, %", "high / low"]
    for name, is_measured in (("measured", 1), ("made", 0)):
        tables.fill(HERE / "README.md", name, header, [
            [row["set"], str(row["n_curves"]), str(row["n_points"]), *(row[method] for method in METHODS), row["coverage"], row["width"]]
            for row in by_set if row["is_measured"] == is_measured])
    within = statistics.fmean(row["low"] <= row["measured"] <= row["high"] for row in all_rows)
    print(f"{100 * within:.1f} % of all points lie within their intervals")
    picture.write(HERE / "results.svg", by_set, METHODS)
    picture.curves(HERE / "opensbli.svg", curves.opensbli(), [row for row in all_rows if row["set"] == "OpenSBLI, two largest p"])


if __name__ == "__main__":
    main()
