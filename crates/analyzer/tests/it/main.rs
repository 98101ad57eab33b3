//! Collectors, ranks and the analyzer of a run as processes of their own, without MPI.

mod collecting;
mod losing;
mod network;
mod roles;
mod stage;
mod tuned;
mod tuned_role;
