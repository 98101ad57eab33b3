#!/usr/bin/env python3
"""Makes a program of others malleable by a patch, resizes it 200 times under each MPI library, and compares what it prints.

    run.py [--from FOLDER]     FOLDER: a clone of the program, instead of its public address
"""

import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ADDRESS = "https://github.com/Mantevo/miniFE"
COMMIT = "c79e0f7f7afdd6c8191936efce7a668316159cc3"
LIBRARIES = {"Open MPI 5": ("venv-openmpi5", ["--oversubscribe", "--bind-to", "none"]), "MPICH 5": ("venv-mpich5", [])}
N_RESIZES = 200
PROBLEM = ["nx=12", "ny=12", "nz=12"]
# It needs 30 iterations, so each run has these resizes.
SCHEDULE = "2:3,5:2,8:4,11:1,14:3,17:2,20:4,23:1,26:3"
LIMIT_S = 120


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", help="a clone of the program")
    source = parser.parse_args().source
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        clone = source or fetch(folder / "clone")
        for library, (environment, options) in LIBRARIES.items():
            program = build(clone, folder / environment, ROOT / "target" / environment / "bin")
            rows.append({"program": "miniFE", "library": library, **resized(program, environment, options)})
    with open(HERE / "results.csv", "w", newline="") as results:
        writer = csv.DictWriter(results, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(*rows, sep="\n")
    sys.exit(any(row["hangs"] or row["failures"] or row["wrong_residuals"] for row in rows))


def fetch(folder):
    subprocess.run(["git", "clone", "--quiet", ADDRESS, folder], check=True)
    return folder


def build(clone, folder, compilers):
    """Builds the patched program for the MPI library of these compilers; returns its path."""
    folder.mkdir()
    archive = subprocess.run(["git", "-C", clone, "archive", COMMIT, "ref"], check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "x"], cwd=folder, input=archive.stdout, check=True)
    subprocess.run(["git", "apply", HERE / "minife.patch"], cwd=folder, check=True)
    header = ROOT / "crates/libraries/malleable-c/include"
    library = ROOT / "target/release"
    flags = f"-O2 -w -DHAVE_MPI -DOMPI_SKIP_MPICXX -I{header} -include malleable_world.hpp"
    make = ["make", "--silent", "-f", "Makefile.gnu.serial", f"CXX={compilers / 'mpicxx'}", f"CXXFLAGS={flags}"]
    make += [f"LIBS=-L{library} -lsintonia_malleable -Wl,-rpath,{library} -lm"]
    for target in (["common_files", "generate_info"], ["miniFE.x"]):
        subprocess.run(make + target, cwd=folder / "ref/src", check=True, stdout=subprocess.DEVNULL)
    return folder / "ref/src/miniFE.x"


def resized(program, environment, options):
    """Runs the program on one rank, then with resizes until there were enough."""
    launch = [ROOT / "target" / environment / "bin/mpiexec", *options, "-n", "1", program, *PROBLEM]
    unchanged = run(launch, program.parent, "")
    counts = {"runs": 0, "resizes": 0, "not_done": 0, "hangs": 0, "failures": 0, "wrong_residuals": 0}
    record = program.parent / "record"
    words = f"--foreground --check-every 1 --redistribution sync --schedule {SCHEDULE} --record {record}"
    while counts["resizes"] < N_RESIZES and counts["hangs"] + counts["failures"] < 5:
        (record / "resizes.jsonl").unlink(missing_ok=True)
        found = run(launch, program.parent, words)
        counts["runs"] += 1
        counts["hangs"] += found is None
        counts["failures"] += found == []
        counts["wrong_residuals"] += bool(found) and found != unchanged
        for line in (record / "resizes.jsonl").read_text().splitlines():
            is_done = json.loads(line)["outcome"] == "done"
            counts["resizes" if is_done else "not_done"] += 1
    return counts


def run(launch, folder, words):
    """Residuals that the program prints while it iterates; `None` for a hang, and nothing for a failure."""
    control = f"--control {folder / 'control'}"
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    variables = {**os.environ, **as_root, "SINTONIA_MALLEABLE": f"{control} {words}"}
    started = subprocess.Popen(
        launch, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output = started.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, 9)
        started.communicate()
        return None
    is_whole = started.returncode == 0 and "Final Resid Norm" in output
    return re.findall(r"^(?:Initial|Iteration).*esidual = .*$", output, re.M) if is_whole else []


main()
