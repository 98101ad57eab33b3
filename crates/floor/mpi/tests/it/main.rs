//! Runs the calls on ranks of every installed MPI library.

mod on_ranks;
