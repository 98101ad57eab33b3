#!/usr/bin/env python3
"""The source's scenarios on eight real daemons. Writes results.csv and results.svg and fills the page. Needs root, and
`cargo build --release --package cli` first.

usage: experiments/bal-cluster/run.py [--scenario 1|2|mixed]... [--faster F] [--beside N] [--burn SHARE] [POLICY]...

All of it takes 35 minutes at 20 times the speed, or an hour in real time with 30 clusters at once. POLICY (`event`, `on-demand@random:3`, `ours`, `source`) and `--scenario` redo
some, and keep the other rows. `--faster F` divides all times. `--beside N` runs N clusters at once. With `--burn SHARE`
tasks compute, and each node has this share of a processor.
"""
import argparse
import concurrent.futures
import heapq
import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import nodes as cluster  # noqa: E402
import page  # noqa: E402
import tables  # noqa: E402

N_TASKS, TASK_S, ARRIVAL_S, T_OPT_S = 160, 19.8, 1.0, 396
DOMAINS = ["global", "overlapping:2", "overlapping:4", "random:3", "random:5", "random:7"]
RULES = ["event", "periodic:1", "periodic:3", "periodic:5", "periodic:10", "on-demand"]
SOURCE = [f"{rule}@{domain}" for domain in DOMAINS for rule in RULES]
OURS = ["subscription@global", "forwarding@overlapping:4", "adaptive@global", "power-of-two@global", "stealing@global"]
ENTRIES = {"1": [0], "2": [0, 4], "mixed": [0]}
MIXED = [1, 2, 4, 1, 2, 4, 1, 2]


def scaled(rule, faster):
    """Periods are divided like all times."""
    name, *numbers = rule.split(":")
    if name == "adaptive":
        numbers = numbers or ["0.5", "30"]
    if name not in ("periodic", "adaptive"):
        return rule
    return ":".join([name, *(f"{max(float(number) / faster, 0.001):g}" for number in numbers)])


def submit_all(nodes, scenario, words, faster):
    """Hands over a task each second, each at the node whose turn it is; the names of the tasks by node."""
    began, submitting, entries = time.monotonic(), [], ENTRIES[scenario]
    for number in range(N_TASKS):
        cluster.rest(began + number * ARRIVAL_S / faster - time.monotonic())
        command = nodes.command(entries[number % len(entries)], "submit", "--clean-env", "--json", "--", *words)
        submitting.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=nodes.folder))
    for client in submitting:
        client.communicate()
        if client.returncode != 0:
            raise RuntimeError(f"a task was not taken\n{nodes.logs()}")


def ended(nodes, scenario):
    """All tasks as they ended."""
    found = []
    for entry in ENTRIES[scenario]:
        first_to_last = f"{nodes.names[entry]}.1-{N_TASKS // len(ENTRIES[scenario])}"
        waiting = subprocess.Popen(nodes.command(entry, "tasks", first_to_last, "--wait", "--json"),
                                   stdout=subprocess.DEVNULL, cwd=nodes.folder)
        while waiting.poll() is None:
            cluster.rest(0.05)
        found += map(json.loads, nodes.ask(entry, "tasks", "--json").splitlines())
    return found


def measure(scenario, policy, options, number, binary):
    """A row of the results."""
    rule, domain = policy.split("@")
    faster, burn = options.faster, options.burn
    speeds = MIXED if scenario == "mixed" else None
    words = ["--policy", scaled(rule, faster), "--domain", domain]
    with cluster.Nodes(words, number, speeds=speeds, quota=burn, binary=binary) as nodes:
        task_s = TASK_S / faster * (1 if burn is None else burn)
        before = nodes.counts()
        submit_all(nodes, scenario, [nodes.task, "wait" if burn is None else "burn", task_s], faster)
        tasks = ended(nodes, scenario)
        counts = {name: count - before[name] for name, count in nodes.counts().items()}
    failed = [task for task in tasks if task["outcome"] != {"exit": 0} or task["instance"] < 1]
    if failed or len(tasks) != N_TASKS:
        raise RuntimeError(f"of {N_TASKS} tasks {len(tasks)} ended, and not so: {failed[:3]}")
    began_ms = min(task["submitted_ms"] for task in tasks)
    t_exec_s = (max(task["ended_ms"] for task in tasks) - began_ms) * faster / 1e3
    t_dist_s = (max(task["started_ms"] for task in tasks) - began_ms) * faster / 1e3
    t_opt_s = central_s(MIXED) if scenario == "mixed" else T_OPT_S
    ratio = t_opt_s / t_exec_s
    efficiency = counts["n_accepted"] / (max(counts["n_messages"], 1) * N_TASKS) * ratio
    kind, _, size = domain.partition(":")
    return {"scenario": scenario, "domain": kind, "domain_size": size or "0", "policy": rule.replace("-", "_").replace(":", "_"),
            "t_opt_s": f"{t_opt_s:.0f}", "messages": counts["n_messages"], "accepted": counts["n_accepted"],
            "not_accepted": counts["n_not_accepted"], "t_dist_s": f"{t_dist_s:.0f}", "t_exec_s": f"{t_exec_s:.1f}",
            "ratio": f"{ratio:.3f}", "efficiency": f"{efficiency:.2e}", "told_before": before["n_messages"],
            "moved": counts["n_moved_out"], "faster": f"{faster:g}", "work": "waits" if burn is None else f"burns_{burn:g}"}


def central_s(speeds):
    """When all tasks have ended where they wait in one queue, and each goes to the free node that is fastest."""
    free, waiting, busy, now_s, end_s = sorted(speeds), 0, [], 0.0, 0.0
    arrivals = [number * ARRIVAL_S for number in range(N_TASKS)]
    while arrivals or waiting or busy:
        comes = [times[0] for times in (arrivals, [busy[0][0]] if busy else []) if times]
        now_s = min(comes)
        while arrivals and arrivals[0] <= now_s:
            arrivals.pop(0)
            waiting += 1
        while busy and busy[0][0] <= now_s:
            free.append(heapq.heappop(busy)[1])
            end_s = now_s
        free.sort()
        while waiting and free:
            speed = free.pop()
            heapq.heappush(busy, (now_s + TASK_S / speed, speed))
            waiting -= 1
    return end_s


KEY = ("scenario", "domain", "domain_size", "policy", "faster", "work")


def keep(row, lock):
    """Puts a row into the results, in place of the one that was measured before."""
    path = HERE / "results.csv"
    with lock:
        rows = tables.read(path) if path.exists() else []
        of = lambda some: tuple(str(some[name]) for name in KEY)
        rows = [other for other in rows if of(other) != of(row)] + [row]
        tables.write(path, sorted(rows, key=lambda some: (*of(some)[:3], float(some["faster"]), of(some))))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", action="append", choices=list(ENTRIES))
    parser.add_argument("--faster", type=float, default=20)
    parser.add_argument("--beside", type=int, default=1)
    parser.add_argument("--number", type=int, default=0, help="of the first cluster, where another run goes on meanwhile")
    parser.add_argument("--burn", type=float)
    parser.add_argument("--missing", action="store_true", help="skip rows that are there")
    parser.add_argument("--page", action="store_true", help="measure nothing; write picture and page anew")
    parser.add_argument("policies", nargs="*")
    return parser.parse_args()


def wanted(options):
    groups = {"ours": OURS, "source": SOURCE}
    policies = [policy for word in options.policies or ["ours", "source"] for policy in groups.get(word, [word])]
    policies = [policy if "@" in policy else f"{policy}@global" for policy in policies]
    cases = [(scenario, policy) for policy in policies for scenario in options.scenario or ENTRIES
             if scenario != "mixed" or policy in OURS or options.scenario]
    if not options.missing or not (HERE / "results.csv").exists():
        return cases
    there = {(row["scenario"], row["policy"], row["domain"], row["domain_size"]) for row in tables.read(HERE / "results.csv")
             if row["faster"] == f"{options.faster:g}"}
    def is_there(scenario, policy):
        rule, domain = policy.split("@")
        kind, _, size = domain.partition(":")
        return (scenario, rule.replace("-", "_").replace(":", "_"), kind, size or "0") in there
    return [case for case in cases if not is_there(*case)]


def check_room(n_clusters):
    """Every node has the addresses of seven others in a table that all namespaces share."""
    limit = pathlib.Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
    n_needed = n_clusters * cluster.N_NODES * cluster.N_NODES
    if limit.exists() and int(limit.read_text()) < n_needed:
        sys.exit(f"{n_clusters} clusters need room for {n_needed} neighbors: `sysctl -w net.ipv4.neigh.default.gc_thresh3={n_needed}`")


def main():
    options = parse()
    check_room(options.beside)
    cluster.end_by_signals()
    lock, numbers, failed = threading.Lock(), queue.SimpleQueue(), []
    for number in range(options.beside):
        numbers.put(options.number + number)

    def one(case, binary):
        number = numbers.get()
        try:
            cluster.rest(0)
            row = measure(*case, options, number, binary)
            keep(row, lock)
            print(*row.values(), flush=True)
        except InterruptedError:
            failed.append(case)
        except Exception as error:  # The others are measured all the same.
            failed.append(case)
            print(f"{case}: {error}", file=sys.stderr, flush=True)
        finally:
            numbers.put(number)

    with tempfile.TemporaryDirectory(prefix="bal-") as folder:
        binary = None if options.page else cluster.built(pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(options.beside) as pool:
            list(pool.map(lambda case: one(case, binary), [] if options.page else wanted(options)))
    page.write(HERE)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
