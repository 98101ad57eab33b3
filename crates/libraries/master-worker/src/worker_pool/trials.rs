//! Trials: judge a changed number of workers by the iterations that follow.
//!
//! A change is compared with the iteration that it was decided on, which had the same load from outside. It is
//! undone when every one of the next iterations is slower than that; the same step is then not tried again for a
//! while, as long as the computing time stays about the same. A load that changes is followed at once, and load
//! added after the first of these iterations is not blamed on the change.
//!
//! # Invariants
//! - Pure: times are arguments.
//! - Nothing waits for a judgment: the next change may come before it. It begins the next trial, unless all
//!   iterations of this one were bad.

/// Iterations by which a change is judged.
const N_JUDGED: usize = 3;
/// Factor by which they may be slower.
const SLOWER: f64 = 1.05;
/// Factor within which computing times count as the same.
const ALIKE: f64 = 1.1;
/// Iterations after which a step that did not pay may be tried again.
const N_REMEMBERED: u32 = 50;

/// Times per task of an iteration, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskTimes {
    /// Duration of the iteration, per task.
    pub(crate) task_s: f64,
    /// Time in the user's code, per task.
    pub(crate) compute_task_s: f64,
}

/// Trials of changed numbers of workers; see the module.
#[derive(Debug, Default)]
pub(crate) struct Trials {
    last: Option<TaskTimes>,
    trial: Option<Trial>,
    refusal: Option<Refusal>,
}

/// Change that is on trial.
#[derive(Debug)]
struct Trial {
    n_before: u32,
    before: TaskTimes,
    /// Times per task, each scaled as if computing had taken as long as in the first iteration of the trial.
    since_s: Vec<f64>,
    first_compute_s: f64,
}

/// Change that did not pay.
#[derive(Debug)]
struct Refusal {
    n_kept: u32,
    n_tried: u32,
    /// Computing time per task with the number that is kept.
    compute_task_s: f64,
    n_left: u32,
}

/// Change to undo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Undo {
    /// Number of workers before the change.
    pub(crate) n_before: u32,
    /// Time per task before and after the change, in seconds.
    pub(crate) task_s: [f64; 2],
}

impl Trials {
    /// Adds an iteration with `n_workers`; returns the change to undo, if it has failed.
    pub(crate) fn iteration(&mut self, n_workers: u32, seen: TaskTimes) -> Option<Undo> {
        self.last = Some(seen);
        self.refusal = self.refusal.take().and_then(Refusal::aged);
        let trial = self.trial.as_mut()?;
        trial.add(seen);
        if trial.since_s.len() < N_JUDGED || !trial.is_bad() {
            self.trial = self.trial.take().filter(|trial| trial.since_s.len() < N_JUDGED);
            return None;
        }
        let trial = self.trial.take()?;
        let TaskTimes { task_s: before_s, compute_task_s } = trial.before;
        let best_s = trial.best_s();
        let (n_kept, n_tried) = (trial.n_before, n_workers);
        self.refusal = Some(Refusal { n_kept, n_tried, compute_task_s, n_left: N_REMEMBERED });
        Some(Undo { n_before: n_kept, task_s: [before_s, best_s] })
    }

    /// Records that the number of workers changes from `n_before`.
    pub(crate) fn changed(&mut self, n_before: u32) {
        if self.trial.as_ref().is_some_and(Trial::is_bad) {
            return;
        }
        let (since_s, first_compute_s) = (Vec::new(), 0.0);
        self.trial = self.last.map(|before| Trial { n_before, before, since_s, first_compute_s });
    }

    /// Returns whether a step in this direction failed a short time ago.
    pub(crate) fn is_refused(&self, n_wanted: u32) -> bool {
        let (Some(refusal), Some(last)) = (&self.refusal, self.last) else { return false };
        let is_like = |a: f64, b: f64| a <= ALIKE * b && b <= ALIKE * a;
        let is_that_way = if refusal.n_kept < refusal.n_tried {
            refusal.n_kept < n_wanted
        } else {
            n_wanted < refusal.n_kept
        };
        is_that_way && is_like(refusal.compute_task_s, last.compute_task_s)
    }
}

impl Trial {
    fn add(&mut self, seen: TaskTimes) {
        if self.since_s.is_empty() {
            self.first_compute_s = seen.compute_task_s;
        }
        let more = seen.compute_task_s / self.first_compute_s.max(f64::MIN_POSITIVE);
        self.since_s.push(seen.task_s / more.max(1.0));
    }

    /// Shortest time per task of the trial, in seconds, since disturbances only add time.
    fn best_s(&self) -> f64 {
        self.since_s.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns whether every iteration of the trial was slower.
    fn is_bad(&self) -> bool {
        !self.since_s.is_empty() && SLOWER * self.before.task_s < self.best_s()
    }
}

impl Refusal {
    fn aged(self) -> Option<Self> {
        let n_left = self.n_left.checked_sub(1)?;
        Some(Self { n_left, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(task_s: f64) -> TaskTimes {
        TaskTimes { task_s, compute_task_s: 1.0 }
    }

    /// Checks the step from 4 to 7 workers after an iteration of 1 s per task, when the next ones take
    /// `after_s`.
    #[track_caller]
    fn check(after_s: &[f64], expected: Option<f64>) {
        let mut trials = Trials::default();
        assert_eq!(trials.iteration(4, seen(1.0)), None);
        trials.changed(4);
        let undone = after_s.iter().filter_map(|task_s| trials.iteration(7, seen(*task_s))).last();
        assert_eq!(undone, expected.map(|now_s| Undo { n_before: 4, task_s: [1.0, now_s] }));
    }

    #[test]
    fn what_makes_every_iteration_slower_is_undone() {
        check(&[1.2, 1.1], None);
        check(&[1.2, 1.1, 1.3], Some(1.1));
        check(&[1.2, 1.04, 1.3], None);
        check(&[0.9, 1.5, 1.5, 1.5], None);
    }

    /// Checks a wish after the step from 4 to 7 was undone.
    #[track_caller]
    fn check_refused(n_wanted: u32, compute_task_s: f64, n_passed: u32, expected: bool) {
        let mut trials = Trials::default();
        trials.iteration(4, seen(1.0));
        trials.changed(4);
        let undone = (0..3).filter_map(|_| trials.iteration(7, seen(2.0))).count();
        assert_eq!(undone, 1);
        for _ in 0..n_passed {
            trials.iteration(4, TaskTimes { task_s: 1.0, compute_task_s });
        }
        assert_eq!(trials.is_refused(n_wanted), expected);
    }

    #[test]
    fn a_step_in_vain_is_not_repeated_while_the_load_is_the_same() {
        check_refused(7, 1.0, 1, true);
        check_refused(5, 1.05, 1, true);
        check_refused(3, 1.0, 1, false);
        check_refused(7, 1.2, 1, false);
        check_refused(7, 0.8, 1, false);
        check_refused(7, 1.0, N_REMEMBERED + 1, false);
    }

    /// Checks which number is restored, when the number changes once more after iterations of these times.
    #[track_caller]
    fn check_again(between_s: &[f64], expected: u32) {
        let mut trials = Trials::default();
        trials.iteration(1, seen(1.0));
        trials.changed(1);
        between_s.iter().for_each(|task_s| assert_eq!(trials.iteration(4, seen(*task_s)), None));
        trials.changed(4);
        let undone = (0..3).find_map(|_| trials.iteration(6, seen(4.0)));
        assert_eq!(undone.map(|undo| undo.n_before), Some(expected));
    }

    #[test]
    fn a_change_in_the_meantime_begins_another_trial_unless_all_was_bad() {
        check_again(&[0.9], 4);
        check_again(&[2.0, 1.0], 4);
        check_again(&[2.0], 1);
    }

    #[test]
    fn a_load_that_rises_later_is_not_held_against_the_change() {
        let mut trials = Trials::default();
        trials.iteration(4, seen(1.0));
        trials.changed(4);
        for more in [1.0, 2.0, 3.0] {
            let seen = TaskTimes { task_s: 0.9 * more, compute_task_s: more };
            assert_eq!(trials.iteration(7, seen), None);
        }
    }
}
