//! Tests of the built-in tunlets through the public API, with a master and workers in simulated time.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of tests are small"
)]

mod conducted;
mod declared;
mod factoring;
mod imbalance;
mod search;
mod simulated;
mod worker_count;
