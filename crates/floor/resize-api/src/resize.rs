//! Records of resizes: outcome and cost.

use serde::{Deserialize, Serialize};

/// Rule for which processes continue after a resize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As many as possible continue; only the difference is started or released.
    #[default]
    Merge,
    /// None continues: all targets are new, all sources leave.
    Baseline,
}

/// Way of starting processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawn {
    /// Each present rank starts some, all at the same time; each process has its own `MPI_COMM_WORLD`.
    #[default]
    Tree,
    /// One call starts all, in one `MPI_COMM_WORLD`.
    One,
    /// One call per node.
    PerNode,
    /// Rank 0 starts one after the other; each process has its own `MPI_COMM_WORLD`.
    Sequential,
    /// Another launcher starts them, and they connect.
    Companion,
}

/// Origin of the new ranks' processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Started {
    /// They were started, and processes that leave end.
    #[default]
    Spawned,
    /// They existed from the start and slept; processes that leave sleep again.
    Parked,
}

/// Outcome of a resize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResizeOutcome {
    /// The program has its new size.
    #[default]
    Done,
    /// The resize was not attempted.
    Refused,
    /// A step exceeded its deadline.
    TimedOut,
    /// A step failed.
    Failed,
}

/// Breakdown of the time of a resize, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// From the request to the decision.
    pub decide: f64,
    /// From the order until all processes had started.
    pub spawn: f64,
    /// While the program stood still.
    pub wait: f64,
    /// For joining the new processes.
    pub connect: f64,
    /// For moving constant data.
    pub constant: f64,
    /// For moving variable data.
    pub variable: f64,
    /// Until the processes that left had ended.
    pub release: f64,
    /// From the beginning until the new size was in force, or until the resize was given up.
    #[serde(default)]
    pub total: f64,
}

/// Amount of data in a resize, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesMoved {
    /// Constant data of all ranks.
    pub constant: u64,
    /// Variable data of all ranks.
    pub variable: u64,
    /// Data that moved to another process.
    pub moved: u64,
}

/// Record of a resize, one line of `resizes.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resize {
    /// Time when the resize was first considered, in seconds since 1970; 0 if unknown.
    #[serde(default)]
    pub began_s: f64,
    /// First iteration with the new size, or the iteration at which the resize was given up.
    pub iteration: u64,
    /// Number of ranks before.
    pub from: u32,
    /// Number of ranks wanted.
    pub to: u32,
    /// Source of the request, or its reason.
    pub reason: String,
    /// Rule for which processes continued.
    pub strategy: Strategy,
    /// Way of starting processes.
    pub spawn: Spawn,
    /// Origin of the processes.
    pub started: Started,
    /// Method of moving data: `sync`, `async`, `p2p`, `get`.
    pub redistribution: String,
    /// Outcome.
    pub outcome: ResizeOutcome,
    /// Outcome in words.
    pub sentence: String,
    /// Breakdown of the time.
    pub seconds: Seconds,
    /// Amount of data.
    pub bytes: BytesMoved,
    /// Number of iterations between order and switch.
    pub iterations_meanwhile: u64,
    /// Ids of processes that left and have ended.
    pub pids_gone: Vec<u32>,
    /// Figures of the decision, if a model made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ModelDecision>,
}

/// Figures of a decision by a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelDecision {
    /// Number of iterations left.
    pub iterations_left: u64,
    /// Time of an iteration at the old size, in seconds.
    pub seconds_before: f64,
    /// Predicted time of an iteration at the new size, in seconds.
    pub seconds_after: f64,
    /// Predicted cost of the resize, in seconds.
    pub seconds_resize: f64,
    /// Decision in words.
    pub sentence: String,
}

/// Phase of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResizePhase {
    /// Evaluating the resize, and requesting nodes; the program computes.
    Decide,
    /// Starting processes; the program computes.
    Spawn,
    /// Joining them with the present ones; the program computes.
    Connect,
    /// Moving constant data; the program computes.
    Moving,
    /// Everything is ready, but the program has not reached its next check.
    Approach,
    /// The program stands still.
    Wait,
    /// Waiting for the end of processes that left; the program computes.
    Release,
}

impl ResizePhase {
    /// All phases, in order of time.
    pub const ALL: [Self; 7] = [
        Self::Decide,
        Self::Spawn,
        Self::Connect,
        Self::Moving,
        Self::Approach,
        Self::Wait,
        Self::Release,
    ];

    /// Name of the phase.
    pub fn words(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Spawn => "spawn",
            Self::Connect => "connect",
            Self::Moving => "moving meanwhile",
            Self::Approach => "until the next look",
            Self::Wait => "wait",
            Self::Release => "release",
        }
    }
}

impl Resize {
    /// Returns the phases that took time, with their seconds; they do not overlap.
    ///
    /// Time before the new size was in force that belongs to no other phase is [`ResizePhase::Approach`].
    pub fn phases(&self) -> Vec<(ResizePhase, f64)> {
        let seconds = &self.seconds;
        let before_s = seconds.decide + seconds.spawn + seconds.connect;
        // Data that move while the program waits belong to that phase.
        let moving_s = if self.redistribution == "sync" || self.iterations_meanwhile == 0 {
            0.0
        } else {
            seconds.constant.min((seconds.total - before_s - seconds.wait).max(0.0))
        };
        let known_s = before_s + moving_s + seconds.wait;
        let times_s = [
            seconds.decide,
            seconds.spawn,
            seconds.connect,
            moving_s,
            (seconds.total - known_s).max(0.0),
            seconds.wait,
            seconds.release,
        ];
        ResizePhase::ALL.into_iter().zip(times_s).filter(|(_, time_s)| 0.0 < *time_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resize_is_read_as_it_was_written() {
        let resize = Resize {
            iteration: 10,
            from: 4,
            to: 8,
            reason: "schedule".to_owned(),
            spawn: Spawn::PerNode,
            outcome: ResizeOutcome::TimedOut,
            decision: Some(ModelDecision { iterations_left: 3, ..ModelDecision::default() }),
            ..Resize::default()
        };
        let text = serde_json::to_string(&resize).unwrap();
        assert!(text.contains(r#""strategy":"merge","spawn":"per-node","started":"spawned""#));
        assert!(text.contains(r#""outcome":"timed-out""#));
        assert_eq!(serde_json::from_str::<Resize>(&text).unwrap(), resize);
    }

    #[track_caller]
    fn check(redistribution: &str, seconds: Seconds, expected: &[(ResizePhase, f64)]) {
        let redistribution = redistribution.to_owned();
        let resize =
            Resize { redistribution, seconds, iterations_meanwhile: 3, ..Resize::default() };
        assert_eq!(resize.phases(), expected);
    }

    #[test]
    fn each_moment_is_in_one_phase() {
        use ResizePhase::{Approach, Connect, Decide, Moving, Release, Spawn, Wait};
        let seconds = Seconds { decide: 1.0, spawn: 2.0, connect: 4.0, ..Seconds::default() };
        let begun = [(Decide, 1.0), (Spawn, 2.0), (Connect, 4.0)];
        check("sync", seconds, &begun);
        let seconds = Seconds { constant: 8.0, wait: 16.0, total: 32.0, release: 64.0, ..seconds };
        let [a, b, c] = begun;
        check("sync", seconds, &[a, b, c, (Approach, 9.0), (Wait, 16.0), (Release, 64.0)]);
        check(
            "async",
            seconds,
            &[a, b, c, (Moving, 8.0), (Approach, 1.0), (Wait, 16.0), (Release, 64.0)],
        );
        let short = Seconds { total: 25.0, ..seconds };
        check("p2p", short, &[a, b, c, (Moving, 2.0), (Wait, 16.0), (Release, 64.0)]);
    }
}
