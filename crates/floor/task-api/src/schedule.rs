//! When tasks of a submission may run: their priority, what they wait for, and how many of them at once.

use serde::{Deserialize, Serialize};

use crate::TaskRange;

/// Most tasks or ranges that one submission waits for.
const N_AFTER_MAX: usize = 1_000;
/// Longest name of a job in bytes.
const JOB_BYTES_MAX: usize = 128;

/// When tasks may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Schedule {
    /// Tasks with a higher number go before all others that wait at their home.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// True if the tasks wait until they are released.
    #[serde(skip_serializing_if = "is_false")]
    pub is_held: bool,
    /// Most tasks of the submission that run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_at_once_max: Option<u64>,
    /// Job that the tasks belong to; other submissions may belong to it as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Tasks that these wait for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Dependency>,
}

/// Tasks that others wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// The tasks, of the same home.
    pub tasks: TaskRange,
    /// What has to become of all of them.
    #[serde(default)]
    pub when: DependencyKind,
    /// True if each task of an array waits just for the one at the same place of `tasks`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_each: bool,
}

/// What has to become of a task before others may run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum DependencyKind {
    /// It has started.
    Started,
    /// It has ended with code 0.
    #[default]
    Succeeded,
    /// It has ended.
    Ended,
    /// It has failed.
    Failed,
}

/// Reason why a schedule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// No task may run.
    #[error("`n_at_once_max` is 0: no task could run")]
    NoneAtOnce,
    /// There is too much to wait for.
    #[error("{0} ranges of tasks are waited for, {N_AFTER_MAX} at most: name ranges, or a job")]
    Many(usize),
    /// A job cannot have this name.
    #[error(
        "`{0}` cannot be the name of a job: use 1 to {JOB_BYTES_MAX} bytes without line breaks"
    )]
    Job(String),
    /// The numbers of tasks differ.
    #[error("{n_tasks} tasks cannot each wait for one of the {} in `{tasks}`", tasks.n_tasks())]
    Each {
        /// Number of tasks that wait.
        n_tasks: u64,
        /// Tasks that are waited for.
        tasks: TaskRange,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Schedule {
    /// Returns whether the tasks may run whenever there is room, as all others.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Checks whether `n_tasks` tasks can have this schedule.
    ///
    /// # Errors
    /// When no task could run, too much is waited for, or the name of the job cannot be.
    pub fn check(&self, n_tasks: u64) -> Result<(), ScheduleError> {
        if self.n_at_once_max == Some(0) {
            return Err(ScheduleError::NoneAtOnce);
        }
        if N_AFTER_MAX < self.after.len() {
            return Err(ScheduleError::Many(self.after.len()));
        }
        let fine = |job: &String| {
            (1..=JOB_BYTES_MAX).contains(&job.len()) && !job.contains(|it: char| it.is_control())
        };
        if let Some(job) = self.job.as_ref().filter(|job| !fine(job)) {
            return Err(ScheduleError::Job(job.clone()));
        }
        let differs = |it: &&Dependency| it.is_each && it.tasks.n_tasks() != n_tasks;
        match self.after.iter().find(differs) {
            Some(it) => Err(ScheduleError::Each { n_tasks, tasks: it.tasks.clone() }),
            None => Ok(()),
        }
    }
}

impl Dependency {
    /// Numbers of the tasks that the task at place `idx` of its submission waits for.
    pub fn numbers_for(&self, idx: u64) -> (u64, u64) {
        match self.is_each {
            true => {
                let number = self.tasks.first.saturating_add(idx).min(self.tasks.last);
                (number, number)
            }
            false => (self.tasks.first, self.tasks.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_of_an_array_may_wait_for_its_own() {
        let tasks = "alpha.5-8".parse().unwrap();
        let all = Dependency { tasks, when: DependencyKind::Ended, is_each: false };
        assert_eq!(all.numbers_for(2), (5, 8));
        let each = Dependency { is_each: true, ..all };
        assert_eq!((each.numbers_for(0), each.numbers_for(3)), ((5, 5), (8, 8)));
        let schedule = Schedule { after: vec![each], ..Schedule::default() };
        assert_eq!(schedule.check(4), Ok(()));
        let found = schedule.check(5).unwrap_err().to_string();
        assert_eq!(found, "5 tasks cannot each wait for one of the 4 in `alpha.5-8`");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let none = Schedule { n_at_once_max: Some(0), ..Schedule::default() };
        assert_eq!(none.check(1), Err(ScheduleError::NoneAtOnce));
        let job = Schedule { job: Some("a\nb".to_owned()), ..Schedule::default() };
        assert_eq!(job.check(1), Err(ScheduleError::Job("a\nb".to_owned())));
    }

    #[test]
    fn a_plain_schedule_is_an_empty_object() {
        assert_eq!(serde_json::to_string(&Schedule::default()).unwrap(), "{}");
        let json = r#"{"priority":3,"after":[{"tasks":"alpha.1"}]}"#;
        let schedule = serde_json::from_str::<Schedule>(json).unwrap();
        assert_eq!(schedule.after[0].when, DependencyKind::Succeeded);
        assert!(!schedule.is_plain());
    }
}
