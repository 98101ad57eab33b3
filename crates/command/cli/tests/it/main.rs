//! Tests of the program `sintonia` from outside, mostly of commands without MPI.

mod balance;
mod doctor;
mod experiment;
mod export;
mod fit;
mod functions;
mod graph;
mod help;
mod learnt;
mod messages;
mod netbench;
mod new;
mod new_tunlet;
mod on_ranks_new;
mod predict;
mod predict_engine;
mod predict_graph;
mod report;
mod resize;
mod run;
mod simulate;
mod simulate_balance;
mod sintonia;
mod slurm_policy;
mod tuned;
mod tunlets;
