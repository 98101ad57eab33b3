"""Tasks of nothing that HyperQueue runs in a second: a server, a worker and a client in one process, as its own
`LocalCluster` has them. Nothing that tasks write is kept.

usage: hyperqueue_tasks.py N_TASKS N_CORES
"""
import sys
import tempfile
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

n_tasks, n_cores = int(sys.argv[1]), int(sys.argv[2])
with tempfile.TemporaryDirectory() as folder, LocalCluster(folder, WorkerConfig(cores=n_cores)) as cluster:
    client = cluster.client()

    def run(n):
        job = Job(folder)
        for _ in range(n):
            job.program(["true"], stdout=None, stderr=None)
        began = time.monotonic()
        client.wait_for_jobs([client.submit(job)])
        return n / (time.monotonic() - began)

    # The first job waits for the worker.
    run(10)
    print(f"{run(n_tasks):.0f} tasks per second")
