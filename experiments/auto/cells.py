"""One run of a program in a cell: ranks and threads, launcher, load and quota around it, its times, and its result."""
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import programs

CGROUP = pathlib.Path("/sys/fs/cgroup")
# Children of a run are found by this variable when the time limit ends it: launchers put ranks into sessions of their own.
MARK = "SINTONIA_EXPERIMENT_RUN"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PERIOD_US = 100_000
# What a user may set without Sintonia.
BY_HAND = {
    "hugetlb-by-hand": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "kept-by-hand": {"MALLOC_TRIM_THRESHOLD_": "-1", "MALLOC_MMAP_MAX_": "0", "MALLOC_TOP_PAD_": str(16 << 20)},
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """A way to run a program; `title` is for people."""
    name: str
    title: str
    ranks_per_core: int = 1
    threads: int = 1
    cores_share: float = 1.0
    quota_share: float = 1.0
    is_loaded: bool = False
    is_long: bool = False


CELLS = {cell.name: cell for cell in (
    Cell("cores", "a rank on each core"),
    Cell("long", "the same, for about ten seconds", is_long=True),
    Cell("over", "four ranks per core", ranks_per_core=4),
    Cell("hybrid", "a rank on each core, two threads each", threads=2),
    Cell("foreign", "half the run beside a busy loop on each core", is_loaded=True),
    Cell("quota", "cgroup quota of half the cores", quota_share=0.5),
    Cell("cpuset", "in half the cores, which the launcher does not know", cores_share=0.5),
)}


def cores():
    return sorted(os.sched_getaffinity(0))


def shape(program, cell):
    """Ranks and threads of the program in this cell; None where it is not run so."""
    if cell.name not in program.get("cells", [cell.name]):
        return None
    if cell.threads > 1 and not program.get("hybrid") or cell.is_long and "longer" not in program:
        return None
    ranks = programs.accepted(program, cell.ranks_per_core * len(cores()))
    return None if cell.cores_share < 1 and ranks <= cell.cores_share * len(cores()) else (ranks, cell.threads)


def inputs(library, cell):
    """Name of the inputs: shorter where ranks that wait keep others from their cores. Open MPI gives cores away where its launcher knows
    that they are short."""
    is_slow_bare = cell.cores_share < 1 or (1 < cell.ranks_per_core and not library.is_open_mpi)
    return "shorter" if is_slow_bare else "longer" if cell.is_long else "values"


def launch(library, cell, ranks, threads):
    """Words of the launcher. Open MPI takes slots that are named for cores that are there."""
    words = [library.command(library.launcher), "-np", str(ranks)]
    if not library.is_open_mpi:
        return words
    if cell.cores_share < 1:
        return [*words, "--host", f"localhost:{ranks}", "--bind-to", "none"]
    if len(cores()) < ranks:
        return [*words, "--oversubscribe"]
    return [*words, "--bind-to", "none"] if 1 < threads else words


@contextlib.contextmanager
def quota(share):
    """A cgroup that may use this share of the cores; yields the file that a process enters it by, or None."""
    if share == 1:
        yield None
        return
    first, limit = CGROUP / "cpu", {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": int(share * len(cores()) * PERIOD_US)}
    if (CGROUP / "cgroup.controllers").exists():
        first, limit = CGROUP, {"cpu.max": f"{int(share * len(cores()) * PERIOD_US)} {PERIOD_US}"}
    folder = first / f"sintonia-experiment-{os.getpid()}"
    try:
        folder.mkdir()
        for name, value in limit.items():
            (folder / name).write_text(str(value))
    except OSError as error:
        raise programs.Unusable(f"no cgroup with a quota can be made here ({error})") from error
    try:
        yield folder / "cgroup.procs"
    finally:
        leave(folder)


def leave(folder):
    """Removes a cgroup once the last processes of a run are gone."""
    for _ in range(100):
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)


class Load:
    """A busy loop on each core for two thirds of `alone_s`, from a sixth of it on: half of a run that then takes 4/3 of it."""

    def __init__(self, alone_s):
        self.alone_s, self.loops, self.timers = alone_s, [], []

    def __enter__(self):
        if self.alone_s:
            self.timers = [threading.Timer(self.alone_s / 6, self.begin), threading.Timer(self.alone_s * 5 / 6, self.end)]
            for timer in self.timers:
                timer.start()

    def begin(self):
        for core in cores():
            self.loops.append(subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"]))

    def end(self):
        for loop in self.loops:
            loop.kill()
            loop.wait()
        self.loops = []

    def __exit__(self, *_):
        for timer in self.timers:
            timer.cancel()
            timer.join()
        self.end()


def end_marked(mark):
    """Kills all processes that have the mark of a run in their environment; the CPU seconds that they had used."""
    needle, ticks = f"{MARK}={mark}".encode(), 0
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                ticks += sum(map(int, (entry / "stat").read_text().rpartition(")")[2].split()[11:13]))
                os.kill(int(entry.name), signal.SIGKILL)
    return ticks / os.sysconf("SC_CLK_TCK")


def watched(words, folder, variables, limit_s, procs, allowed):
    """Runs words; elapsed and CPU seconds of them and their children, how they ended, and what they printed."""
    mark, late, ended = f"{os.getpid()}-{time.monotonic_ns()}", threading.Event(), []

    def enter():
        if procs:
            procs.write_text(str(os.getpid()))
        os.sched_setaffinity(0, allowed)

    def stop():
        late.set()
        ended.append(end_marked(mark))

    began = time.monotonic()
    with open(folder / "stdout", "w") as out, open(folder / "stderr", "w") as err:
        child = subprocess.Popen(words, cwd=folder, env={**os.environ, **variables, MARK: mark}, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err, preexec_fn=enter, process_group=0)
        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            elapsed_s = time.monotonic() - began
            end_marked(mark)
    outcome = "limit" if late.is_set() else "ok" if child.returncode == 0 else f"exit {child.returncode}"
    return elapsed_s, used.ru_utime + used.ru_stime + sum(ended), outcome, (folder / "stdout").read_text(errors="replace")


def prefix(variant, sintonia, folder):
    """What stands before the launcher."""
    if variant == "bare" or variant in BY_HAND:
        return []
    tune = {"run": [], "tune": ["--tune"], "learning": ["--tune", "--learn"], "learnt": ["--tune"]}.get(variant, [f"--tune={variant}"])
    return [str(sintonia), "run", *tune, "--out", str(folder / "record"), "--no-html", "--quiet", "--"]


def state(variant, case, options):
    """The user's folder for state, where profiles are: one that stays empty, but for runs that learn or have learnt."""
    program, library, cell, _ = case
    name = f"{program['name']}-{library.name}-{cell.name}".replace(" ", "-") if variant in ("learning", "learnt") else "none"
    return {"XDG_STATE_HOME": str(options.kept / "learnt" / name)}


def measure(case, variant, options, alone_s):
    """A row: one run of a case (program, library, cell, its folder) with or without Sintonia."""
    program, library, cell, place = case
    ranks, threads = shape(program, cell)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=options.kept))
    try:
        words, files = programs.run_of(program, library, place, (ranks, threads), inputs(library, cell))
        for name, text in files.items():
            (folder / name).write_text(text.lstrip("\n"))
        allowed = set(cores()[:max(1, round(cell.cores_share * len(cores())))])
        variables = {**AS_ROOT, **state(variant, case, options), "OMP_NUM_THREADS": str(threads), **BY_HAND.get(variant, {})}
        command = [*prefix(variant, options.sintonia, folder), *launch(library, cell, ranks, threads), *words]
        with quota(cell.quota_share) as procs, Load(alone_s if cell.is_loaded else None):
            elapsed_s, cpu_s, outcome, output = watched(command, folder, variables, options.limit, procs, allowed)
        result = programs.result_of(program, folder, output)
        told = (folder / "stderr").read_text(errors="replace")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"program": program["name"], "library": library.name, "cell": cell.name, "variant": variant, "ranks": ranks,
            "threads": threads, "elapsed_s": round(elapsed_s, 4), "cpu_s": round(cpu_s, 3), "outcome": outcome,
            "result": hashlib.sha256(result.encode()).hexdigest()[:16] if result else "", "said": told[-400:] if outcome != "ok" else ""}
