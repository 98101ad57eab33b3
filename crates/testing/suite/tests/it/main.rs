//! Tests of `sintonia run` on real programs, with ranks of four MPI libraries.

#![expect(clippy::panic, reason = "helpers of tests fail by panicking")]

mod attach;
mod balance;
mod bit_equality;
mod call_sites;
mod causes;
mod children;
mod cluster;
mod composed;
mod dealt;
mod efficiencies;
mod endings;
mod experiment;
mod failure_table;
mod guide;
mod hangs;
mod instrument;
mod killed;
mod learnt;
mod levers;
mod levers_left;
mod limits;
mod losses;
mod malleable;
mod malleable_slurm;
mod nodes;
mod oddities;
mod operations;
mod overwritten;
mod probed;
mod programs;
mod restarts;
mod slurm;
mod suggested;
mod traffic;
mod tuned;
mod tuned_master_worker;
mod waits;
