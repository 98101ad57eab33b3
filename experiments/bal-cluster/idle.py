#!/usr/bin/env python3
"""What idle daemons cost, each in a network namespace of its own: processor time and threads. Needs root.

    idle.py 8 32 64          # numbers of daemons
"""
import os
import pathlib
import sys
import time

import nodes

SETTLES_S = 20
MEASURES_S = 20


def used(daemons):
    """Processor seconds and threads of all of them."""
    seconds, threads = 0, 0
    for daemon in daemons:
        fields = pathlib.Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        threads += int(fields[17])
    return seconds, threads


def main():
    nodes.end_by_signals()
    numbers = [int(word) for word in sys.argv[1:]] or sys.exit(__doc__)
    print("daemons  all known after s  core % each  threads each")
    for n_nodes in numbers:
        began = time.monotonic()
        with nodes.Nodes(number=98, n_nodes=n_nodes, quota=0.5) as cluster:
            met_s = time.monotonic() - began
            nodes.rest(SETTLES_S)
            before, _ = used(cluster.daemons)
            nodes.rest(MEASURES_S)
            after, threads = used(cluster.daemons)
        share = 100 * (after - before) / MEASURES_S / n_nodes
        print(f"{n_nodes:7}  {met_s:17.1f}  {share:11.3f}  {threads / n_nodes:12.1f}", flush=True)


if __name__ == "__main__":
    main()
