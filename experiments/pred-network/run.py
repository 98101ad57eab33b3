#!/usr/bin/env python3
"""Predicts mini-apps for a slower network from a traced run on a faster one, and runs them there. Two virtual nodes with a
core each; the network is measured by `sintonia netbench`. Writes results.csv and fills the page. Needs root,
`cargo build --release --package cli --package probe`, and the programs that `experiments/auto/run.py build` makes.

usage: experiments/pred-network/run.py [REPETITIONS]
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402
from cluster import Cluster  # noqa: E402

SINTONIA = ROOT / "target/release/sintonia"
BUILT = ROOT / "target/experiments/auto/built/openmpi4"
PROGRAMS = {
    "CoMD": "CoMD/comd -i 2 -j 1 -k 1 -x 16 -y 16 -z 16 -N 60",
    "HPCCG": "HPCCG/hpccg 50 50 60",
    "miniFE": "miniFE/minife -nx 50 -ny 50 -nz 50",
    "miniMD": "miniMD/minimd -n 100 -s 20",
}
SLOW_MBIT = [200, 50]
TIMEOUT_S = 180


def launcher(cluster):
    words, variables = cluster.launcher(2)
    hosts = pathlib.Path(variables["OMPI_MCA_orte_default_hostfile"])
    hosts.write_text("sntx-n1 slots=1\nsntx-n2 slots=1\n")
    # Shared variables would be those of a shell; the launcher hands on what begins with OMPI_ by itself.
    return [*words[:-1], "2"], variables


def run(words, variables, folder):
    done = subprocess.run(words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **variables}, cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout


def measured_s(cluster, program, folder, trace=False):
    """Seconds between MPI_Init and MPI_Finalize."""
    words, variables = launcher(cluster)
    record = pathlib.Path(folder) / "record"
    shutil.rmtree(record, ignore_errors=True)
    options = ["--trace"] if trace else []
    options = [*options, "--quiet", "--no-html", "--sample=off", "--out", record]
    run([SINTONIA, "run", *options, "--", *words, *program], variables, folder)
    return json.loads((record / "summary.json").read_text())["elapsed_s"]


def network(cluster, folder):
    words, variables = launcher(cluster)
    path = pathlib.Path(folder) / "network.json"
    path.write_text(run([SINTONIA, "netbench", "--json", "--", *words], variables, folder))
    return path


def predicted_s(folder, machine):
    words = [SINTONIA, "predict", pathlib.Path(folder) / "record", "--engine", "composed", "--machine", machine, "--json"]
    return json.loads(run(words, {}, folder))["predictions"][0]["value"]


def main():
    n_repetitions = int(sys.argv[1]) if len(sys.argv) == 2 else 5
    rows = []
    with Cluster(2, 1.0) as cluster, tempfile.TemporaryDirectory() as folder:
        networks = {}
        for mbit in SLOW_MBIT:
            cluster.limit_nodes(mbit, burst_kb=3)
            networks[mbit] = pathlib.Path(folder) / f"network-{mbit}.json"
            network(cluster, folder).rename(networks[mbit])
        for name, line in PROGRAMS.items():
            path, *arguments = line.split()
            program = [BUILT / path, *arguments]
            shutil.copy(BUILT / "miniMD/in.lj.miniMD", folder)
            predictions = {mbit: [] for mbit in SLOW_MBIT}
            traced, measured = [], {mbit: [] for mbit in SLOW_MBIT}
            for _ in range(n_repetitions):
                cluster.limit_nodes(None)
                traced.append(measured_s(cluster, program, folder, trace=True))
                for mbit in SLOW_MBIT:
                    predictions[mbit].append(predicted_s(folder, networks[mbit]))
                for mbit in SLOW_MBIT:
                    cluster.limit_nodes(mbit, burst_kb=3)
                    measured[mbit].append(measured_s(cluster, program, folder))
            for mbit in SLOW_MBIT:
                was, said, traced_s = map(statistics.median, (measured[mbit], predictions[mbit], traced))
                rows.append({"program": name, "mbit_per_s": mbit, "traced_s": round(traced_s, 3), "measured_s": round(was, 3),
                             "predicted_s": round(said, 3), "error_percent": round(100 * (said / was - 1), 1)})
                print(rows[-1], flush=True)
    tables.write(HERE / "results.csv", rows)
    heads = ["program", "network, Mbit/s", "traced, s", "measured, s", "predicted, s", "error, %"]
    tables.fill(HERE / "README.md", "measured", heads, [list(map(str, row.values())) for row in rows])


if __name__ == "__main__":
    main()
