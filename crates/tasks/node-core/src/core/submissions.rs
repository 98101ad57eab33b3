//! Progress of the submissions of a node.

use super::task_view::TaskView;
use crate::book::Task;
use task_api::{DaemonAnswer, SubmissionStatus, TaskName, TaskOutcome, TaskState};

/// Most submissions in one answer.
const N_SUBMISSIONS_MAX: usize = 500;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 50_000;

impl TaskView<'_> {
    /// One page of the submissions whose tasks come after a number.
    pub(super) fn submissions(self, after: u64) -> DaemonAnswer {
        let mut submissions = Vec::<SubmissionStatus>::new();
        let mut looked_at = None;
        let tasks = self.0.book.tasks_from(after.saturating_add(1));
        for (n_looked_at, (number, task)) in tasks.enumerate() {
            let one = self.alone(number, task);
            let is_full = N_LOOKED_AT_MAX <= n_looked_at;
            let is_joined = !is_full && submissions.last_mut().is_some_and(|it| it.join(&one));
            if is_full || !is_joined && N_SUBMISSIONS_MAX <= submissions.len() {
                return DaemonAnswer::Submissions { submissions, next: looked_at };
            }
            if !is_joined {
                submissions.push(one);
            }
            looked_at = Some(number);
        }
        DaemonAnswer::Submissions { submissions, next: None }
    }

    /// A task as a submission of its own.
    fn alone(self, number: u64, task: &Task) -> SubmissionStatus {
        let tasks = TaskName { home: self.0.options.name.clone(), number }.alone();
        let (title, is_array) = (task.work.title().to_owned(), task.array_index().is_some());
        let mut one = SubmissionStatus::new(tasks, title, task.submitted_ms, is_array);
        one.first_started_ms = task.started_ms();
        one.last_ended_ms = task.ended_ms();
        one.n_again = u64::from(task.instance.saturating_sub(1));
        let count = match (task.state, task.outcome()) {
            (_, Some(TaskOutcome::Canceled)) => &mut one.n_canceled,
            (_, Some(outcome)) if outcome.is_success() => &mut one.n_succeeded,
            (_, Some(_)) => &mut one.n_failed,
            (TaskState::Running, None) => &mut one.n_running,
            (TaskState::Leased, None) if one.first_started_ms.is_some() => &mut one.n_running,
            (_, None) => &mut one.n_waiting,
        };
        *count = 1;
        let ran = matches!(task.outcome(), Some(TaskOutcome::Exit(_) | TaskOutcome::Signal(_)));
        if let (Some(started_ms), Some(ended_ms), true) =
            (one.first_started_ms, one.last_ended_ms, ran)
        {
            one.durations.add(ended_ms.saturating_sub(started_ms));
        }
        one
    }
}
