//! Causes of waiting, from a trace.

use serde::{Deserialize, Serialize};

/// Waiting of all ranks and its causes (traced runs only).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delays {
    /// Time in s that ranks waited for late partners, over all ranks.
    pub waiting_s: f64,
    /// Waiting that each rank causes at each place, directly and by ranks that wait in turn; most first. All of them
    /// add up to `waiting_s`, but the least are left out.
    pub causes: Vec<RankTime>,
    /// Time of each rank and place on the critical path, on which the end of the run depends; longest first, and the shortest
    /// are left out. That of one world adds up to the world's time.
    pub critical_path: Vec<RankTime>,
}

/// Time of a rank at a place of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankTime {
    /// Index in [`super::Summary::worlds`].
    pub world: usize,
    /// Rank in the world.
    pub rank: u32,
    /// What the rank does there.
    pub doing: Doing,
    /// [`super::CallSite::id`] of the call before a computation; `None` at the start of a thread, and for a call.
    pub from: Option<usize>,
    /// [`super::CallSite::id`] of the call, or of the call after a computation; `None` at the end of a thread.
    pub to: Option<usize>,
    /// Time, in s.
    pub time_s: f64,
}

/// What a rank does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// It is outside MPI.
    #[default]
    Computing,
    /// It is in a call, and waits for nobody.
    Calling,
}
