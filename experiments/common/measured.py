"""Experiments on this machine: `sintonia experiment`, `fit` and `validate` in a row, and what came of it as table and picture.

Workers run on the nodes of a virtual cluster. More of them than there are cores have to be asleep most of the time.
"""
import json
import os
import pathlib
import subprocess
import sys

import panels
import tables
from cluster import Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SINTONIA = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
# What is measured stays here, so that a measurement that was interrupted goes on.
KEPT = ROOT / "target/experiments"
# What a command on the cluster begins with: the master here, and a worker on each of p nodes.
LAUNCHER = "mpirun.openmpi -np {p + 1}"
# Other programs use this machine: only runs near the fastest one count.
SAMPLES = ["--samples", "near-minimum:0.1"]
# The file with the nodes of a run, for Open MPI.
HOSTS = "OMPI_MCA_orte_default_hostfile"


def matmul():
    """The programs of apps/matmul, built for the library of the cluster."""
    build = ROOT / "target/matmul-openmpi"
    words = ["make", "--silent", "-C", ROOT / "apps/matmul", "MPICC=mpicc.openmpi", f"BUILD={build}"]
    subprocess.run(words, check=True)
    return build


def plan(command, parameters, holdout, on_nodes=True, **fields):
    """The text of a plan; TOML writes lists and strings as JSON does."""
    lines = [f"command = {json.dumps(command)}"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    if on_nodes:
        lines += ["[environment]", f"{HOSTS} = {json.dumps(str(KEPT / 'hosts-{p}'))}"]
    lines.append("[parameters]")
    lines += [f"{name} = {values}" for name, values in parameters.items()]
    for grid in holdout:
        lines += ["[[holdout]]", *(f"{name} = {values}" for name, values in grid.items())]
    return "\n".join([*lines, ""])


def measure(name, text, nodes=()):
    """Does the runs of a plan, on a cluster where `nodes` has the numbers of workers; where they are, and what is said."""
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.toml").write_text(text)
    if not nodes:
        return run(name, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                          "OMPI_MCA_mpi_yield_when_idle": "1"})
    with Cluster(max(nodes), cpu_share=1) as cluster:
        for n_workers in nodes:
            _, variables = cluster.launcher(n_workers)
            hosts = pathlib.Path(variables.pop(HOSTS))
            (KEPT / f"hosts-{n_workers}").write_text(hosts.read_text())
        return run(name, variables)


def run(name, variables):
    words = [SINTONIA, "experiment", KEPT / f"{name}.toml", "-o", KEPT / name, "--json"]
    done = subprocess.run(words, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"`sintonia experiment` ended with {done.returncode}:\n{done.stdout}")
    return KEPT / name, json.loads(done.stdout)


def sintonia(*words):
    done = subprocess.run([SINTONIA, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def judge(folder, case=""):
    """Fits what is to be fitted; a row for each point, composed and as a whole, and the models of both."""
    models = folder.with_suffix(".models.json")
    fitted = {one["region"]: one["model"] for one in sintonia("fit", folder, "-o", models, "--json", *SAMPLES)
              if one["metric"] == "time"}
    rows = {}
    for file, is_seen in (("measurements.jsonl", True), ("holdout.jsonl", False)):
        for point in sintonia("validate", models, folder / file, "--json", *SAMPLES)["points"]:
            if point["region"] not in (None, "total"):
                continue
            key = tuple(point["parameters"].values())
            row = rows.setdefault(key, {"case": case} if case else {})
            row.update({name: f"{value:g}" for name, value in point["parameters"].items()})
            row.update({"measured_s": f"{point['measured']:.5g}", "seen": "yes" if is_seen else "no"})
            prefix = "composed_" if point["region"] is None else "whole_"
            for column, key in (("s", "predicted"), ("low_s", "low"), ("high_s", "high")):
                row[prefix + column] = f"{point[key]:.5g}"
    return [rows[key] for key in sorted(rows)], fitted["total"]


def summary(rows, way):
    """Mean error in percent, and how many of how many points lie in their interval, of those that were not fitted."""
    unseen = [row for row in rows if row["seen"] == "no"]
    errors = [100 * abs(float(row[f"{way}_s"]) / float(row["measured_s"]) - 1) for row in unseen]
    held = [float(row[f"{way}_low_s"]) <= float(row["measured_s"]) <= float(row[f"{way}_high_s"]) for row in unseen]
    return sum(errors) / len(errors), max(errors), sum(held), len(held)


def report(here, judged, names, groups):
    """Writes results.csv and results.svg and fills the page; `judged` has rows, model and what was said of each case."""
    rows = [row for one in judged for row in one[0]]
    tables.write(here / "results.csv", rows)
    drawn = [{**row, "seen": row["seen"] == "yes", "ours_s": row["composed_s"]} for row in rows]
    panels.write(here / "results.svg", drawn, names[0], groups)
    lines, points = [], []
    for some, model, said in judged:
        case = some[0].get("case", "")
        for way in ("composed", "whole"):
            mean, most, n_held, n = summary(some, way)
            text = f"`{model}`" if way == "whole" else "sum of the regions"
            label = f"{case}, {way}" if case else way
            lines.append([label, f"{mean:.2f} %", f"{most:.2f} %", f"{n_held} of {n}", text])
            print(f"{here.name} {label}: mean error {mean:.2f} %, at most {most:.2f} %, {n_held} of {n} within")
        print(f"noise: {said['noise']}")
        for row in some:
            if row["seen"] == "no":
                measured = float(row["measured_s"])
                cells = [f"{float(row[f'{way}_s']):.4g} ({100 * (float(row[f'{way}_s']) / measured - 1):+.1f} %)"
                         for way in ("composed", "whole")]
                span = f"{float(row['composed_low_s']):.4g} to {float(row['composed_high_s']):.4g}"
                points.append([*([case] if case else []), *(row[name] for name in names), f"{measured:.4g}", *cells, span])
    tables.fill(here / "README.md", "here",
                ["model", "mean error", "largest error", "within", "formula"], lines)
    first = ["case"] if judged[0][0][0].get("case") else []
    tables.fill(here / "README.md", "here points",
                [*first, *names, "measured", "composed", "whole", "interval of the composed one"], points)
