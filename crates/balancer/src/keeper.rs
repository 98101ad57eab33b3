//! The keeper: a small process beside each daemon that starts tasks and outlives the daemon.
//!
//! The daemon talks to it over a Unix socket in its state folder ([`Keeper`]). When the daemon dies,
//! tasks go on; what ended meanwhile is held until the next daemon has asked to forget it.
//!
//! # Invariants
//! - Each task leads a process group of its own. When it has ended, what is left of its group is
//!   killed before the end is reported.
//! - A task whose lease has run out is ended without asking anybody.
//! - Ends are reported until they are forgotten; what is held has a bound, and tasks are
//!   refused beyond it.
//! - When the keeper itself is killed, its [`guard`] kills the tasks; should both be killed at
//!   once, the next keeper does before it serves.
//!
//! # Not here
//! Which task runs where and when: that is the daemon's core. A process that leaves its group *and*
//! clears its environment is not found again.

mod ahead;
mod captured;
mod client;
mod guard;
mod held;
mod leftovers;
mod place;
mod reap;
mod serving;
mod starting;
mod talk;
mod tasks;
#[cfg(test)]
mod testing;
mod words;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

pub use client::{Keeper, KeeperClientError};
pub use guard::guard;
pub(crate) use held::trouble;
pub use serving::serve;
pub use words::WordsError;

use crate::core::words::Moment;

/// The name of the keeper's socket in the state folder.
pub const SOCKET: &str = "keeper.sock";

/// How a keeper serves.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// The state folder: holds the socket, the lock, and ends that nobody has asked for yet.
    pub state: PathBuf,
    /// Arguments with which this program calls [`guard`] for the same state folder.
    pub guard: Vec<OsString>,
    /// How long a keeper with nothing running waits for a daemon before it ends itself.
    pub idle: Duration,
    /// How long a task may take to end after it was asked to, before it is killed.
    pub grace: Duration,
    /// Tasks that run or are held at most; further ones are refused.
    pub n_tasks_max: usize,
    /// Output of ended tasks held in memory at most, in bytes; that of further ones is dropped and
    /// counted.
    pub held_bytes_max: usize,
}

impl KeeperOptions {
    /// A minute for the next daemon, two seconds to end, 65,536 tasks, 256 MiB of output.
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

/// Why a keeper cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// Another keeper holds the lock.
    #[error("a keeper already serves `{0}`; stop its daemon with `sintonia node stop` first")]
    Taken(PathBuf),
    /// A file or socket of the state folder.
    #[error("cannot use `{path}`; check that the folder is yours and has room")]
    Folder {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The guard, without which tasks could outlive the keeper.
    #[error("cannot start the guard of `{state}`; check the limit of processes (`ulimit -u`)")]
    Guard {
        /// The state folder.
        state: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses what every event loop needs.
    #[error("the keeper cannot {doing}; check the limit of open files (`ulimit -n`)")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// How many ends a file holds that a keeper has left, and whether it is damaged.
pub fn ends_in(bytes: &[u8]) -> (usize, bool) {
    let (ends, is_damaged) = held::ends_in(bytes);
    (ends.len(), is_damaged)
}

/// The time of the machine's boot clock, which also counts while the machine sleeps: a lease runs
/// out although nobody was awake to see it.
pub fn boot_now() -> Moment {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Moment(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0))
}
