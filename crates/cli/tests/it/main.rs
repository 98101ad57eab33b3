//! The program `sintonia` from outside, on commands without MPI.

mod export;
mod help;
mod report;
mod run;
mod sintonia;
