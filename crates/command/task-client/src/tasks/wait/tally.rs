//! Tasks that have ended while they are waited for, and their outcomes.

use crate::requests::now_ms;
use std::time::Instant;
use task_api::{EndedTask, TaskOutcome, TaskRange};
use user_io::print::escape_line;

/// Tasks that have ended, and their outcomes.
#[derive(Debug)]
pub(super) struct Tally {
    first: u64,
    pub(super) n_tasks: u64,
    /// A bit for each task.
    seen: Vec<u64>,
    pub(super) n_ended: u64,
    pub(super) n_failed: u64,
    /// Those of them that were lost too often.
    n_lost: u64,
    pub(super) n_canceled: u64,
    /// Reason why tasks were canceled, where it was not a user.
    why_canceled: Option<String>,
    /// Tasks of which only the outcome is kept.
    pub(super) n_brief: u64,
    /// Exit code of the task that ended last.
    code: i32,
    began: Instant,
    began_ms: u64,
    /// Tasks that had ended before they were waited for.
    n_before: u64,
}

impl Tally {
    pub(super) fn new(tasks: &TaskRange) -> Self {
        let n_words = usize::try_from(tasks.n_tasks().div_ceil(64)).unwrap_or(0);
        Self {
            first: tasks.first,
            n_tasks: tasks.n_tasks(),
            seen: vec![0; n_words],
            n_ended: 0,
            n_failed: 0,
            n_lost: 0,
            n_canceled: 0,
            why_canceled: None,
            n_brief: 0,
            code: 0,
            began: Instant::now(),
            began_ms: now_ms(),
            n_before: 0,
        }
    }

    pub(super) fn is_new(&mut self, task: &EndedTask) -> bool {
        let idx = task.number.checked_sub(self.first).filter(|idx| *idx < self.n_tasks);
        let Some(idx) = idx.and_then(|idx| usize::try_from(idx).ok()) else { return false };
        let Some(word) = self.seen.get_mut(idx / 64) else { return false };
        let bit = 1 << (idx % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        if is_new {
            self.n_ended += 1;
            self.n_before += u64::from(task.ended_ms < self.began_ms);
            self.n_failed += u64::from(task.outcome.is_failure());
            self.n_lost += u64::from(task.outcome == TaskOutcome::Lost);
            if task.outcome == TaskOutcome::Canceled {
                self.n_canceled += 1;
                self.why_canceled = self.why_canceled.take().or_else(|| task.why.clone());
            }
            self.n_brief += u64::from(task.is_brief);
            self.code = task.outcome.exit_code();
        }
        is_new
    }

    /// Exit code: that of a single task, else 0 if all succeeded.
    pub(super) fn code(&self) -> u8 {
        let is_all = self.n_ended == self.n_tasks;
        let is_fine = is_all && self.n_failed + self.n_canceled == 0;
        let code = if self.n_tasks == 1 && is_all { self.code } else { i32::from(!is_fine) };
        // A code that does not fit is a failure as well.
        u8::try_from(code).unwrap_or(1)
    }

    pub(super) fn sentence(&self) -> String {
        let Self { n_ended, n_tasks, .. } = self;
        let failed = self.failures();
        let seconds = self.began.elapsed().as_secs_f64();
        let brief = match self.n_brief {
            0 => String::new(),
            n => format!(
                "; for {n} that ended long ago only the outcome is kept, not the output (`sintonia node start \
                 --keep-tasks N` keeps more)"
            ),
        };
        let forgotten = match n_tasks - n_ended {
            0 => String::new(),
            n => format!(
                "; nothing is known about {n}: they ended long ago, or were lost with a damaged journal \
                 (see `sintonia nodes`)"
            ),
        };
        format!("{n_ended} of {n_tasks} tasks ended in {seconds:.1} s, {failed}{brief}{forgotten}")
    }

    /// Number of the first task whose end has not been reported.
    pub(super) fn first_open(&self) -> u64 {
        let word = self.seen.iter().position(|word| *word != u64::MAX).unwrap_or(self.seen.len());
        let bit = self.seen.get(word).map_or(0, |word| word.trailing_ones());
        self.first + 64 * word as u64 + u64::from(bit)
    }

    /// Time until all have ended, at the pace since the wait began; what runs is half done on average.
    pub(super) fn left_s(&self, n_running: u64) -> Option<f64> {
        left_s(
            self.began.elapsed().as_secs_f64(),
            self.n_ended - self.n_before,
            (self.n_tasks - self.n_ended, n_running),
        )
    }

    /// Numbers of tasks that did not succeed, in words.
    fn failures(&self) -> String {
        let Self { n_failed, n_lost, n_canceled, .. } = self;
        let lost = match n_lost {
            0 => String::new(),
            n => format!(" ({n} of them lost with their nodes)"),
        };
        let why = self.why_canceled.as_deref();
        let why = why.map_or_else(String::new, |why| format!(" ({})", escape_line(why)));
        let failed = (0 < *n_failed).then(|| format!("{n_failed} failed{lost}"));
        let canceled = (0 < *n_canceled).then(|| format!("{n_canceled} canceled{why}"));
        let parts = [failed, canceled].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if parts.is_empty() { "all with exit code 0".to_owned() } else { parts }
    }
}

/// Time that is left of `n_open` tasks, of which `n_running` run, after `n_ended` ended in the time that passed.
fn left_s(passed_s: f64, n_ended: u64, (n_open, n_running): (u64, u64)) -> Option<f64> {
    if n_ended == 0 {
        return None;
    }
    let half_s = 0.5 * n_running.min(n_open) as f64;
    Some(passed_s * (n_open as f64 - half_s) / (n_ended as f64 + half_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_follows_the_pace() {
        assert_eq!(left_s(10.0, 0, (5, 5)), None);
        assert_eq!(left_s(10.0, 9, (10, 2)), Some(9.0));
        assert_eq!(left_s(10.0, 5, (5, 0)), Some(10.0));
    }

    #[test]
    fn the_first_task_that_has_not_ended_is_known() {
        let mut tally = Tally::new(&"alpha.7-200".parse().unwrap());
        assert_eq!(tally.first_open(), 7);
        for number in 7..=134 {
            tally.is_new(&ended(number, TaskOutcome::Exit(0)));
        }
        assert_eq!(tally.first_open(), 135);
        tally.is_new(&ended(136, TaskOutcome::Exit(0)));
        assert_eq!(tally.first_open(), 135);
    }

    fn ended(number: u64, outcome: TaskOutcome) -> EndedTask {
        let (node, output, started_ms) = ("alpha".to_owned(), None, None);
        let (is_brief, why) = (false, None);
        let (instance, ended_ms, usage) = (1, 0, task_api::Usage::default());
        EndedTask {
            number,
            node,
            instance,
            started_ms,
            ended_ms,
            outcome,
            output,
            is_brief,
            why,
            usage,
            output_folder: None,
        }
    }

    #[track_caller]
    fn check(range: &str, ends: &[(u64, TaskOutcome)], code: u8, sentence: &str) {
        let mut tally = Tally::new(&range.parse().unwrap());
        for (number, outcome) in ends {
            tally.is_new(&ended(*number, outcome.clone()));
        }
        assert_eq!(tally.code(), code);
        let said = tally.sentence();
        assert!(said.starts_with(sentence), "{said}");
    }

    #[test]
    fn the_code_is_that_of_the_task_and_0_or_1_of_an_array() {
        check("alpha.7", &[(7, TaskOutcome::Exit(3))], 3, "1 of 1 tasks");
        check("alpha.7", &[(7, TaskOutcome::Signal(9))], 137, "1 of 1 tasks");
        let both = |code: i32| [(7, TaskOutcome::Exit(code)), (8, TaskOutcome::Exit(0))];
        check("alpha.7-8", &both(3), 1, "2 of 2 tasks");
        check("alpha.7-8", &both(0), 0, "2 of 2 tasks");
    }

    /// Dropped output of tasks was not mentioned.
    #[test]
    fn what_is_no_longer_kept_is_said() {
        let mut tally = Tally::new(&"alpha.7-9".parse().unwrap());
        tally.is_new(&EndedTask { is_brief: true, ..ended(7, TaskOutcome::Exit(0)) });
        tally.is_new(&ended(8, TaskOutcome::Exit(0)));
        let said = tally.sentence();
        assert!(said.contains("for 1 that ended long ago only the outcome is kept"), "{said}");
        assert!(said.contains("nothing is known about 1:"), "{said}");
    }

    #[test]
    fn what_did_not_succeed_is_counted_by_kind() {
        let mut tally = Tally::new(&"alpha.1-9".parse().unwrap());
        let why = Some("2 tasks of its array failed".to_owned());
        let outcomes = [TaskOutcome::Exit(0), TaskOutcome::Exit(3), TaskOutcome::Lost];
        for (number, outcome) in (1..).zip(outcomes) {
            tally.is_new(&ended(number, outcome));
        }
        tally.is_new(&EndedTask { why, ..ended(4, TaskOutcome::Canceled) });
        let said = tally.sentence();
        let expected = ", 2 failed (1 of them lost with their nodes), \
                        1 canceled (2 tasks of its array failed)";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_task_that_is_reported_twice_counts_once() {
        let failed = |number| (number, TaskOutcome::Exit(1));
        let twice = [failed(7), failed(7), failed(6), (9, TaskOutcome::Lost)];
        check("alpha.7-8", &twice, 1, "1 of 2 tasks");
        check("alpha.7-8", &[(7, TaskOutcome::Exit(0))], 1, "1 of 2 tasks");
        check("alpha.7", &[], 1, "0 of 1 tasks");
    }
}
