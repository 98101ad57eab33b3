//! Keeper of a node: a small process beside each daemon that starts tasks and outlives the daemon.
//!
//! The daemon talks to it over a Unix socket in its state folder ([`Keeper`]). When the daemon dies, tasks go on;
//! their ends are held until the next daemon has asked to forget them.
//!
//! # Invariants
//! - Each task leads a process group of its own. When the task has ended, the rest of its group is killed before
//!   the end is reported.
//! - A task whose lease has expired is ended without asking the daemon.
//! - Ends are reported until they are forgotten; their number is bounded, and tasks are refused beyond it.
//! - When the keeper itself is killed, its [`guard()`] kills the tasks; if both are killed at once, the next keeper
//!   does so before it serves.
//!
//! # Not here
//! The decision which task runs where and when: see the daemon's core. A process that leaves its group *and* clears
//! its environment is not found again.

mod client;
mod connection;
mod guard;
mod held;
mod host_list;
mod leftovers;
mod memory;
mod memory_group;
mod pending_starts;
mod place;
mod placeholders;
mod protocol;
mod reap;
mod serving;
mod starting;
mod tasks;
#[cfg(test)]
mod testing;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

pub use client::{Keeper, KeeperClientError};
pub use guard::guard;
pub(crate) use held::file_warning;
pub use serving::serve;

use node_core::interface::Moment;

/// Name of the keeper's socket in the state folder.
pub const SOCKET: &str = "keeper.sock";

/// Options of a keeper.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// State folder: holds the socket, the lock, and ends that no daemon has taken yet.
    pub state: PathBuf,
    /// Arguments with which this program calls [`guard()`] for the same state folder.
    pub guard: Vec<OsString>,
    /// Time for which a keeper without tasks waits for a daemon before it ends.
    pub idle: Duration,
    /// Time for which a task may end by itself after it was asked to, before it is killed.
    pub grace: Duration,
    /// Most tasks that run or whose ends are held; further ones are refused.
    pub n_tasks_max: usize,
    /// Most bytes of ended tasks' output that are held in memory; that of further ones is dropped and counted.
    pub held_bytes_max: usize,
}

impl KeeperOptions {
    /// Default options: a minute for the next daemon, two seconds to end, 65,536 tasks, 256 MiB of output.
    pub fn new(state: PathBuf, guard: Vec<OsString>) -> Self {
        Self {
            state,
            guard,
            idle: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            n_tasks_max: 65_536,
            held_bytes_max: 256 << 20,
        }
    }
}

/// Reasons why a keeper cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// Another keeper holds the lock.
    #[error("a keeper already serves `{0}`; stop its daemon with `sintonia node stop` first")]
    Taken(PathBuf),
    /// A file or socket of the state folder cannot be used.
    #[error("cannot use `{path}`; check that the folder is yours and has room")]
    Folder {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The guard cannot be started; without it, tasks could outlive the keeper.
    #[error("cannot start the guard of `{state}`; check the limit of processes (`ulimit -u`)")]
    Guard {
        /// State folder.
        state: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The system refuses something that the event loop needs.
    #[error("the keeper cannot {doing}; check the limit of open files (`ulimit -n`)")]
    System {
        /// Operation that failed.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

/// Number of ends in a file that a keeper has left, and whether the file is damaged.
pub fn ends_in(bytes: &[u8]) -> (usize, bool) {
    let (ends, is_damaged) = held::ends_in(bytes);
    (ends.len(), is_damaged)
}

/// Time of the machine's boot clock, which also counts while the machine sleeps: a lease expires even if no process
/// runs at that time.
pub fn boot_now() -> Moment {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Moment(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0))
}
