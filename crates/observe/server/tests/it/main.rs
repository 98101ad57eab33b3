//! Tests of collectors, ranks and the analyzer of a run as separate processes, without MPI.

mod collecting;
mod losing;
mod network;
mod overwritten;
mod roles;
mod stage;
mod strangers;
mod summed;
mod tuned;
