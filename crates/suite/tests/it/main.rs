//! `sintonia run` on real programs, on real ranks of four MPI libraries.

mod bit_equality;
mod call_sites;
mod children;
mod efficiencies;
mod endings;
mod losses;
mod operations;
mod programs;
mod traffic;
