//! Tasks of a node, as its clients see them.

use task_api::{
    DaemonAnswer, EndedTask, TaskFilter, TaskName, TaskOutcome, TaskRange, TaskState, TaskStatus,
};

use super::node::Node;
use crate::book::{ArrayFailures, Failure, NotedEvent, Task};

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
        let holds = |outcome: &TaskOutcome| filter.outcome.is_none_or(|it| it.holds(outcome));
        let past = (after == 0 && is_all)
            .then(|| book.archive().summary((first, last), N_TASKS_MAX, holds));
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
            if filter.outcome.is_some() && !task.outcome().is_some_and(holds) {
                continue;
            }
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
            why: self.why(number, task),
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
                why: None,
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
            why: self.why(number, task),
        })
    }

    /// Reason in one line why a task failed, was canceled, or is tried again.
    fn why(self, number: u64, task: &Task) -> Option<String> {
        match task.outcome() {
            None => self.last_failure(task).filter(|_| task.waits()),
            Some(TaskOutcome::Canceled) => self.stopped_array(task).map(stopped_sentence),
            Some(TaskOutcome::Lost) => {
                let n_starts = task.work.around.limits.n_starts_max;
                Some(format!("its node was lost at {n_starts} of its starts"))
            }
            Some(TaskOutcome::NotStarted(sentence)) => Some(sentence.clone()),
            Some(TaskOutcome::Exit(0)) => None,
            Some(TaskOutcome::Exit(_) | TaskOutcome::Signal(_)) => {
                let limits = &task.work.around.limits;
                let files = limits.output_folder.as_deref();
                let file =
                    files.map(|dir| format!("see {dir}/{}.{number}.err", self.0.options.name));
                file.or_else(|| task.output()?.last_line())
            }
        }
    }

    /// The last failure of a task that is tried again, in words.
    pub(super) fn last_failure(self, task: &Task) -> Option<String> {
        let failed = |event: &NotedEvent| match event {
            NotedEvent::Failed { n_failed, failure, .. } => Some((*n_failed, failure.clone())),
            _ => None,
        };
        let (n_failed, failure) =
            task.notes().0.iter().rev().find_map(|note| failed(&note.what))?;
        Some(self.failure_sentence(n_failed, &failure, task))
    }

    /// A failed attempt in words.
    pub(super) fn failure_sentence(self, n_failed: u32, failure: &Failure, task: &Task) -> String {
        let (node, n_max) = (self.0.name_of(failure.node), task.n_attempts_max());
        format!("attempt {n_failed} of {n_max} failed on `{node}`: {}", failure.sentence())
    }

    /// The array of a canceled task, if the task was canceled because too many others had failed.
    pub(super) fn stopped_array(self, task: &Task) -> Option<ArrayFailures> {
        let array = *self.0.book.tasks().arrays().get(task.work.rules.as_ref())?;
        let is_since = array.stopped_ms? <= task.ended_ms()?;
        is_since.then_some(array)
    }
}

/// Sentence about a task that was canceled with its array.
pub(super) fn stopped_sentence(array: ArrayFailures) -> String {
    let ArrayFailures { n_failed, n_fails_max, .. } = array;
    format!("{n_failed} tasks of its array failed, and `--max-fails` allows {n_fails_max}")
}
