#!/usr/bin/env python3
"""Tasks on eight real daemons while daemons and keepers are killed and links fail. Needs root, and
`cargo build --release --package cli` first.

usage: experiments/bal-cluster/chaos.py [--seed S] [--tasks N] [--blows N] [--policy RULE@DOMAIN] [--lease SECONDS] [--mixed]

With `--mixed` tasks ask for cores and memory, some for two nodes, wait for others, and fail at their first attempts. Ends with 0 when no task
that was taken is lost, none ran twice at the same time, and none began before what it waits for, else with 1. The seed is printed; with the same
seed the same things fail, though tasks are elsewhere by then.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import nodes as cluster  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
N_PARTS = 10


class Chaos:
    """What fails, and what has to be put right again at which time."""

    def __init__(self, nodes, dice, lease_s):
        self.nodes, self.dice, self.lease_s = nodes, dice, lease_s
        self.down, self.unplugged = {}, {}

    def blow(self):
        """Something fails; what it is."""
        at = self.dice.randrange(self.nodes.n_nodes)
        # Shorter than a lease, about as long, and so long that others have run the tasks meanwhile.
        for_s = self.dice.choice([0, 0.3, 0.9, 1.1, 3]) * (self.lease_s + 2)
        what = self.dice.choice(["daemon", "keeper", "both", "link"])
        name = self.nodes.names[at]
        if what == "link":
            self.nodes.plug(at, False)
            self.unplugged[at] = time.monotonic() + max(for_s, 0.5)
            return f"link of {name} for {max(for_s, 0.5):.1f} s"
        if what != "keeper":
            self.nodes.kill(at)
            self.down[at] = time.monotonic() + for_s
        if what != "daemon":
            self.nodes.kill_keeper(at)
        return f"{what} of {name} killed" + ("" if what == "keeper" else f", back after {for_s:.1f} s")

    def mend(self, everything=False):
        """Puts right what is due."""
        now = time.monotonic()
        for at in [at for at, until in self.down.items() if everything or until <= now]:
            del self.down[at]
            self.nodes.start(at)
        for at in [at for at, until in self.unplugged.items() if everything or until <= now]:
            del self.unplugged[at]
            self.nodes.plug(at, True)


def wishes(dice, before):
    """Options of an array that asks for something, and the array that it waits for."""
    words, after = ["--retry", 9, "--retry-delay", 0], None
    kind = dice.randrange(4)
    if kind == 0:
        words += ["--cpus", dice.choice([1, 2]), "--no-pin"]
    elif kind == 1:
        words += ["--memory", "64M"]
    elif kind == 2:
        words += ["--nodes", 2, "--cpus", 1, "--no-pin"]
    if before and dice.random() < 0.5:
        after = dice.choice(before)
        words += ["--after-ok", after]
    return words, after


def submit(nodes, dice, n_tasks, task, mixed=None):
    """Hands tasks over to any node that takes them; their names. A node may die before it has said that it did."""
    for _ in range(1000):
        at = dice.randrange(nodes.n_nodes)
        words, after = [], None
        if mixed is not None:
            words, after = wishes(dice, [tasks for tasks in mixed if tasks.startswith(f"{nodes.names[at]}.")])
        command = nodes.command(at, "submit", "--clean-env", "--json", *words, "--array", f"1-{n_tasks}", "--", *task)
        client = subprocess.run(command, capture_output=True, text=True, cwd=nodes.folder)
        if client.returncode == 0:
            tasks = json.loads(client.stdout)["tasks"]
            if mixed is not None:
                mixed[tasks] = after
            return at, tasks
        time.sleep(0.1)
    raise RuntimeError(f"no node takes tasks: {client.stderr}")


def first_and_last(tasks):
    """Numbers in a name such as `n0.1-100`, as text or in parts."""
    if isinstance(tasks, dict):
        return tasks["first"], tasks["last"]
    first, _, last = tasks.rpartition(".")[2].partition("-")
    return int(first), int(last or first)


def lines_of(folder):
    path = folder / "diary"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def run(options, nodes, dice):
    (nodes.folder / "locks").mkdir()
    program = nodes.folder / "diary-task"
    subprocess.run(["cc", "-O2", "-o", program, HERE / "diary.c"], check=True)
    task = [program, nodes.folder, options.task_s]
    mixed = {} if options.mixed else None
    if options.mixed:
        # One of seven fails at its first two attempts.
        fails = '[ $((SINTONIA_ARRAY_INDEX % 7)) != 0 ] || [ "$SINTONIA_INSTANCE" -gt 2 ]'
        task = ["sh", "-c", f'"$0" "$@" && {{ {fails}; }}', *task]
    chaos = Chaos(nodes, dice, options.lease)
    taken = collections.defaultdict(set)
    began, n_ends, n_blows, n_submitted = time.monotonic(), 0, 0, 0
    # Things fail evenly over the tasks, and over time where nothing ends.
    patience = began
    while n_blows < options.blows or n_submitted < options.tasks:
        due = n_blows * options.tasks // (options.blows + 1)
        if n_submitted < options.tasks and n_submitted - n_ends < options.tasks // 4:
            at, tasks = submit(nodes, dice, options.tasks // (10 * N_PARTS if mixed is not None else N_PARTS), task, mixed)
            first, last = first_and_last(tasks)
            taken[at] |= set(range(first, last + 1))
            n_submitted += last - first + 1
        if n_blows < options.blows and (due <= n_ends or patience + 3 * options.lease < time.monotonic()):
            n_blows += 1
            patience = time.monotonic()
            print(f"{time.monotonic() - began:6.1f} s, {n_ends:4} ended: {chaos.blow()}", flush=True)
        chaos.mend()
        time.sleep(0.05)
        n_ends = sum(words[0] == "ends" for words in lines_of(nodes.folder))
    while chaos.down or chaos.unplugged:
        chaos.mend()
        time.sleep(0.05)
    print(f"{time.monotonic() - began:6.1f} s, {n_ends:4} ended: all is mended", flush=True)
    return taken, wait(nodes, taken), mixed or {}


def wait(nodes, taken):
    """All tasks of all homes, when those that were taken have ended."""
    found = {}

    def all_ended():
        for at in taken:
            said = nodes.ask(at, "tasks", "--json", "--home", nodes.names[at]) or ""
            found[at] = {task["task"]: task for task in map(json.loads, said.splitlines())}
        return all(f"{nodes.names[at]}.{number}" in found[at] and found[at][f"{nodes.names[at]}.{number}"]["state"] == "ended"
                   for at, numbers in taken.items() for number in numbers)
    try:
        cluster.eventually("end of all tasks", all_ended, within_s=180)
    except TimeoutError as error:
        print(error)
    return found


def early(lines, mixed):
    """Sentences about tasks that began before what they wait for had ended for the last time."""
    last_end, first_begin = {}, {}
    for at, words in enumerate(lines):
        if words[0] == "ends":
            last_end[words[1]] = at
        elif words[0] == "begins":
            first_begin.setdefault(words[1], at)
    for tasks, after in mixed.items():
        home, (first, last) = tasks.rpartition(".")[0], first_and_last(tasks)
        if after is None:
            continue
        ended = [last_end.get(f"{home}.{number}", len(lines)) for number in range(*span(after))]
        for number in range(first, last + 1):
            began = first_begin.get(f"{home}.{number}")
            if began is not None and began < max(ended):
                yield f"began too early: {home}.{number}, which waits for {after}"


def span(tasks):
    first, last = first_and_last(tasks)
    return first, last + 1


def judge(nodes, taken, found, mixed):
    """Sentences about what must not be."""
    lines = lines_of(nodes.folder)
    complaints = [f"ran twice at the same time: {' '.join(words)}" for words in lines if words[0] == "twice"]
    complaints += early(lines, mixed)
    ends = {words[1] for words in lines if words[0] == "ends"}
    for at, numbers in taken.items():
        for number in sorted(numbers):
            name = f"{nodes.names[at]}.{number}"
            task = found[at].get(name)
            if task is None or task["state"] != "ended" or task["outcome"] != {"exit": 0}:
                complaints.append(f"lost: {name}: {task}")
            elif name not in ends:
                complaints.append(f"said to have ended, and has not: {name}: {task}")
    # A start at home is not on disk: where its daemon and its keeper both die, the next attempt has the same number.
    attempts = collections.Counter((words[1], words[2]) for words in lines if words[0] == "begins")
    n_alike = sum(1 < n for n in attempts.values())
    n_tasks = sum(map(len, taken.values()))
    n_anew = sum(words[0] == "begins" for words in lines) - len({words[1] for words in lines})
    print(f"{n_tasks} tasks, {len(ends)} ended, {n_anew} began anew, {n_alike} of them with the number of the attempt before, "
          f"{len(complaints)} complaints")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--blows", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--task-s", type=float, default=1)
    parser.add_argument("--policy", default="subscription@global")
    parser.add_argument("--lease", type=float, default=4)
    parser.add_argument("--mixed", action="store_true")
    options = parser.parse_args()
    cluster.end_by_signals()
    print(f"--seed {options.seed}", flush=True)
    rule, _, domain = options.policy.partition("@")
    words = ["--policy", rule, "--domain", domain or "global", "--lease", options.lease]
    with cluster.Nodes(words, number=99, n_nodes=options.nodes, quota=None) as nodes:
        taken, found, mixed = run(options, nodes, random.Random(options.seed))
        complaints = judge(nodes, taken, found, mixed)
        if complaints:
            print("\n".join(complaints[:40]))
            print(nodes.logs()[-20000:])
            for name in [line.split()[1].rstrip(":") for line in complaints[:5] if line.startswith("lost")]:
                at = nodes.names.index(name.split(".")[0])
                print(nodes.ask(at, "explain", name))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
