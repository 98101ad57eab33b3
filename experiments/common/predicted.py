"""A published table, predicted from a part of it: by Sintonia, by Extra-P, and by the source's own method.

Extra-P is used where `scripts/setup.sh bench` has installed it (target/venv-extrap); without, its columns stay empty.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import panels
import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
EXTRAP = ROOT / "target/venv-extrap/bin/python"
COLUMNS = {"source": "source_s", "ours": "ours_s", "Extra-P, default": "extrap_s",
           "Extra-P, best setting": "extrap_best_s", "pseudo-inverse": "pinv_s"}


def sintonia(*words):
    done = subprocess.run([SINTONIA, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def ours(folder, rows, names, options=()):
    """Fits the rows that are seen; predictions at all of them, low and high ends, and the model as text."""
    seen = [{**{name: row[name] for name in names}, "time": row["measured_s"]} for row in rows if row["seen"]]
    tables.write(folder / "seen.csv", seen)
    (fitted,) = sintonia("fit", folder / "seen.csv", "-o", folder / "models.json", "--json", *options)
    said = []
    for row in rows:
        at = [word for name in names for word in ("--set", f"{name}={row[name]}")]
        said.append(sintonia("predict", folder / "models.json", "--json", *at)["predictions"][0])
    return said, fitted["model"]


def extrap(folder, rows, names):
    """Predictions of Extra-P at all rows by setting, from those that are seen; nothing where it is not installed."""
    if not EXTRAP.exists():
        return {}
    points = [[float(row[name]) for name in names] for row in rows]
    measured = [{"point": point, "values": [float(row["measured_s"])]}
                for point, row in zip(points, rows) if row["seen"]]
    experiment = {"parameters": list(names), "measurements": {"program": {"time": measured}}}
    (folder / "measured.json").write_text(json.dumps(experiment))
    (folder / "points.json").write_text(json.dumps(points))
    script = pathlib.Path(__file__).with_name("extrap_points.py")
    done = subprocess.run([EXTRAP, script, folder / "measured.json", folder / "points.json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def fill(rows, names, terms):
    """Adds to the rows what each method says of them; the models as text."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        said, model = ours(folder, rows, names)
        models = {"ours": model}
        by_extrap = extrap(folder, rows, names)
        pinv, models["pseudo-inverse"] = ours(
            folder, rows, names, ["--method", "pseudo-inverse", "--samples", "mean", "--terms", ",".join(terms)])
    for name, setting in (("Extra-P, default", "default"), ("Extra-P, best setting", "best")):
        if setting in by_extrap:
            models[name] = by_extrap[setting]["model"]
    for at, row in enumerate(rows):
        row["ours_s"], row["low_s"], row["high_s"] = (f"{said[at][key]:.6g}" for key in ("value", "low", "high"))
        for column, setting in (("extrap_s", "default"), ("extrap_best_s", "best")):
            row[column] = f"{by_extrap[setting]['values'][at]:.6g}" if setting in by_extrap else ""
        row["pinv_s"] = f"{pinv[at]['value']:.6g}"
    return models


def smape(rows, column):
    """Symmetric mean absolute error over rows, in percent; nothing where a method says nothing."""
    pairs = [(float(row[column]), float(row["measured_s"])) for row in rows if row.get(column)]
    if not pairs:
        return None
    return sum(200 * abs(said - true) / (abs(said) + abs(true)) for said, true in pairs) / len(pairs)


def summary(rows, models):
    """Rows of the table of methods: error at points that are seen, and at others; the model."""
    seen, unseen = ([row for row in rows if row["seen"] == wanted] for wanted in (True, False))
    percent = lambda value: "" if value is None else f"{value:.2f} %"
    made = []
    for name, column in COLUMNS.items():
        if smape(unseen, column) is not None:
            within = [float(row["low_s"]) <= float(row["measured_s"]) <= float(row["high_s"]) for row in unseen]
            held = f"{sum(within)} of {len(within)}" if name == "ours" else ""
            text = models.get(name, "").replace("|", "\\|")
            made.append([name, percent(smape(seen, column)), percent(smape(unseen, column)), held,
                         f"`{text}`" if text else ""])
    return made


def points(rows, names):
    """Rows of the table of points that were not seen."""
    made = []
    for row in rows:
        if not row["seen"]:
            cells = [row[name] for name in names] + [f"{float(row['measured_s']):.4g}"]
            for column in COLUMNS.values():
                error = 100 * (float(row[column]) / float(row["measured_s"]) - 1) if row.get(column) else None
                cells.append("" if error is None else f"{float(row[column]):.4g} ({error:+.1f} %)")
            made.append(cells)
    return made


def table(here, rows, names, terms, across, groups):
    """Predicts, writes source-fit.csv and source-fit.svg, and fills the page; `rows` have measured_s, source_s, seen."""
    models = {}
    for group in {row.get("case", ""): None for row in rows}:
        of_group = [row for row in rows if row.get("case", "") == group]
        models[group] = fill(of_group, names, terms)
        page = f" {group}" if group else ""
        tables.fill(here / "README.md", f"source{page}",
                    ["method", "error where fitted", "error where predicted", "within", "model"],
                    summary(of_group, models[group]))
        tables.fill(here / "README.md", f"points{page}", [*names, "measured", *COLUMNS], points(of_group, names))
    tables.write(here / "source-fit.csv", [{**row, "seen": "yes" if row["seen"] else "no"} for row in rows])
    panels.write(here / "source-fit.svg", rows, across, groups)
    return models


def main(here, source):
    """The command of an experiment: `run.py [source|here]`, both without a word."""
    words = sys.argv[1:] or ["source", "here"]
    if not set(words) <= {"source", "here"}:
        sys.exit("usage: run.py [source|here]")
    if "source" in words:
        source()
    if "here" in words and (here / "here.py").exists():
        subprocess.run([sys.executable, here / "here.py"], check=True)
