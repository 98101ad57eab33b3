//! What became of a resize, and what it took.

use serde::{Deserialize, Serialize};

/// Who goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As many as can; only the difference is started or released.
    #[default]
    Merge,
    /// Nobody: all targets are new, all sources leave.
    Baseline,
}

/// How processes are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawn {
    /// Each rank that is there starts some, all at the same time; each is a world of its own.
    #[default]
    Tree,
    /// One call, one world.
    One,
    /// One call for each node.
    PerNode,
    /// Rank 0 starts one after the other; each is a world of its own.
    Sequential,
}

/// What became of new ranks' processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Started {
    /// They were started, and those that leave end.
    #[default]
    Spawned,
    /// They were there from the start and slept; those that leave sleep again.
    Parked,
}

/// How a resize ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The program has its new size.
    #[default]
    Done,
    /// It was not tried.
    Refused,
    /// Something did not come in time.
    TimedOut,
    /// Something failed.
    Failed,
}

/// Where the time of a resize went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// From the wish to the decision.
    pub decide: f64,
    /// From the order until processes were there.
    pub spawn: f64,
    /// While the program stood still, from the first moment to the last.
    pub wait: f64,
    /// To join those that are new.
    pub connect: f64,
    /// While constant data traveled.
    pub constant: f64,
    /// While variable data traveled.
    pub variable: f64,
    /// Until those that left were gone.
    pub release: f64,
}

/// What a resize moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Constant data of all ranks.
    pub constant: u64,
    /// Variable data of all ranks.
    pub variable: u64,
    /// What left its process.
    pub moved: u64,
}

/// A line of `resizes.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resize {
    /// Before which iteration the new size was in force, or where it was given up.
    pub iteration: u64,
    /// Ranks before.
    pub from: u32,
    /// Ranks that were wanted.
    pub to: u32,
    /// Who wanted it, or why.
    pub reason: String,
    /// Who went on.
    pub strategy: Strategy,
    /// How processes were started.
    pub spawn: Spawn,
    /// What became of processes.
    pub started: Started,
    /// How data moved: `sync`, `async`, `p2p`, `get`.
    pub redistribution: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The same in words.
    pub sentence: String,
    /// Where the time went.
    pub seconds: Seconds,
    /// What moved.
    pub bytes: Bytes,
    /// Iterations that ran between order and switch.
    pub iterations_meanwhile: u64,
    /// Processes that left and are gone.
    pub pids_gone: Vec<u32>,
    /// What was weighed, where a model decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// What a model weighed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Iterations that were left.
    pub iterations_left: u64,
    /// Seconds of an iteration at the old size.
    pub seconds_before: f64,
    /// Seconds of an iteration that were foretold for the new size.
    pub seconds_after: f64,
    /// What the resize would cost, in seconds.
    pub seconds_resize: f64,
    /// The same in words.
    pub sentence: String,
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
            outcome: Outcome::TimedOut,
            decision: Some(Decision { iterations_left: 3, ..Decision::default() }),
            ..Resize::default()
        };
        let text = serde_json::to_string(&resize).unwrap();
        assert!(text.contains(r#""strategy":"merge","spawn":"per-node","started":"spawned""#));
        assert!(text.contains(r#""outcome":"timed-out""#));
        assert_eq!(serde_json::from_str::<Resize>(&text).unwrap(), resize);
    }
}
