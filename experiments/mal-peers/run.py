#!/usr/bin/env python3
"""Changes the size of a small program: by hand, as MPI users do it, and by Sintonia's library. Fills the page. Needs
`scripts/setup.sh test` and `cargo build --release --package malleable-c`; with `nodes` it has to be root.

usage: experiments/mal-peers/run.py [--repetitions N] [--peers NAME,...] [--libraries NAME,...] [--mb N,...] [--changes A:B,...]
       experiments/mal-peers/run.py nodes [--repetitions N] [--peers NAME,...] [--mb N,...] [--mbit N,...] [--changes A:B,...]
       experiments/mal-peers/run.py report        from `runs.csv`, as the first one writes it
"""
import argparse
import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

ROOT = HERE.parent.parent
TARGET = ROOT / "target"
LIBRARIES = {
    "MPICH": ("venv-mpich5", []),
    "Open MPI": ("venv-openmpi5", ["--oversubscribe", "--bind-to", "none"]),
}
# What Sintonia's library sets by itself, for all programs here.
VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_coll": "^han", "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,sm,tcp", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_mpi_yield_when_idle": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp;ofi_rxm", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
}
# The program and its further arguments.
PEERS = {
    "merge": ("bare", ["merge"]),
    "anew": ("bare", ["anew"]),
    "sync": ("ours", ["--redistribution", "sync"]),
    "async": ("ours", ["--redistribution", "async"]),
    "auto": ("ours", []),
}
COLORS = {"merge": "#b0563b", "anew": "#dfae9e", "sync": "#777777", "async": "#7a9e3b", "auto": "#2f6f9f"}
CHANGES, CHANGES_ON_NODES = [(2, 4), (4, 8), (4, 2), (8, 4)], [(1, 2), (2, 1), (2, 4), (4, 2)]
ROW_BYTES = 128
# An iteration takes this on one rank; the size changes at that one, and so many follow with the new size.
WORK_US, CHANGE_AT, N_AFTER, N_MOST = 80_000, 20, 20, 5_000
# Iterations of a run on two nodes.
N_ON_NODES = 120
LIMIT_S, N_TRIES = 120, 3
# The first iterations are not like others.
N_WARM = 5
MEASURES = {
    "wait_s": "visible wait",
    "switch_s": "from wish to switch",
    "lost_s": "lost",
    "release_s": "release",
}


class Failed(Exception):
    """A run that did not do what it should."""


class Ends(threading.Thread):
    """Notes when the processes end that appear in a folder."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.seen, self.ended_ns, self.is_over = folder, {}, {}, False
        self.start()

    def run(self):
        poll = select.poll()
        while not self.is_over:
            for file in self.folder.glob("process.*"):
                pid = int(file.suffix[1:])
                if pid not in self.seen:
                    self.seen[pid] = os.pidfd_open(pid)
                    poll.register(self.seen[pid], select.POLLIN)
            pids = {descriptor: pid for pid, descriptor in self.seen.items()}
            for descriptor, _ in poll.poll(20):
                self.ended_ns[pids[descriptor]] = time.monotonic_ns()
                poll.unregister(descriptor)
                os.close(descriptor)

    def stop(self):
        self.is_over = True
        self.join()
        return self.ended_ns


def build(folder):
    """Both programs for both MPI libraries."""
    for environment, _ in LIBRARIES.values():
        for program in ("bare", "ours"):
            words = [TARGET / environment / "bin/mpicc", "-O2", HERE / f"{program}.c", "-o", folder / f"{program}-{environment}"]
            if program == "ours":
                release = TARGET / "release"
                words += [f"-I{ROOT / 'crates/libraries/malleable-c/include'}", f"-L{release}", "-lsintonia_malleable",
                          f"-Wl,-rpath,{release}"]
            subprocess.run([str(word) for word in words], check=True)


def run(launch, program, peer, megabytes, change, length=(N_AFTER, N_MOST)):
    """The notes of a run: a row `(iteration, begin, end, size)` for each iteration, the ends of processes that left,
    and the library's record of the change."""
    before, after = change
    n_after, n_iterations = length
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        n_rows = megabytes * 1_000_000 // ROW_BYTES
        words = [*launch.words, "-n", before, *launch.options(before), program, folder, n_rows, WORK_US, CHANGE_AT, after, n_after,
                 n_iterations, *PEERS[peer][1]]
        if PEERS[peer][0] == "ours":
            words += ["--schedule", f"{CHANGE_AT}:{after}", "--check-every", "1", "--control", folder / "control",
                      "--record", folder, *launch.own]
        words = [str(word) for word in words]
        ends = Ends(folder)
        started = subprocess.Popen(words, env=launch.variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            output, errors = started.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)
            started.communicate()
            raise Failed(f"`{' '.join(words)}` took longer than {LIMIT_S} s") from None
        finally:
            ended_ns = ends.stop()
        if started.returncode != 0 or not re.search(r"^\d+ rows, 0 wrong values$", output, re.M):
            raise Failed(f"`{' '.join(words)}` ended with {started.returncode}:\n{output}{errors}")
        notes, left_ns = [], []
        for file in folder.glob("notes.*"):
            how, *lines = file.read_text().splitlines()
            notes += [tuple(map(int, line.split())) for line in lines]
            if how == "left":
                left_ns.append(ended_ns.get(int(file.suffix[1:]), time.monotonic_ns()))
        if not any(size == after for *_, size in notes):
            raise Failed(f"`{' '.join(words)}` kept its size:\n{output}{errors}")
        record = folder / "resizes.jsonl"
        done = json.loads(record.read_text().splitlines()[-1]) if record.exists() else {}
        return sorted(notes), left_ns, done


def measured(notes, left_ns, after):
    """The quantities of the page, in seconds."""
    asked_ns = next(end for iteration, _, end, _ in notes if iteration == CHANGE_AT - 1)
    switched, switched_ns = next((iteration, begin) for iteration, begin, _, size in notes
                                 if CHANGE_AT <= iteration and size == after)
    begins = [begin for iteration, begin, _, _ in notes if N_WARM <= iteration <= CHANGE_AT]
    usual_ns = statistics.median(next_one - one for one, next_one in zip(begins[:-2], begins[1:-1]))
    computed_ns = sum(end - begin for iteration, begin, end, _ in notes if CHANGE_AT <= iteration < switched)
    n_meanwhile = switched - CHANGE_AT
    all_ns = switched_ns - asked_ns
    return {"wait_s": 1e-9 * (all_ns - computed_ns), "switch_s": 1e-9 * all_ns,
            "lost_s": 1e-9 * (all_ns - n_meanwhile * usual_ns),
            "release_s": 1e-9 * (max(left_ns) - switched_ns) if left_ns else None, "iterations_meanwhile": n_meanwhile,
            "iterations_lost": all_ns / usual_ns - n_meanwhile, "iteration_s": 1e-9 * usual_ns,
            "total_s": 1e-9 * (notes[-1][2] - notes[0][1])}


n_runs, failures = 0, []


def tried(*arguments, **words):
    """What a run gives; it is made again when it fails, and counted."""
    global n_runs
    for left in reversed(range(N_TRIES)):
        n_runs += 1
        try:
            return run(*arguments, **words)
        except Failed as error:
            print(error, file=sys.stderr)
            failures.append(str(error))
            if left == 0:
                sys.exit(f"{N_TRIES} tries failed")


class Launch:
    """How ranks are started on this machine."""

    def __init__(self, library):
        environment, options = LIBRARIES[library]
        self.words, self.own, self.variables = [TARGET / environment / "bin/mpiexec", *options], [], {**os.environ, **VARIABLES}

    def options(self, _n_ranks):
        return []


class NodesLaunch:
    """How ranks are started on two nodes, as many on each."""

    def __init__(self, nodes):
        self.words, self.variables = nodes.launcher, {**VARIABLES, **nodes.variables()}
        # A launcher of a node's own would not find the names of the others here.
        self.own = [*nodes.options, "--spawn", "tree"]

    def options(self, n_ranks):
        return ["-ppn", max(1, n_ranks // 2)]


def rounded(found):
    return {name: "" if value is None else f"{value:.4f}" if isinstance(value, float) else value for name, value in found.items()}


def compare(options):
    """All peers on this machine; they take turns, so that noise hits all alike."""
    rows = []
    with tempfile.TemporaryDirectory() as built:
        built = pathlib.Path(built)
        build(built)
        for repetition in range(options.repetitions):
            for library in options.libraries:
                launch = Launch(library)
                for megabytes in options.mb:
                    for change in options.changes:
                        for peer in options.peers:
                            program = built / f"{PEERS[peer][0]}-{LIBRARIES[library][0]}"
                            notes, left_ns, done = tried(launch, program, peer, megabytes, change)
                            found = measured(notes, left_ns, change[1])
                            rows.append({"repetition": repetition + 1, "library": library, "mb": megabytes, "from": change[0],
                                         "to": change[1], "peer": peer, "method": done.get("redistribution", ""),
                                         **rounded(found)})
                            print(*rows[-1].values(), sep="; ", flush=True)
    tables.write(HERE / "runs.csv", rows)
    report(rows, options)
    count()


def cases(rows):
    return list(dict.fromkeys((row["library"], row["mb"], row["from"], row["to"]) for row in rows))


def values(rows, case, peer, measure):
    return [float(row[measure]) for row in rows
            if (row["library"], row["mb"], row["from"], row["to"]) == case and row["peer"] == peer and row[measure] != ""]


def ratio(rows, case, ours, theirs, measure):
    """Median of the ratios of the same repetition, with the smallest and the largest."""
    pairs = list(zip(values(rows, case, ours, measure), values(rows, case, theirs, measure)))
    if not pairs:
        return "", ""
    found = sorted(one / other for one, other in pairs)
    return f"{statistics.median(found):.2f}", f"{statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})"


def shown(seconds):
    return f"{1e3 * statistics.median(seconds):.0f} ms" if seconds else "none leaves"


def report(rows, options):
    """Medians as table and pictures."""
    peers, results = options.peers, []
    ours, theirs = peers[-1], [peer for peer in peers if PEERS[peer][0] == "bare"]
    for measure, called in MEASURES.items():
        lines = []
        for case in cases(rows):
            row = {"measure": measure, "library": case[0], "mb": case[1], "from": case[2], "to": case[3]}
            medians = {peer: values(rows, case, peer, measure) for peer in peers}
            row.update({peer: f"{statistics.median(some):.4f}" if some else "" for peer, some in medians.items()})
            ratios = [ratio(rows, case, ours, peer, measure) for peer in theirs]
            row.update({f"{ours}_of_{peer}": median for peer, (median, _) in zip(theirs, ratios)})
            results.append(row)
            lines.append([case[0], f"{case[1]} MB", f"{case[2]} to {case[3]}", *(shown(medians[peer]) for peer in peers),
                          *(text for _, text in ratios)])
        header = ["library", "data", "ranks", *peers, *(f"{ours} / {peer}" for peer in theirs)]
        tables.fill(HERE / "README.md", called, header, lines)
    tables.write(HERE / "results.csv", results)
    for library in options.libraries:
        drawn = [case for case in cases(rows) if case[0] == library]
        key = lambda case: (f"{case[1]} MB, {case[2]}", str(case[3]))
        series = [(peer, COLORS[peer], {key(case): statistics.median(values(rows, case, peer, "lost_s")) for case in drawn})
                  for peer in peers if peer != "async"]
        resizes.bars(HERE / f"{LIBRARIES[library][0].removeprefix('venv-')}.svg",
                     f"Seconds that a change of the size costs the program, {library}", series)


def count():
    """Says on the page how many runs there were."""
    page = HERE / "README.md"
    page.write_text(re.sub(r"Of \d+ runs, \d+ failed", f"Of {n_runs} runs, {len(failures)} failed", page.read_text()))


def on_nodes(options):
    """Whole runs on two nodes whose link is limited, where data move beside the iterations, and while these stand still."""
    rows = []
    with tempfile.TemporaryDirectory() as built, resizes.Nodes(2) as nodes:
        built = pathlib.Path(built)
        build(built)
        launch = NodesLaunch(nodes)
        program = built / f"ours-{LIBRARIES['MPICH'][0]}"
        for repetition in range(options.repetitions):
            for mbit in options.mbit:
                nodes.cluster.limit_nodes(mbit)
                for megabytes in options.mb:
                    for change in options.changes:
                        for peer in options.peers:
                            notes, left_ns, done = tried(launch, program, peer, megabytes, change, length=(0, N_ON_NODES))
                            found = measured(notes, left_ns, change[1])
                            rows.append({"repetition": repetition + 1, "mbit": mbit, "mb": megabytes, "from": change[0],
                                         "to": change[1], "peer": peer, "method": done.get("redistribution", ""),
                                         **rounded(found)})
                            print(*rows[-1].values(), sep="; ", flush=True)
    tables.write(HERE / "nodes.csv", rows)
    lines = []
    for case in dict.fromkeys((row["mbit"], row["mb"], row["from"], row["to"]) for row in rows):
        some = {peer: [row for row in rows if (row["mbit"], row["mb"], row["from"], row["to"]) == case and row["peer"] == peer]
                for peer in options.peers}
        median = lambda peer, measure: statistics.median(float(row[measure]) for row in some[peer])
        totals = [f"{median(peer, 'total_s'):.2f} s" for peer in options.peers]
        waits = [f"{1e3 * median(peer, 'wait_s'):.0f} ms" for peer in options.peers]
        ratios = sorted(float(one["total_s"]) / float(other["total_s"]) for one, other in zip(some["async"], some["sync"]))
        lines.append([f"{case[0]} Mbit/s", f"{case[1]} MB", f"{case[2]} to {case[3]}", *totals, *waits,
                      f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"])
    header = ["link", "data", "ranks", *(f"run, {peer}" for peer in options.peers), *(f"wait, {peer}" for peer in options.peers),
              "run, async / sync"]
    tables.fill(HERE / "README.md", "nodes", header, lines)


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(number) for number in text.split(",")]
    names = lambda text: text.split(",")
    changes = lambda text: [tuple(int(size) for size in change.split(":")) for change in text.split(",")]
    parser.add_argument("what", nargs="?", choices=["nodes", "report"])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--libraries", type=names, default=list(LIBRARIES))
    parser.add_argument("--changes", type=changes)
    parser.add_argument("--peers", type=names)
    parser.add_argument("--mb", type=numbers)
    parser.add_argument("--mbit", type=numbers, default=[1_000])
    options = parser.parse_args(words)
    is_nodes = options.what == "nodes"
    options.peers = options.peers or (["sync", "async", "auto"] if is_nodes else list(PEERS))
    options.mb = options.mb or ([64, 256] if is_nodes else [8, 256])
    options.changes = options.changes or (CHANGES_ON_NODES if is_nodes else CHANGES)
    return options


def main():
    options = options_of(sys.argv[1:])
    if options.what == "nodes":
        on_nodes(options)
    elif options.what == "report":
        report(tables.read(HERE / "runs.csv"), options)
    else:
        compare(options)


if __name__ == "__main__":
    main()
