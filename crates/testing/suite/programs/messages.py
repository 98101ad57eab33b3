"""Python objects and buffers around the ring, and reductions, under mpi4py."""

from array import array
from hashlib import sha256

from mpi4py import MPI


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    words = {"rank": rank, "words": ["a" * i for i in range(20)]}
    for turn in range(10):
        words = world.sendrecv(words, dest=right, sendtag=turn, source=left, recvtag=turn)
    out, received = array("d", [rank + i / 7 for i in range(100)]), array("d", [0.0] * 100)
    request = world.Irecv([received, MPI.DOUBLE], source=left, tag=3)
    world.Send([out, MPI.DOUBLE], dest=right, tag=3)
    request.Wait()
    total = array("d", [0.0] * 100)
    world.Allreduce([received, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    part = world.Split(rank % 2, rank)
    members = part.allgather(rank)
    part.Free()
    everything = world.gather((words["rank"], members, sha256(total.tobytes()).hexdigest()), root=0)
    if rank == 0:
        for line in everything:
            print(*line)


main()
