//! What earlier runs taught, at the start of a run, and what this run teaches, at its end.
//!
//! # Invariants
//! - Nothing here keeps a command from running, or changes what it computes: where something cannot be read or written,
//!   it runs as if nothing had been learnt, with a sentence about it.
//! - Without `--learn` nothing is written.
//!
//! # Not here
//! What is kept and tried, and when (`learning`); setting levers (`tunlets`).

mod ended;
mod identity;
mod launch;
pub(crate) use launch::in_words;
pub(crate) mod store;

use crate::observation::Variables;
use crate::options::{ALL_LEVERS, TunerOptions};
use crate::programs::Programs;
use identity::Identity;
use learning::{Plan, Profile, Run, Setting, Size};
use run_record::Summary;
use run_record::measured::RunFacts;
use std::ffi::OsString;
use store::{Named, Store};
use user_io::print::warn;

/// Longest command line that a profile keeps, in characters.
const N_CHARACTERS_MAX: usize = 200;
/// Settings that are tried with `--tune=memory`; the others only where all levers are allowed.
const OF_MEMORY: [&str; 2] = ["hugetlb", "keep-memory"];
/// Ratios of times that are about the same.
const NEAR: std::ops::Range<f64> = 0.8..1.25;

/// What a run begins with, and what is needed at its end to keep what it taught.
#[derive(Debug)]
pub(crate) struct Lesson {
    store: Store,
    identity: Identity,
    /// Levers that are allowed, as they were named.
    tune: String,
    is_kept: bool,
    /// Profile that the run begins with.
    begun: Option<Named>,
    plan: Plan,
    variables: Variables,
}

impl Lesson {
    /// Looks up what earlier runs of the command taught; `None` if nothing is to be learnt or set.
    pub(crate) fn begin(
        is_kept: bool,
        tuner: &TunerOptions,
        command: &[OsString],
        programs: &Programs,
    ) -> Option<Self> {
        let tune = tuner.levers.tune.join(",");
        let is_tuned = !tune.is_empty() && !tuner.dry_run && !tuner.observe;
        if !is_kept && !is_tuned {
            return None;
        }
        let store = Store::of_user();
        let store = store.map_err(|error| warn(&format!("nothing is learnt: {error:#}"))).ok()?;
        let identity = Identity::of(command, programs)?;
        let mut known = store.read_all(is_kept);
        known.problems.iter().for_each(|problem| warn(problem));
        let begun = identity.nearest(&mut known.profiles);
        let is_free = |setting: &Setting| {
            is_asked(&tuner.levers.tune, &setting.name) && launch::is_free(setting, command)
        };
        let plan = begun.as_ref().filter(|_| is_tuned);
        let mut plan =
            plan.map(|begun| begun.profile.plan(&tune, is_kept, is_free)).unwrap_or_default();
        let allowed = crate::levers::levers(&tuner.levers);
        let is_allowed = |name: &String| allowed.iter().any(|lever| lever.name() == name);
        plan.first.retain(is_allowed);
        plan.late.retain(is_allowed);
        let has_trial = |plan: &Plan| {
            plan.settings.iter().any(|setting| Some(&setting.name) == plan.trial.as_ref())
        };
        let had_trial = has_trial(&plan);
        let variables = launch::variables(&mut plan.settings, &store, is_kept);
        // Its file could not be written.
        if had_trial && !has_trial(&plan) {
            plan.trial = None;
        }
        Some(Self { store, identity, tune, is_kept, begun, plan, variables })
    }

    pub(crate) fn first(&self) -> &[String] {
        &self.plan.first
    }

    pub(crate) fn late(&self) -> &[String] {
        &self.plan.late
    }

    /// Environment variables of the command, besides those of `sintonia`.
    pub(crate) fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Sentence about what the run begins with; `None` if that is nothing.
    pub(crate) fn in_words(&self) -> Option<String> {
        let begun = self.begun.as_ref()?;
        let is_trial = |name: &str| self.plan.trial.as_deref() == Some(name);
        let kept = self.plan.settings.iter().map(|setting| setting.name.as_str());
        let kept = kept.filter(|name| !is_trial(name));
        let first = self.plan.first.iter().map(String::as_str);
        let known: Vec<&str> = first.chain(kept).collect();
        let late: Vec<&str> = self.plan.late.iter().map(String::as_str).collect();
        let tried = self.plan.settings.iter().find(|setting| is_trial(&setting.name));
        let left_out = self.plan.trial.as_ref().filter(|_| tried.is_none());
        let parts = [
            (!known.is_empty()).then(|| format!("begins with {}", known.join(", "))),
            (!late.is_empty()).then(|| format!("tries {} late", late.join(", "))),
            tried.map(|setting| format!("tries {} ({})", setting.name, launch::in_words(setting))),
            left_out.map(|name| format!("leaves {name} out as a check")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let n_runs = display::units::plural(begun.profile.n_runs, "earlier run");
        let name = &begun.name;
        (!parts.is_empty())
            .then(|| format!("from {n_runs} (`sintonia learnt show {name}`): {}", parts.join("; ")))
    }

    /// Keeps what the run taught; returns sentences about it.
    pub(crate) fn end(&self, summary: &Summary, facts: &RunFacts) -> anyhow::Result<Vec<String>> {
        if !self.is_kept || facts.interrupted {
            return Ok(Vec::new());
        }
        let settings = self.plan.settings.iter().map(|setting| setting.name.clone()).collect();
        let command: String = facts.command.join(" ").chars().take(N_CHARACTERS_MAX).collect();
        let run = Run {
            command,
            command_id: self.identity.command_id.clone(),
            tune: self.tune.clone(),
            settings,
            ..Run::default()
        };
        let ended = ended::ended(summary, run, self.plan.trial.clone());
        let _lock = self.store.lock()?;
        let known = self.store.read_all(true);
        let Some(Named { name, mut profile }) = self.own(known.profiles, &ended) else {
            let nothing = "nothing is learnt from this run: no MPI process was seen in it";
            return Ok([known.problems, vec![nothing.to_owned()]].concat());
        };
        let news = profile.add(ended);
        self.store.write(&name, &profile)?;
        let n_runs = display::units::plural(profile.n_runs, "run");
        let news = if news.is_empty() { "nothing new".to_owned() } else { news.join("; ") };
        let sentence = format!("learnt (`sintonia learnt show {name}`, {n_runs}): {news}");
        Ok([known.problems, vec![sentence]].concat())
    }

    /// Finds the profile of a run that has ended, or makes it.
    fn own(&self, mut known: Vec<Named>, ended: &learning::Ended) -> Option<Named> {
        let again = self.begun.as_ref();
        let again = again.and_then(|begun| known.iter().position(|it| it.name == begun.name));
        let begun = again.map(|at| known.swap_remove(at));
        let is_same_command = |profile: &Profile| {
            profile.runs.iter().any(|run| run.command_id == self.identity.command_id)
        };
        // A command that failed may have had fewer ranks, and no iterations.
        let is_cut = ended.trial.is_some() || ended.facts.n_ranks == 0;
        if let Some(begun) = begun.as_ref().filter(|it| is_cut && is_same_command(&it.profile)) {
            return Some(begun.clone());
        }
        if ended.facts.n_ranks == 0 {
            return None;
        }
        let size = match ended.run.iteration_s {
            Some(iteration_s) => Size::of_iteration(iteration_s),
            None => Size::Whole(self.identity.command_id.clone()),
        };
        let key = self.identity.key(&ended.facts, size);
        let is_mine = |named: &&Named| {
            let own = &named.profile.key;
            let is_alike = *own == learning::Key { size: own.size.clone(), ..key.clone() };
            is_alike
                && (is_same_command(&named.profile) || is_near(&named.profile, ended, &key.size))
        };
        let inherited = begun.as_ref().map(|begun| begun.profile.levers.clone());
        let mine = begun.iter().chain(&known).find(is_mine).cloned();
        Some(mine.unwrap_or_else(|| {
            let name = store::name_of(&key);
            let mut profile = Profile::new(key, ended.n_calls);
            profile.levers = inherited.unwrap_or_default();
            Named { name, profile }
        }))
    }
}

/// Returns whether a setting belongs to the levers that are allowed.
fn is_asked(tune: &[String], setting: &str) -> bool {
    let is_of_memory = OF_MEMORY.contains(&setting);
    tune.iter().any(|asked| asked == ALL_LEVERS || asked == "memory" && is_of_memory)
}

/// Returns whether a run is of the size of a profile: of its class, or of times so near that only the border between two
/// classes lies between them.
fn is_near(profile: &Profile, ended: &learning::Ended, size: &Size) -> bool {
    if profile.key.size == *size {
        return true;
    }
    let (Size::Iteration(_), Some(iteration_s)) = (&profile.key.size, ended.run.iteration_s) else {
        return false;
    };
    let counted_s = profile.counted_s(iteration_s, ended.n_calls);
    profile.typical_s().is_some_and(|typical_s| NEAR.contains(&(counted_s / typical_s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_levers() {
        let asked = |tune: &str, setting| is_asked(&[tune.to_owned()], setting);
        assert!(asked("all", "eager-limit") && asked("all", "hugetlb"));
        assert!(asked("memory", "hugetlb") && !asked("memory", "eager-limit"));
        assert!(!asked("waiting", "hugetlb") && !is_asked(&[], "hugetlb"));
    }
}
