//! The program `sintonia` from outside, on commands without MPI.

mod export;
mod functions;
mod help;
mod new_tunlet;
mod report;
mod run;
mod sintonia;
mod tuned;
mod tunlets;
