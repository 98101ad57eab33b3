//! The preloaded library (`libsintonia.so`): watches the MPI calls of an unmodified program.
//!
//! Every communicating MPI operation has a wrapper here, for C and for Fortran, generated from the
//! table of `mpi-abi`. A wrapper notes the time, calls the real function, notes the time again, and
//! adds to counters in shared memory (`ring`); in traced runs it also appends a record.
//!
//! A process that is tuned has probes in its functions, too (`instrument`), and a thread of ours that carries
//! out what the collector orders (`control`).
//!
//! # Invariants
//! - When anything here fails, the program goes on unobserved (fail open), and it is counted.
//! - On the way of a call: no lock, no allocation, no system call; only stores. The first call of a
//!   thread and the first use of a communicator are the exceptions.
//! - Nothing is sent over MPI, nothing printed; handles are handed on and never looked into.
//! - A process that is not an MPI rank of a watched run (`mpirun`, a shell, `ssh`) is left alone.
//!
//! # Not here
//! The table (`mpi-abi`), the layout of shared memory (`ring`), reading it (`analyzer`).

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
compile_error!("the probe knows Linux with glibc on x86-64 only");

mod attach;
mod binding;
mod call;
mod collector;
mod communicators;
mod completion;
mod control;
mod cost;
mod datatypes;
mod fortran;
mod forwarding;
mod handle;
mod identity;
mod launcher;
mod library;
mod next;
mod object;
mod options;
mod pmpi;
mod probes;
mod process;
mod signals;
mod thread;
mod tls;
mod transfer;
mod wrappers;
