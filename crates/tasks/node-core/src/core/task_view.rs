//! Tasks of a node, as its clients see them.

use task_api::{DaemonAnswer, EndedTask, TaskFilter, TaskName, TaskRange, TaskState, TaskStatus};

use super::node::Node;
use crate::book::Task;

/// Most tasks in one answer.
const N_TASKS_MAX: usize = 1000;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 50_000;

/// View of a node's tasks.
#[derive(Clone, Copy)]
pub(super) struct TaskView<'a>(pub(super) &'a Node);

impl TaskView<'_> {
    /// Checks whether these tasks have been submitted here.
    pub(super) fn known(self, tasks: &TaskRange) -> Result<(), String> {
        let home = &self.0.options.name;
        if *home != tasks.home {
            return Err(format!(
                "`{tasks}` was not submitted to `{home}`; ask the node it was submitted to"
            ));
        }
        if tasks.first == 0 || self.0.book.next_number() <= tasks.last {
            return Err(format!("`{tasks}` was not submitted: `sintonia tasks` lists what was"));
        }
        Ok(())
    }

    /// One page of the tasks that pass a filter, with those that ended long ago on the first page.
    pub(super) fn list(self, filter: &TaskFilter, after: u64, n_max: usize) -> DaemonAnswer {
        let book = &self.0.book;
        let n_max = n_max.clamp(1, N_TASKS_MAX);
        let last = filter.tasks.as_ref().map_or(u64::MAX, |tasks| tasks.last);
        let first =
            filter.tasks.as_ref().map_or(1, |tasks| tasks.first).max(after.saturating_add(1));
        let mut tasks = Vec::<TaskStatus>::new();
        let is_all =
            matches!(filter.state, None | Some(TaskState::Ended)) && filter.title.is_none();
        let past = (after == 0 && is_all).then(|| book.archive().summary(first, last, N_TASKS_MAX));
        let past = past.filter(|past| 0 < past.n_tasks);
        let mut looked_at = None;
        for (n_looked_at, (number, task)) in book.tasks_from(first).enumerate() {
            if last < number {
                break;
            }
            if n_max <= tasks.len() || N_LOOKED_AT_MAX <= n_looked_at {
                return DaemonAnswer::Tasks { tasks, next: looked_at, past };
            }
            looked_at = Some(number);
            let state_fits = filter.state.is_none_or(|state| state == task.state);
            let title = filter.title.as_deref();
            if state_fits && title.is_none_or(|title| title == task.work.title()) {
                tasks.push(self.status(number, task));
            }
        }
        DaemonAnswer::Tasks { tasks, next: None, past }
    }

    pub(super) fn status(self, number: u64, task: &Task) -> TaskStatus {
        TaskStatus {
            task: TaskName { home: self.0.options.name.clone(), number },
            title: task.work.title().to_owned(),
            array_index: task.array_index(),
            state: task.state,
            node: task.node().map(|node| self.0.name_of(node)),
            instance: task.instance,
            submitted_ms: task.submitted_ms,
            started_ms: task.started_ms(),
            ended_ms: task.ended_ms(),
            outcome: task.outcome().cloned(),
        }
    }

    /// The task as reported to clients, if it has ended; of one that ended long ago only the outcome.
    pub(super) fn ended(self, number: u64, with_output: bool) -> Option<EndedTask> {
        let Some(task) = self.0.book.task(number) else {
            return Some(EndedTask {
                number,
                node: String::new(),
                instance: 0,
                started_ms: None,
                ended_ms: 0,
                outcome: self.0.book.archive().outcome(number)?,
                output: None,
                is_brief: true,
            });
        };
        Some(EndedTask {
            number,
            node: self.0.name_of(task.node()?),
            instance: task.instance,
            started_ms: task.started_ms(),
            ended_ms: task.ended_ms()?,
            outcome: task.outcome()?.clone(),
            output: task.output().filter(|_| with_output).cloned(),
            is_brief: false,
        })
    }
}
