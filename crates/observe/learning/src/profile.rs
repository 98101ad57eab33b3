//! Profile: all that is kept of one build of a program, with one number of ranks and one size of problem, on one machine.

use crate::candidates::Setting;
use crate::levers::LearntLever;
use crate::rank_order::RankOrder;
use crate::verdict::Figures;
use serde::{Deserialize, Serialize};

/// Version of the format of profiles.
pub const FORMAT_VERSION: u32 = 1;
/// Most runs that are kept.
pub(crate) const N_RUNS_KEPT: usize = 40;

/// Profile of a program; see the module documentation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// What it is of.
    pub key: Key,
    /// Number of runs so far.
    pub n_runs: u64,
    /// MPI calls in an iteration, by which iterations of several runs are compared; `None` if iterations are described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_calls: Option<f64>,
    /// Latest runs, oldest first.
    pub runs: Vec<Run>,
    /// Levers that were tried.
    pub levers: Vec<LearntLever>,
    /// Settings of the launch that a run gave a reason for.
    pub candidates: Vec<Candidate>,
    /// Sentences about what only the user can set.
    pub advice: Vec<String>,
    /// Order of ranks over nodes with less traffic between these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_order: Option<RankOrder>,
}

/// What a profile is of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Key {
    /// File name of the program, or of the script that an interpreter runs.
    pub program: String,
    /// Checksum and length of that file: another build is another program.
    pub build: String,
    /// Path of the command that starts it.
    pub launcher: String,
    /// Number of ranks.
    pub n_ranks: usize,
    /// Version text of the MPI library.
    pub mpi: String,
    /// The machine.
    pub machine: Machine,
    /// Number of nodes with ranks.
    pub n_nodes: usize,
    /// Size of the problem.
    pub size: Size,
}

/// Machine, as far as run times depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Model of its processors.
    pub processor: String,
    /// Cores that are online.
    pub n_cores: usize,
}

/// Size of the problem, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// Iterations take about two to this power seconds.
    Iteration(i32),
    /// There are no iterations: the command line, by its checksum.
    Whole(String),
}

impl Default for Size {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl Size {
    /// Size class of iterations that take this long.
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    pub fn of_iteration(iteration_s: f64) -> Self {
        Self::Iteration(iteration_s.max(1e-9).log2().round() as i32)
    }

    /// Short name for people and files.
    pub fn name(&self) -> String {
        let Self::Iteration(class) = self else { return "whole".to_owned() };
        let time_s = f64::from(*class).exp2();
        let in_unit = |scale: f64| (scale * time_s).round().max(1.0);
        match time_s {
            ..1e-3 => format!("{}us", in_unit(1e6)),
            ..1.0 => format!("{}ms", in_unit(1e3)),
            _ => format!("{}s", in_unit(1.0)),
        }
    }
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Number, from 1.
    pub number: u64,
    /// Start in s since 1970.
    pub started_s: f64,
    /// Command line, shortened.
    pub command: String,
    /// Its checksum.
    pub command_id: String,
    /// Levers that were allowed (`all`, `memory,waiting`); empty without `--tune`.
    pub tune: String,
    /// End of the command (`exit code 0`, `signal 9`).
    pub end: String,
    /// Time from `MPI_Init` to `MPI_Finalize` in s.
    pub elapsed_s: f64,
    /// Median time of an iteration after the last change of the run, in s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_s: Option<f64>,
    /// Names of the settings that it was started with.
    pub settings: Vec<String>,
}

/// End of a command that did what it should.
pub(crate) const ENDED_WELL: &str = "exit code 0";

impl Run {
    /// Time in s by which runs are compared.
    pub(crate) fn time_s(&self, size: &Size) -> Option<f64> {
        let time_s = match size {
            Size::Iteration(_) => self.iteration_s,
            Size::Whole(_) => Some(self.elapsed_s),
        };
        time_s.filter(|_| self.end == ENDED_WELL)
    }
}

/// Setting of the launch that is tried from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Name, variables and reason.
    #[serde(flatten)]
    pub setting: Setting,
    /// State of its trial.
    pub state: CandidateState,
    /// Number of the run after which its state is what it is.
    pub run: u64,
    /// Start of that run, in s since 1970.
    pub at_s: f64,
    /// Runs with and without it, when it was last judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// Why it is kept or dropped; empty before.
    pub why: String,
}

/// State of a candidate's trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateState {
    /// Some of the next runs are started with it.
    Trying,
    /// All runs are started with it, but for a check now and then.
    Kept,
    /// It did not help, or the command failed with it.
    Dropped,
}

impl Profile {
    /// Creates the profile of a program that has not run yet.
    pub fn new(key: Key, n_calls: Option<f64>) -> Self {
        Self { format_version: FORMAT_VERSION, key, n_calls, ..Self::default() }
    }

    /// Names of the settings that are kept.
    pub fn kept(&self) -> Vec<&str> {
        let kept = self.candidates.iter().filter(|it| it.state == CandidateState::Kept);
        kept.map(|it| it.setting.name.as_str()).collect()
    }

    /// Runs that ended well, with these levers allowed and exactly these settings, oldest first.
    pub(crate) fn with_settings<'a>(
        &'a self,
        tune: &'a str,
        settings: &'a [&'a str],
    ) -> impl Iterator<Item = &'a Run> {
        let is_such = move |run: &&Run| run.tune == tune && same(&run.settings, settings);
        self.runs.iter().filter(is_such).filter(|run| run.end == ENDED_WELL)
    }

    /// Times in s of two such groups of runs, and whether they are of iterations. Whole runs of this command line are
    /// compared where the first group has a run without iterations: one that has become too short to find some.
    pub(crate) fn compared_s(
        &self,
        (tune, command_id): (&str, &str),
        (some, others): (&[&str], &[&str]),
    ) -> (Vec<f64>, Vec<f64>, bool) {
        let is_known = |run: &Run| run.time_s(&self.key.size).is_some();
        let is_iteration = matches!(self.key.size, Size::Iteration(_))
            && self.with_settings(tune, some).all(is_known);
        let time_s = |run: &Run| match is_iteration {
            true => run.time_s(&self.key.size),
            false => Some(run.elapsed_s).filter(|_| run.command_id == command_id),
        };
        let times_s = |group| self.with_settings(tune, group).filter_map(time_s).collect();
        (times_s(some), times_s(others), is_iteration)
    }

    /// Typical time in s of a run, or of an iteration.
    pub fn typical_s(&self) -> Option<f64> {
        let times = self.runs.iter().filter_map(|run| run.time_s(&self.key.size));
        statistics::median(times)
    }

    /// Time of an iteration with this many MPI calls, as it is counted here.
    pub fn counted_s(&self, iteration_s: f64, n_calls: Option<f64>) -> f64 {
        match (self.n_calls, n_calls) {
            (Some(own), Some(found)) if 0.0 < found => iteration_s * own / found,
            _ => iteration_s,
        }
    }
}

/// Returns whether two lists have the same names.
pub(crate) fn same(some: &[String], others: &[&str]) -> bool {
    some.len() == others.len() && some.iter().all(|name| others.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(iteration_s: f64, expected: &str) {
        assert_eq!(Size::of_iteration(iteration_s).name(), expected);
    }

    #[test]
    fn sizes_are_powers_of_two() {
        check(0.001, "977us");
        check(0.0011, "977us");
        check(0.0015, "2ms");
        check(0.012, "16ms");
        check(1.1, "1s");
        check(100.0, "128s");
        check(0.0, "1us");
    }
}
