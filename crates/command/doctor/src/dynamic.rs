//! Dynamic processes: tries what each MPI library can do for programs that change their size, and adds known defects.
//!
//! A tiny job of this program itself is started with each launcher, under a watchdog: whatever hangs is ended, with all
//! that it started, and leaves nothing behind.
//!
//! # Not here
//! Programs of fixed size: every library that starts ranks at all can run them.

mod known;
pub(crate) mod leftovers;
pub mod rank;
mod step;
mod trial;

use super::mpi::Launcher;
use crate::check::{Check, CheckResult};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::Duration;
use step::TriedFeature;
use trial::{LongestWaits, RankCommand, StepOutcome};

/// Long enough that slow machines, and Open MPI's sleep of a second, do not count as hanging.
const LIMITS: LongestWaits =
    LongestWaits { start: Duration::from_secs(20), step: Duration::from_secs(10) };
/// Steps that a program needs to change its size.
const NEEDED: [TriedFeature; 6] = {
    use TriedFeature::{AnySource, Merge, Release, SpawnOne, Split, Start};
    [Start, SpawnOne, Merge, Release, AnySource, Split]
};

/// Longest detail in a line for people, in characters.
const DETAIL_MAX: usize = 70;

/// Results for one launcher.
#[derive(Clone, Debug)]
pub(crate) struct LauncherReport {
    launcher: Launcher,
    steps: Vec<(TriedFeature, StepOutcome)>,
    settings: Vec<mpi_abi::Setting>,
}

/// Tries the library of a launcher; `words` are further options of the launcher.
pub(crate) fn attempt(launcher: Launcher, words: &[OsString]) -> anyhow::Result<LauncherReport> {
    let is_root = rustix::process::geteuid().is_root();
    let settings = known::settings(&launcher, is_root);
    let mut command = vec![launcher.path.clone().into_os_string()];
    command.extend(known::options(&launcher).iter().map(OsString::from));
    command.extend_from_slice(words);
    // A variable that the user has set stays, since programs get it, too.
    let unset = settings.iter().copied().filter(|(name, _)| std::env::var_os(name).is_none());
    let start = RankCommand {
        launcher: command,
        program: vec![std::env::current_exe()?.into(), "doctor-rank".into()],
        variables: unset.collect(),
    };
    // Open MPI is known not to connect programs of two launchers; trying it would take all of the time.
    let is_open = |step: &TriedFeature| *step != TriedFeature::Connect || !launcher.is_open_mpi;
    let steps: Vec<TriedFeature> = TriedFeature::all().into_iter().filter(is_open).collect();
    let steps = trial::conduct(&start, &steps, LIMITS);
    Ok(LauncherReport { launcher, steps, settings })
}

impl LauncherReport {
    /// Steps that do not work.
    fn amiss(&self) -> impl Iterator<Item = TriedFeature> {
        let works = |outcome: &StepOutcome| matches!(outcome, StepOutcome::Works(_));
        self.steps.iter().filter(move |(_, outcome)| !works(outcome)).map(|(step, _)| *step)
    }

    /// Sentence about how a program changes its size with this library.
    fn way(&self) -> &'static str {
        let is_spawning = self.amiss().all(|step| !NEEDED.contains(&step));
        known::way(&self.launcher, is_spawning)
    }

    /// Sums the results up as one check.
    pub(crate) fn check(&self) -> Check {
        let (found, way) = (self.launcher.name_and_path(), self.way());
        let amiss: Vec<&str> = self.amiss().map(TriedFeature::words).collect();
        if amiss.is_empty() {
            return Check::ok("dynamic processes", found);
        }
        let costs = format!("not here: {}; {way}", amiss.join("; "));
        let remedy = "use MPICH 5 or Open MPI 5 with the settings below; see the guide, \"Make your program malleable\"";
        Check::limited("dynamic processes", found, [&costs, remedy])
    }

    /// Renders the results for people: a line per step, known defects, and what to set.
    pub(crate) fn render(&self, color: bool) -> String {
        let header = self.launcher.name_and_path();
        let line = |(step, outcome): &(TriedFeature, StepOutcome)| {
            let (state, word, detail) = outcome_parts(outcome);
            let state = state.paint(word, color);
            let line = format!("  {state}  {:26}  {}", step.words(), shortened(detail));
            format!("{}\n", line.trim_end())
        };
        let steps: String = self.steps.iter().map(line).collect();
        let defects = known::defects(&self.launcher).iter();
        let defects: String = defects.map(|defect| format!("  known: {defect}\n")).collect();
        let setting = |(name, value): &mpi_abi::Setting| format!("{name}={}", for_shells(value));
        let settings = self.settings.iter().map(setting).collect::<Vec<_>>().join(" ");
        let options = known::options(&self.launcher).join(" ");
        let set = [("set", settings), ("options, where ranks are more than cores", options)];
        let set = set.iter().filter(|(_, words)| !words.is_empty());
        let set: String = set.map(|(what, words)| format!("  {what}: {words}\n")).collect();
        format!(
            "\nProcesses started while a program runs: {header}\n{steps}{defects}{set}  so: {}\n",
            self.way()
        )
    }

    /// Results as JSON: the check, with the outcome of each step.
    pub(crate) fn json(&self, check: Value) -> Value {
        let step = |(step, outcome): &(TriedFeature, StepOutcome)| {
            let (_, word, detail) = outcome_parts(outcome);
            json!({"step": step.name(), "outcome": word, "detail": detail})
        };
        let mut value = check;
        value["steps"] = self.steps.iter().map(step).collect();
        value["known"] = json!(known::defects(&self.launcher));
        value["settings"] = self.settings.iter().copied().collect();
        value["options"] = json!(known::options(&self.launcher));
        value
    }
}

/// Shortens a detail, since libraries print much; JSON has all of it.
fn shortened(detail: &str) -> String {
    match detail.char_indices().nth(DETAIL_MAX) {
        Some((end, _)) => format!("{} ...", &detail[..end]),
        None => detail.to_owned(),
    }
}

/// State, word and detail that show an outcome.
fn outcome_parts(outcome: &StepOutcome) -> (CheckResult, &'static str, &str) {
    match outcome {
        StepOutcome::Works(detail) => (CheckResult::Ok, "ok", detail),
        StepOutcome::Fails(why) => (CheckResult::Missing, "fails", why),
        StepOutcome::Hangs => {
            (CheckResult::Missing, "hangs", "was ended when it had not answered in time")
        }
        StepOutcome::Dies(why) => (CheckResult::Missing, "dies", why),
        StepOutcome::NotTried => (CheckResult::Limited, "-", "needs what does not work"),
    }
}

/// Quotes a value where a shell needs it.
fn for_shells(value: &str) -> String {
    if value.contains(';') { format!("'{value}'") } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn tried(of: impl Fn(TriedFeature) -> StepOutcome) -> LauncherReport {
        let (path, text) = (PathBuf::from("/opt/mpirun"), "5.0.2".to_owned());
        let launcher = Launcher { path, is_open_mpi: false, version: (5, 0), text };
        let steps = TriedFeature::all().map(|step| (step, of(step))).to_vec();
        LauncherReport { settings: known::settings(&launcher, false), launcher, steps }
    }

    #[test]
    fn what_does_not_work_is_named() {
        let all = tried(|_| StepOutcome::Works("0.1 s".to_owned()));
        assert_eq!(all.check().state, CheckResult::Ok);
        let some = tried(|step| match step {
            TriedFeature::Release => StepOutcome::Hangs,
            TriedFeature::Window => StepOutcome::NotTried,
            _ => StepOutcome::Works(String::new()),
        });
        let costs = some.check().costs;
        assert!(costs.starts_with("not here: release them; one-sided, over worlds; malleable"));
        let expected = "
Processes started while a program runs: MPICH 5.0.2, /opt/mpirun
  ok       start ranks
  ok       calls of several threads
  ok       start a process
  ok       start several, merge
  hangs    release them                was ended when it had not answered in time
  ok       start in the background
  -        one-sided, over worlds      needs what does not work
  ok       any source, over worlds
  ok       split, over worlds
  ok       connect another launcher's
  known: over UCX, a receive from MPI_ANY_SOURCE waits for ever once processes were started, and ports do not open, unless MPIR_CVAR_CH4_NETMOD=ofi
  known: over libfabric's tcp alone, connections of processes that come and go are dropped now and then unless FI_PROVIDER=tcp;ofi_rxm
  known: a program that was started with mpiexec -bind-to ends when it starts processes (\"duplicate setting: binding\")
  known: ranks that wait keep their core from others unless MPIR_CVAR_ENABLE_HEAVY_YIELD=1
  set: MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER='tcp;ofi_rxm' MPIR_CVAR_ENABLE_HEAVY_YIELD=1
  so: malleable programs use ranks that were started beforehand, until what fails here works
";
        assert_eq!(some.render(false), expected);
        let json = some.json(json!({"name": "dynamic processes"}));
        assert_eq!(json["steps"][4]["outcome"], "hangs");
        assert_eq!(json["settings"]["MPIR_CVAR_CH4_NETMOD"], "ofi");
    }
}
