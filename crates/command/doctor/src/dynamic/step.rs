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

impl TriedFeature {
    /// All steps, the most basic ones first.
    pub(crate) const ALL: [Self; 10] = [
        Self::Start,
        Self::Threads,
        Self::SpawnOne,
        Self::Merge,
        Self::Release,
        Self::Background,
        Self::Window,
        Self::AnySource,
        Self::Split,
        Self::Connect,
    ];

    /// Name on command lines and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Threads => "threads",
            Self::SpawnOne => "spawn-one",
            Self::Merge => "merge",
            Self::Release => "release",
            Self::Background => "background",
            Self::Window => "window",
            Self::AnySource => "any-source",
            Self::Split => "split",
            Self::Connect => "connect",
        }
    }

    /// Returns whether the step starts processes.
    pub(crate) fn starts_processes(self) -> bool {
        !matches!(self, Self::Start | Self::Threads | Self::Connect)
    }

    /// Description of the step for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Start => "start ranks",
            Self::Threads => "calls of several threads",
            Self::SpawnOne => "start a process",
            Self::Merge => "start several, merge",
            Self::Release => "release them",
            Self::Background => "start in the background",
            Self::Window => "one-sided, over worlds",
            Self::AnySource => "any source, over worlds",
            Self::Split => "split, over worlds",
            Self::Connect => "connect another launcher's",
        }
    }
}
