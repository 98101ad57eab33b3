//! Takes a run that has ended into its profile.

use crate::advice::advice;
use crate::candidates::candidates;
use crate::facts::Facts;
use crate::levers::{LearntLever, LeverTrial, LeverVerdict};
use crate::profile::{Candidate, CandidateState, ENDED_WELL, N_RUNS_KEPT, Profile, Run};
use crate::rank_order::RankOrder;
use crate::verdict::{CandidateVerdict, Figures, N_WITH, judge};
use display::units::{percent, seconds};

/// Runs after which a dropped candidate is tried again.
const N_RUNS_DROPPED: u64 = 64;
/// Latest runs without a kept setting that have to be faster than the latest ones with it.
const N_CHECKS: usize = 2;

/// Run that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// The run; its number is given here, and its iterations are counted as those of the profile.
    pub run: Run,
    /// MPI calls in an iteration, if iterations were found.
    pub n_calls: Option<f64>,
    /// Setting that was on trial.
    pub trial: Option<String>,
    /// Trials of levers.
    pub levers: Vec<LeverTrial>,
    /// Facts that speak for settings.
    pub facts: Facts,
    /// Better order of the ranks.
    pub rank_order: Option<RankOrder>,
}

impl Profile {
    /// Adds a run; returns sentences about what is new.
    pub fn add(&mut self, ended: Ended) -> Vec<String> {
        let Ended { mut run, n_calls, trial, levers, facts, rank_order } = ended;
        self.n_runs += 1;
        run.number = self.n_runs;
        run.iteration_s = run.iteration_s.map(|it_s| self.counted_s(it_s, n_calls));
        let (end, at_s) = (run.end.clone(), run.started_s);
        let (tune, command_id) = (run.tune.clone(), run.command_id.clone());
        let has_failed = self.has_failed(&run);
        self.runs.push(run);
        let n_old = self.runs.len().saturating_sub(N_RUNS_KEPT);
        self.runs.drain(..n_old);
        let mut news = self.learn_levers(&levers, at_s);
        if let Some(name) = trial {
            news.extend(match has_failed {
                true => self.drop_failed(&name, (&end, at_s)),
                false => self.judge_trial(&name, (&tune, &command_id), at_s),
            });
        }
        if end == ENDED_WELL {
            news.extend(self.find_candidates(&facts, at_s));
            self.advice = advice(&facts, rank_order.as_ref());
            self.rank_order = rank_order;
        }
        news
    }

    /// Returns whether a run ended otherwise than those without the settings on trial, which all ended well.
    fn has_failed(&self, run: &Run) -> bool {
        let others = self.runs.iter().filter(|other| other.settings != run.settings);
        run.end != ENDED_WELL && others.map(|other| &other.end).all(|end| end == ENDED_WELL)
    }

    fn learn_levers(&mut self, trials: &[LeverTrial], at_s: f64) -> Vec<String> {
        let mut news = Vec::new();
        for trial in trials {
            let known = self.levers.iter().position(|lever| lever.name == trial.lever);
            let before = known.map(|at| &self.levers[at]);
            let learnt = LearntLever::of(trial, (self.n_runs, at_s), before);
            if before.is_none_or(|before| before.verdict != learnt.verdict) {
                news.push(about_lever(&learnt));
            }
            match known {
                Some(at) => self.levers[at] = learnt,
                None => self.levers.push(learnt),
            }
        }
        news
    }

    fn drop_failed(&mut self, name: &str, (end, at_s): (&str, f64)) -> Option<String> {
        let why = format!("the command ended with {end} with it, and with {ENDED_WELL} without");
        // A kept setting that was left out for a check is not what failed.
        let is_open = |it: &&mut Candidate| it.setting.name == name && is_trying(it);
        let candidate = self.candidates.iter_mut().find(is_open)?;
        *candidate = Candidate {
            state: CandidateState::Dropped,
            run: self.n_runs,
            at_s,
            why,
            ..candidate.clone()
        };
        Some(format!("`{name}` is dropped: {}", candidate.why))
    }

    fn judge_trial(&mut self, name: &str, run: (&str, &str), at_s: f64) -> Option<String> {
        let position = self.candidates.iter().position(|it| it.setting.name == name)?;
        match self.candidates[position].state {
            CandidateState::Trying => self.judge_open(position, run, at_s),
            CandidateState::Kept => self.check_kept(position, run, at_s),
            CandidateState::Dropped => None,
        }
    }

    fn judge_open(&mut self, position: usize, run: (&str, &str), at_s: f64) -> Option<String> {
        let name = self.candidates[position].setting.name.clone();
        let without = self.kept();
        let with: Vec<&str> = without.iter().copied().chain([name.as_str()]).collect();
        let (with, without, is_iteration) = self.compared_s(run, (&with, &without));
        let (verdict, figures) = judge(&with, &without);
        let words = in_words(&figures, is_iteration);
        let (state, text) = match verdict {
            CandidateVerdict::Open => {
                let n = with.len();
                self.candidates[position].figures = Some(figures);
                return Some(format!("`{name}` was tried in {n} of {N_WITH} runs: {words}"));
            }
            CandidateVerdict::Better => (CandidateState::Kept, "each run with it was faster"),
            CandidateVerdict::NotBetter => {
                (CandidateState::Dropped, "not each run with it was faster")
            }
        };
        let action = if state == CandidateState::Kept { "kept" } else { "dropped" };
        let why = format!("{text}: {words}");
        let sentence = format!("`{name}` is {action}: {why}");
        self.decide(position, (state, at_s), figures, why);
        Some(sentence)
    }

    /// Looks at a run that was started without a kept setting.
    fn check_kept(&mut self, position: usize, run: (&str, &str), at_s: f64) -> Option<String> {
        let name = self.candidates[position].setting.name.clone();
        let with = self.kept();
        let without: Vec<&str> = with.iter().copied().filter(|kept| *kept != name).collect();
        let (without, with, is_iteration) = self.compared_s(run, (&without, &with));
        let latest = |times: &[f64], n: usize| times[times.len().saturating_sub(n)..].to_vec();
        let (with, without) = (latest(&with, 6), latest(&without, N_CHECKS));
        let fastest_s = with.iter().copied().fold(f64::INFINITY, f64::min);
        let is_over = N_CHECKS <= without.len()
            && N_WITH <= with.len()
            && without.iter().all(|time_s| *time_s < fastest_s);
        let (_, figures) = judge(&with, &without);
        let words = in_words(&figures, is_iteration);
        if !is_over {
            return Some(format!("this run was started without `{name}` as a check: {words}"));
        }
        let why = format!("runs without it were faster: {words}");
        let sentence = format!("`{name}` is dropped: {why}");
        self.decide(position, (CandidateState::Dropped, at_s), figures, why);
        Some(sentence)
    }

    fn decide(
        &mut self,
        position: usize,
        (state, at_s): (CandidateState, f64),
        figures: Figures,
        why: String,
    ) {
        let (run, figures) = (self.n_runs, Some(figures));
        let setting = self.candidates[position].setting.clone();
        self.candidates[position] = Candidate { setting, state, run, at_s, figures, why };
    }

    /// Adds the candidates that this run gives a reason for.
    fn find_candidates(&mut self, facts: &Facts, at_s: f64) -> Vec<String> {
        let failed: Vec<_> =
            self.levers.iter().filter(|it| it.verdict == LeverVerdict::Failed).collect();
        let has_failed = |name: &str| failed.iter().any(|lever| lever.name == name);
        let found = candidates(facts, has_failed);
        let mut news = Vec::new();
        for setting in found {
            let known = self.candidates.iter_mut().find(|it| it.setting.name == setting.name);
            let sentence = format!("next runs try `{}`, because {}", setting.name, setting.reason);
            let (run, why) = (self.n_runs, String::new());
            let state = CandidateState::Trying;
            let candidate = Candidate { setting, state, run, at_s, figures: None, why };
            match known {
                Some(known)
                    if known.state == CandidateState::Dropped
                        && known.run + N_RUNS_DROPPED <= self.n_runs =>
                {
                    *known = candidate;
                }
                Some(_) => continue,
                None => self.candidates.push(candidate),
            }
            news.push(sentence);
        }
        news
    }
}

fn in_words(figures: &Figures, is_iteration: bool) -> String {
    let what = if is_iteration { "an iteration" } else { "a run" };
    let (with_s, without_s) = (seconds(figures.with_s), seconds(figures.without_s));
    let (spread, n) = (percent(figures.spread), figures.n_without);
    format!(
        "{what} took {with_s} with it and {without_s} without, where {n} runs differ by {spread}"
    )
}

fn is_trying(candidate: &Candidate) -> bool {
    candidate.state == CandidateState::Trying
}

fn about_lever(lever: &LearntLever) -> String {
    let (with_s, without_s) = (seconds(lever.with_s), seconds(lever.without_s));
    let (name, noise) = (&lever.name, percent(lever.noise));
    let what = match lever.verdict {
        LeverVerdict::Kept if lever.is_for_start => "is set from the start of the next runs",
        LeverVerdict::Kept => "helps",
        LeverVerdict::Failed => "is tried late in the next runs",
    };
    format!(
        "`{name}` {what}: an iteration took {with_s} with it and {without_s} without (noise {noise})"
    )
}

#[cfg(test)]
mod tests;
