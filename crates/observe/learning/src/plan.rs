//! Plan of the next run of a profile.

use crate::candidates::Setting;
use crate::profile::{Candidate, CandidateState, Profile, same};
use crate::verdict::{N_BEFORE, N_WITH};

/// Runs between two that are started without a kept setting, to see whether it still helps.
const N_BETWEEN_CHECKS: u64 = 8;

/// What the next run begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Levers that are set from the start.
    pub first: Vec<String>,
    /// Levers that are tried late.
    pub late: Vec<String>,
    /// Settings of the launch.
    pub settings: Vec<Setting>,
    /// Name of the setting on trial: one of the settings, or a kept one that is left out.
    pub trial: Option<String>,
}

impl Profile {
    /// Plans the next run with these levers allowed; nothing is tried unless `may_try`. Settings that are not `is_free`
    /// are the user's, and left alone.
    pub fn plan(&self, tune: &str, may_try: bool, is_free: impl Fn(&Setting) -> bool) -> Plan {
        let of = |is_such: &dyn Fn(&crate::LearntLever) -> bool| {
            let such = self.levers.iter().filter(|lever| is_such(lever));
            such.map(|lever| lever.name.clone()).collect::<Vec<_>>()
        };
        let first = of(&crate::LearntLever::is_first);
        let late = of(&|lever| lever.is_late(self.n_runs));
        let kept = self.candidates.iter().filter(|it| it.state == CandidateState::Kept);
        let mut settings: Vec<Setting> =
            kept.map(|it| it.setting.clone()).filter(&is_free).collect();
        let is_open = |it: &&Candidate| it.state == CandidateState::Trying && is_free(&it.setting);
        let tried = self.candidates.iter().find(is_open).filter(|_| may_try);
        let mut trial = None;
        match tried {
            Some(tried) if self.is_turn_of(tune, &settings, &tried.setting.name) => {
                trial = Some(tried.setting.name.clone());
                settings.push(tried.setting.clone());
            }
            None if may_try => {
                let due = settings.iter().position(|setting| self.is_check_due(&setting.name));
                trial = due.map(|at| settings.remove(at).name);
            }
            _ => {}
        }
        Plan { first, late, settings, trial }
    }

    /// Returns whether the next run is one with the candidate: after enough runs without it, in turns.
    fn is_turn_of(&self, tune: &str, kept: &[Setting], candidate: &str) -> bool {
        let without: Vec<&str> = kept.iter().map(|setting| setting.name.as_str()).collect();
        let with: Vec<&str> = without.iter().copied().chain([candidate]).collect();
        let times = self.with_settings(tune, &without).map(|run| run.time_s(&self.key.size));
        if times.flatten().count() < N_BEFORE {
            return false;
        }
        let is_compared = |settings: &[String]| same(settings, &with) || same(settings, &without);
        let mut compared =
            self.runs.iter().rev().filter(|run| run.tune == tune && is_compared(&run.settings));
        compared.next().is_some_and(|run| same(&run.settings, &without))
    }

    fn is_check_due(&self, setting: &str) -> bool {
        let after = self.candidates.iter().find(|it| it.setting.name == setting);
        let without = self.runs.iter().filter(|run| !run.settings.iter().any(|it| it == setting));
        let last = without.map(|run| run.number).max().unwrap_or(0);
        let last = after.map_or(last, |candidate| last.max(candidate.run));
        last + N_BETWEEN_CHECKS <= self.n_runs && N_WITH <= self.runs.len()
    }
}
