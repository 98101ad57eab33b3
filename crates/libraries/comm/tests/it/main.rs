//! Groups of ranks through the public API: the same scenarios on threads and on every installed MPI
//! library.

mod mpi;
mod netbench;
mod scenarios;
mod threads;
