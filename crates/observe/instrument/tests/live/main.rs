//! Code changed while threads execute it, on functions assembled by hand.
//!
//! A mistake here ends the process: each test runs in a child process, which an alarm ends if it hangs.
#![allow(unsafe_code, reason = "calls functions assembled by hand, sets signals")]

mod active;
mod alone;
mod arena;
mod child;
mod closed;
mod forbidden;
mod foreign;
mod full;
mod sleepers;
mod stress;
