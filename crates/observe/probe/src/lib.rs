//! Preloaded library (`libsintonia.so`) that monitors the MPI calls of an unmodified program.
//!
//! Every communicating MPI operation has a wrapper here, for C and for Fortran, generated from the
//! table of `mpi-abi`. A wrapper notes the time, calls the real function, notes the time again, and
//! adds to counters in shared memory (`ring`); in traced runs it also appends a record.
//!
//! A tuned process also has probes in its functions (`instrument`), and a control thread that executes the
//! collector's orders (`control`), among them those that need nothing of the program (`levers`).
//!
//! # Invariants
//! - When anything here fails, the program continues unmonitored (fail open), and the failure is counted.
//! - During a call: no lock, no allocation, no system call; only stores. The first call of a thread and the
//!   first use of a communicator are the exceptions.
//! - Nothing is sent over MPI, nothing is printed; handles are passed on and never dereferenced.
//! - A process that is not an MPI rank of a monitored run (`mpirun`, a shell, `ssh`) is left alone.
//!
//! # Not here
//! Table of operations (`mpi-abi`), layout of shared memory (`ring`), reading it (`collector`).

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
compile_error!("the probe knows Linux with glibc on x86-64 only");

mod affinity;
mod attach;
mod binding;
mod call;
mod collectives;
mod collector;
mod communicators;
mod control;
mod cost;
mod datatypes;
mod fortran;
mod forwarding;
mod handle;
mod identity;
mod launcher;
mod levers;
mod library;
mod monitoring;
mod next;
mod object;
mod openmp;
mod options;
mod pause;
mod pmpi;
mod polls;
mod probes;
mod process;
mod receives;
mod sampling;
mod signals;
mod thread;
mod usage;
mod waiting;
mod watch;
mod wrappers;
