//! Tests of the edges of a node's daemon, with real processes and sockets.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod chaos;
mod daemon;
mod door;
mod files;
mod keeper;
mod links;
mod members;

use std::time::{Duration, Instant};

/// Longest wait; nothing here takes as long.
const DEADLINE: Duration = Duration::from_secs(30);

#[track_caller]
fn until(mut condition: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
