"""Heat spreads along a rod, on a number of ranks that may change meanwhile.

    mpiexec -n 1 python3 rod.py --schedule 100:4,200:1 --explain
"""

from sintonia.malleable import Malleable

import numpy
from mpi4py import MPI

N_CELLS = 1000
N_ITERATIONS = 300


class Rod:
    """Cells of this rank, and what depends on the ranks."""

    def __init__(self, run):
        self.run = run
        self.share = run.rows_of(N_CELLS)
        self.heat = run.rows("heat", "f8")
        self.marks = run.packed_rows("marks", self.share)
        run.each_size(self.size_begins, self.size_ends)
        if not run.is_new:
            self.heat.array = numpy.zeros(self.share.n_rows)
            self.heat.array[: self.share.first == 0] = 100.0
            self.marks += [{"cell": self.share.first + place} for place in range(self.share.n_rows)]

    def size_begins(self):
        self.links = self.run.comm.Dup()
        rank, size = self.links.rank, self.links.size
        self.left = rank - 1 if rank > 0 else MPI.PROC_NULL
        self.right = rank + 1 if rank + 1 < size else MPI.PROC_NULL

    def size_ends(self):
        self.links.Free()

    def step(self):
        cells = self.heat.array
        # Beyond the rod it is as warm as at its end.
        before = numpy.concatenate([cells[:1], cells, cells[-1:]])
        self.links.Sendrecv(before[1:2], self.left, 0, before[-1:], self.right, 0)
        self.links.Sendrecv(before[-2:-1], self.right, 1, before[:1], self.left, 1)
        self.heat.array = (before[:-2] + before[1:-1] + before[2:]) / 3.0

    def tell(self):
        """Prints a digest; a sum of integers does not depend on the order of adding."""
        first = self.share.first
        assert [mark["cell"] for mark in self.marks] == [first + place for place in range(self.share.n_rows)]
        cells = numpy.arange(first, first + self.share.n_rows, dtype="u8")
        own = numpy.array([(self.heat.array.view("u8") * (2 * cells + 1)).sum()], "u8")
        total = numpy.zeros(1, "u8")
        self.run.comm.Reduce(own, total, MPI.SUM, 0)
        if self.run.comm.rank == 0:
            print(f"digest {total[0]:016x} on {self.run.comm.size} ranks", flush=True)


def main():
    run = Malleable()
    rod = Rod(run)
    for _iteration in run.iterate(N_ITERATIONS):
        rod.step()
    if not run.has_left:
        rod.tell()
    run.end()


main()
