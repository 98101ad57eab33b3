//! Daemon of a node that shares its tasks with the other nodes of a cluster.
//!
//! One thread makes all decisions by a [`node_core::Core`]. All other parts are edges that turn outside activity into
//! its events and carry out its actions: clients (`client_socket`), processes (`keeper`), other nodes (`links`,
//! `members`), the disk (`journal`).
//!
//! # Invariants
//! - A task whose name was given to a client is on disk, and is run until it has ended, whichever process is
//!   killed.
//! - A task never runs twice at the same time, as long as no clock runs half as fast as another one.
//! - The core blocks on nothing; every channel and table has a bound.
//!
//! # Not here
//! The decisions (`node-core`); the rules by which tasks move (`balancing-policies`); what clients see (`task-api`); arguments (`task-client`).

mod blocks;
pub mod capacity;
pub mod client_socket;
pub mod daemon;
pub mod journal;
pub mod keeper;
pub mod links;
pub mod measure;
pub mod members;
mod quarantine;
mod secrets;
pub mod web;

/// Time for which the lock of a killed daemon may linger in a process that it was starting.
const LOCK_LINGERS: std::time::Duration = std::time::Duration::from_secs(2);

/// Locks a value, even if a thread has panicked while it had the lock.
fn lock<T>(value: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
