//! Journal of an experiment: its plan, the runs that are done or failed, and the conditions they ran under.

use crate::GridPoint;
use crate::noise::Noise;
use crate::plan::{Parameters, Plan};
use crate::schedule::ScheduledRun;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Version of `experiment.json`.
pub const FORMAT_VERSION: u32 = 1;

/// Reason why an experiment cannot be resumed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The plan differs from the plan of the runs that are done, in these fields.
    #[error("the plan changed since this experiment began, in {}; choose another folder with `-o`, or start over with `--fresh`", quoted(.0))]
    Changed(Vec<&'static str>),
    /// A newer version wrote the journal.
    #[error(
        "the experiment was written in format {0}, and this version reads up to {FORMAT_VERSION}; use a newer one"
    )]
    Newer(u32),
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// State of an experiment, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The plan.
    pub plan: Plan,
    /// Conditions of the runs: host, processor, versions.
    pub environment: BTreeMap<String, String>,
    /// Rounds of the calibration work, a fixed amount that is timed between runs.
    pub n_calibration_rounds: u64,
    /// Noise of the machine, from the calibration times.
    pub noise: Option<Noise>,
    /// Completed runs, in order.
    pub runs: Vec<CompletedRun>,
    /// Runs that failed in all their tries.
    pub failed: Vec<Failed>,
    /// Valid bytes of each file of measurements, by name; what follows them belongs to an incomplete run.
    pub valid_bytes: BTreeMap<String, u64>,
}

/// A completed run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletedRun {
    /// Point that was run.
    pub params: Parameters,
    /// True if the point is kept from fitting.
    pub is_holdout: bool,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Time of its start, in seconds since 1970.
    pub started_s: f64,
    /// Time from its start to its end, in seconds.
    pub wall_s: f64,
    /// Time of the longest rank between `MPI_Init` and `MPI_Finalize`, in seconds.
    pub elapsed_s: f64,
    /// Number of times it was started.
    pub tries: u32,
    /// Load average of the starting node before the run: runnable processes over the last minute.
    pub load: f64,
    /// Time of the calibration work before the run, in seconds.
    pub calibration_s: f64,
    /// Ranks of the run, and the nodes they ran on.
    #[serde(default)]
    pub placement: RunPlacement,
}

/// Ranks of a run on nodes; 0 where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlacement {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of nodes with ranks.
    pub nodes: u32,
    /// Largest number of ranks on a node.
    pub ranks_per_node: u32,
    /// Smallest number of cores of these nodes.
    pub cores_per_node: u32,
}

/// A run that failed in all its tries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// Point that was run.
    pub params: Parameters,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Reason, in a sentence.
    pub why: String,
}

impl Journal {
    /// Creates a journal without runs.
    pub fn new(plan: Plan) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            plan,
            environment: BTreeMap::new(),
            n_calibration_rounds: 0,
            noise: None,
            runs: Vec::new(),
            failed: Vec::new(),
            valid_bytes: BTreeMap::new(),
        }
    }

    /// Resumes the experiment with this plan; failed runs are tried again.
    ///
    /// # Errors
    /// When the plan differs in what was measured, or a newer version wrote the journal.
    pub fn resume(&mut self, plan: &Plan) -> Result<(), JournalError> {
        if FORMAT_VERSION < self.format_version {
            return Err(JournalError::Newer(self.format_version));
        }
        let changes = plan.changes_since(&self.plan);
        if !changes.is_empty() {
            return Err(JournalError::Changed(changes));
        }
        self.plan = plan.clone();
        self.failed.clear();
        Ok(())
    }

    /// Returns those of `runs` that are not done.
    pub fn left(&self, points: &[GridPoint], runs: &[ScheduledRun]) -> Vec<ScheduledRun> {
        let is_done = |run: &ScheduledRun| {
            let params = &points[run.point].parameters;
            self.runs.iter().any(|done| done.repetition == run.repetition && done.params == *params)
        };
        runs.iter().filter(|run| !is_done(run)).copied().collect()
    }

    /// Adds a completed run and updates the noise.
    pub fn add(&mut self, done: CompletedRun) {
        self.runs.push(done);
        let times_s: Vec<f64> = self.runs.iter().map(|done| done.calibration_s).collect();
        self.noise = Noise::of(&times_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule;

    fn plan(more: &str) -> Plan {
        Plan::read(&format!("command = 'x {{n}}'\nparameters = {{ n = [1, 2] }}\n{more}")).unwrap()
    }

    #[test]
    fn what_is_done_is_not_run_again() {
        let mut journal = Journal::new(plan(""));
        let points = journal.plan.points().unwrap();
        let runs = schedule::runs(points.len(), 5, 1);
        let done = &points[runs[1].point];
        journal.add(CompletedRun {
            params: done.parameters.clone(),
            calibration_s: 2.0,
            ..CompletedRun::default()
        });
        let left = journal.left(&points, &runs);
        assert_eq!(left, [&runs[..1], &runs[2..]].concat());
        assert_eq!(journal.noise.map(|noise| noise.fastest_s), Some(2.0));
    }

    #[track_caller]
    fn check(more: &str, version: u32, expected: Result<(), &str>) {
        let mut journal = Journal::new(plan(""));
        journal.format_version = version;
        let went = journal.resume(&plan(more)).map_err(|error| error.to_string());
        match (went, expected) {
            (Err(said), Err(expected)) => assert!(said.contains(expected), "{said}"),
            (went, expected) => assert_eq!(went, expected.map_err(str::to_owned)),
        }
    }

    #[test]
    fn another_plan_is_refused() {
        check("repetitions = 7", 1, Ok(()));
        check(
            "seed = 7\nwhere = 'n < 2'",
            1,
            Err("in `where`, `seed`; choose another folder with"),
        );
        check("", 2, Err("in format 2"));
    }
}
