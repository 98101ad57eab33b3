//! Features of an MPI library that are tried.

/// Feature of an MPI library that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriedFeature {
    /// Ranks start.
    Start,
    /// Several threads call MPI at the same time.
    Threads,
    /// A process is started and disconnected.
    SpawnOne,
    /// Several processes are started, merged with the ranks, and disconnected.
    Merge,
    /// Disconnected processes end while the others go on.
    Release,
    /// One thread starts a process while the other one goes on.
    Background,
    /// Ranks read each other's memory (one-sided), across worlds.
    Window,
    /// Ranks receive from any source, across worlds.
    AnySource,
    /// Ranks of several worlds are split into groups and go on in these.
    Split,
    /// A job of another launcher connects.
    Connect,
}

use TriedFeature::{
    AnySource, Background, Connect, Merge, Release, SpawnOne, Split, Start, Threads, Window,
};

/// All features, the most basic ones first, in the order in which they are declared: with the name on command lines and
/// in JSON, and the description for people.
const TABLE: [(TriedFeature, &str, &str); 10] = [
    (Start, "start", "start ranks"),
    (Threads, "threads", "calls of several threads"),
    (SpawnOne, "spawn-one", "start a process"),
    (Merge, "merge", "start several, merge"),
    (Release, "release", "release them"),
    (Background, "background", "start in the background"),
    (Window, "window", "one-sided, over worlds"),
    (AnySource, "any-source", "any source, over worlds"),
    (Split, "split", "split, over worlds"),
    (Connect, "connect", "connect another launcher's"),
];

impl TriedFeature {
    /// All steps, the most basic ones first.
    pub(crate) fn all() -> [Self; 10] {
        TABLE.map(|(step, ..)| step)
    }

    /// Name on command lines and in JSON.
    pub(crate) fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Description of the step for people.
    pub(crate) fn words(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// Returns whether the step starts processes.
    pub(crate) fn starts_processes(self) -> bool {
        !matches!(self, Start | Threads | Connect)
    }
}
