//! Graphs of programs, through the public API.

mod forms;
mod laws;
mod loops;
mod operations;
mod pictures;
mod programs;
mod roles;
mod runs;
mod said;
