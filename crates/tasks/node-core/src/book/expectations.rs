//! How long the tasks of a submission are expected to run: as its user has said, or as those did that have ended.

use std::collections::HashMap;

use crate::attempt::Work;

/// Ended tasks from which on a time is expected.
const N_TASKS_MIN: u64 = 3;

/// Times of tasks that ended by themselves, by the number of the first task of their submission.
#[derive(Debug, Default)]
pub(super) struct Expectations(HashMap<u64, Times>);

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    n_tasks: u64,
    sum_ms: u64,
    longest_ms: u64,
    /// Mean when it was last told to the queue, in ms.
    told_ms: Option<u64>,
}

impl Expectations {
    /// Time by which tasks of this work are ordered, in ms. Arrays of a job of which nothing is known go first, until
    /// something is.
    pub(super) fn in_queue(&self, work: &Work) -> Option<u64> {
        let terms = work.terms.as_ref()?;
        let learnt_ms = || self.0.get(&terms.first)?.told_ms;
        let is_unknown = terms.first < terms.last && terms.schedule.job.is_some();
        let known_ms = terms.demand.expect_ms.or_else(learnt_ms);
        known_ms.or_else(|| is_unknown.then_some(u64::MAX))
    }

    /// Longest time that a task of this work is expected to run, in ms.
    pub(super) fn longest_ms(&self, work: &Work) -> Option<u64> {
        let said_ms = work.demand.as_ref().and_then(|demand| demand.lasts_ms());
        let times = || self.0.get(&work.terms.as_ref()?.first);
        said_ms.or_else(|| times().filter(|it| N_TASKS_MIN <= it.n_tasks).map(|it| it.longest_ms))
    }

    /// Notes the time of a task that has ended by itself; returns whether tasks of this work are ordered anew, which is
    /// so whenever their number has doubled.
    pub(super) fn ended(&mut self, work: &Work, ran_ms: u64) -> bool {
        let is_many = |it: &&std::sync::Arc<crate::terms::SubmissionTerms>| it.first < it.last;
        let Some(terms) = work.terms.as_ref().filter(is_many) else { return false };
        let times = self.0.entry(terms.first).or_default();
        times.n_tasks += 1;
        times.sum_ms = times.sum_ms.saturating_add(ran_ms);
        times.longest_ms = times.longest_ms.max(ran_ms);
        let is_due = N_TASKS_MIN <= times.n_tasks && times.n_tasks.is_power_of_two();
        terms.demand.expect_ms.is_none() && is_due
    }

    /// Takes the mean of the times over as the one by which tasks of this work are ordered.
    pub(super) fn tell(&mut self, work: &Work) {
        if let Some(times) = work.terms.as_ref().and_then(|terms| self.0.get_mut(&terms.first)) {
            times.told_ms = times.sum_ms.checked_div(times.n_tasks);
        }
    }

    /// Forgets a submission, of which no task is kept any more.
    pub(super) fn forget(&mut self, first: u64) {
        self.0.remove(&first);
    }
}
