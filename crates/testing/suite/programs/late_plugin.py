"""Calls MPI from a library that is loaded after MPI_Init: late_plugin.py PLUGIN."""

import ctypes
import sys

from mpi4py import MPI

plugin = ctypes.CDLL(sys.argv[1])
for _ in range(7):
    plugin.plugin_run(1)
MPI.COMM_WORLD.Barrier()
