"""The programs of `programs.toml`: their sources, their builds for each MPI library, and what one run of them is."""
import dataclasses
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD_LIMIT_S = 600


class Unusable(Exception):
    """A program that cannot run here, and why."""


@dataclasses.dataclass(frozen=True)
class Library:
    """An MPI library: the folder of its commands, how its compilers end, and its launcher."""
    name: str
    folder: str
    suffix: str
    launcher: str

    @property
    def family(self):
        return self.name.rstrip("0123456789")

    @property
    def is_open_mpi(self):
        return self.family == "openmpi"

    def command(self, word):
        return shutil.which(str(pathlib.Path(self.folder) / (word + self.suffix)) if self.folder else word + self.suffix)

    def compilers(self):
        return {"cc": self.command("mpicc"), "cxx": self.command("mpicxx"), "fc": self.command("mpif90")}


LIBRARIES = {library.name: library for library in (
    Library("openmpi4", "", ".openmpi", "mpirun"),
    Library("mpich4", "", ".mpich", "mpiexec"),
    Library("openmpi5", str(ROOT / "target/venv-openmpi5/bin"), "", "mpirun"),
    Library("mpich5", str(ROOT / "target/venv-mpich5/bin"), "", "mpiexec"),
)}


def described():
    """All programs, as the file describes them, and their sources."""
    with open(HERE / "programs.toml", "rb") as file:
        known = tomllib.load(file)
    return {one["name"]: one for one in known["programs"]}, known["sources"]


def accepted(program, wanted):
    """The number of ranks nearest to `wanted` that the program accepts."""
    rule = program["accepts"]
    if rule == "cube":
        return min((side ** 3 for side in range(1, 33)), key=lambda ranks: abs(ranks - wanted))
    return 2 ** round(math.log2(wanted)) if rule == "power-of-two" else wanted


def grid(ranks):
    """The most even px * py * pz = ranks, with the largest first."""
    shapes = [(ranks // (y * z), y, z) for z in range(1, ranks + 1) for y in range(z, ranks + 1)
              if ranks % (y * z) == 0 and y <= ranks // (y * z)]
    return min(shapes, key=lambda shape: shape[0] - shape[2])


def filled(text, names):
    return re.sub(r"\{([^{}]+)\}", lambda found: str(eval(found[1], {"str": str, "round": round}, names)), text)


def run_of(program, library, folder, shape, inputs):
    """Words of the program, and the texts of its files, for a run of a shape (ranks and threads) with these inputs."""
    ranks, threads = shape
    px, py, pz = grid(ranks)
    names = {**program["values"], **program.get(inputs, {}), "ranks": ranks, "threads": threads,
             "cube": round(ranks ** (1 / 3)), "px": px, "py": py, "pz": pz, "here": folder,
             "family": library.family}
    files = {name: filled(text, names) for name, text in program.get("files", {}).items()}
    return shlex.split(filled(program["command"], names)), files


def result_of(program, folder, output):
    """The lines of the output that are the result, without times."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob(program["result_in"]))] if "result_in" in program else [output]
    return "\n".join(" ".join(found.split()) for text in texts for found in re.findall(program["result"], text))


def source(name, sources, given, kept):
    """The folder of a source: one that is given, or one that is fetched once."""
    if given and (given / name).is_dir():
        return given / name
    folder, origin = kept / "sources" / name, sources[name]
    if not (folder / ".fetched").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for words in (["init", "-q"], ["fetch", "-q", "--depth", "1", origin["url"], origin["commit"]], ["checkout", "-q", "FETCH_HEAD"]):
            done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, timeout=BUILD_LIMIT_S)
            if done.returncode != 0:
                raise Unusable(f"{origin['url']} could not be fetched; `--sources DIR` takes DIR/{name}")
        (folder / ".fetched").touch()
    return folder


def check(program, library):
    """Raises where the program cannot exist for this library."""
    if library.name not in program.get("libraries", LIBRARIES):
        raise Unusable("there is no build of it for this library")
    if library.command(library.launcher) is None:
        raise Unusable("the library is not installed")
    needed = {"C": "cc", "C++": "cxx", "Fortran": "fc"}[program["language"]]
    if "package" in program:
        command = shlex.split(program["command"])[0].replace("{family}", library.family)
        if shutil.which(command) is None:
            raise Unusable(f"there is no {command}: `apt-get install {program['package']}`")
    elif library.compilers()[needed] is None:
        raise Unusable(f"the library has no compiler for {program['language']}")


def built(program, library, counts, kept, sources, given):
    """The folder with the program for this library; builds it if it is not there."""
    check(program, library)
    folder = kept / "built" / library.name / program["name"].replace(" ", "-")
    if "package" in program or (folder / ".built").exists():
        return folder
    copy = kept / f"building-{os.getpid()}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(HERE if "source" not in program else source(program["source"], sources, given, kept), copy)
    names = {**library.compilers(), "counts": " ".join(map(str, counts))}
    for command in program["build"]:
        filled_in = re.sub(r"\{(cc|cxx|fc|counts)\}", lambda found: str(names[found[1]]), command)
        try:
            done = subprocess.run(["sh", "-c", filled_in], cwd=copy, capture_output=True, text=True, timeout=BUILD_LIMIT_S)
        except subprocess.TimeoutExpired as late:
            raise Unusable(f"`{filled_in[:60]}...` took longer than {BUILD_LIMIT_S} s") from late
        if done.returncode != 0:
            raise Unusable(f"`{filled_in[:60]}...` failed: {done.stderr[-600:]}")
    made = [path for pattern in program["keep"] for path in copy.glob(pattern)]
    if len(made) < len(program["keep"]):
        raise Unusable(f"the build made no {' or no '.join(program['keep'])}")
    folder.mkdir(parents=True, exist_ok=True)
    for path in made:
        shutil.move(path, folder / path.name)
    shutil.rmtree(copy)
    (folder / ".built").touch()
    return folder
