//! Tasks of a node, as its clients see them.

use std::ops::RangeInclusive;

use memchr::memmem;
use task_api::{
    DaemonAnswer, DependencyKind, EndedTask, OutcomeFilter, TaskFilter, TaskName, TaskOutcome,
    TaskRange, TaskState, TaskStatus, Usage,
};

use super::gates;
use super::node::Node;
use crate::book::{ArrayFailures, Failure, NotedEvent, Task};

/// Most tasks in one answer.
const N_TASKS_MAX: usize = 1000;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 50_000;

/// Part of a list that is asked for.
#[derive(Clone, Copy)]
pub(super) struct ListPart {
    /// Number after which it begins, or before which where it goes backward.
    pub(super) after: Option<u64>,
    pub(super) n_max: usize,
    pub(super) is_backward: bool,
}

impl ListPart {
    /// Numbers of a range that are left.
    fn within(self, first: u64, last: u64) -> RangeInclusive<u64> {
        match self.after {
            None => first..=last,
            Some(after) if self.is_backward => first..=last.min(after.saturating_sub(1)),
            Some(after) => first.max(after.saturating_add(1))..=last,
        }
    }
}

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
    pub(super) fn list(self, filter: &TaskFilter, span: ListPart) -> DaemonAnswer {
        let book = &self.0.book;
        let n_max = span.n_max.clamp(1, N_TASKS_MAX);
        let (first, last) =
            filter.tasks.as_ref().map_or((1, u64::MAX), |tasks| (tasks.first, tasks.last));
        let mut tasks = Vec::<TaskStatus>::new();
        let is_all = matches!(filter.state, None | Some(TaskState::Ended)) && has_no_detail(filter);
        let holds = |outcome: &TaskOutcome| filter.outcome.is_none_or(|it| it.holds(outcome));
        let past = (span.after.is_none() && is_all)
            .then(|| book.archive().summary((first, last), N_TASKS_MAX, holds));
        let past = past.filter(|past| 0 < past.n_tasks);
        let mut looked_at = None;
        let candidates = self.candidates(filter, span.within(first, last), span.is_backward);
        for (n_looked_at, (number, task)) in candidates.enumerate() {
            if n_max <= tasks.len() || N_LOOKED_AT_MAX <= n_looked_at {
                return DaemonAnswer::Tasks { tasks, next: looked_at, past };
            }
            looked_at = Some(number);
            let state_fits = filter.state.is_none_or(|state| state == task.state);
            let title = filter.title.as_deref();
            if filter.outcome.is_some() && !task.outcome().is_some_and(holds) {
                continue;
            }
            if state_fits
                && title.is_none_or(|title| title == task.work.title())
                && self.detail_fits(filter, task)
            {
                tasks.push(self.status(number, task));
            }
        }
        DaemonAnswer::Tasks { tasks, next: None, past }
    }

    /// Tasks among which are all that pass the filter, few where the book knows which.
    fn candidates(
        &self,
        filter: &TaskFilter,
        range: RangeInclusive<u64>,
        is_backward: bool,
    ) -> Box<dyn Iterator<Item = (u64, &Task)> + '_> {
        let tasks = self.0.book.tasks();
        let found: Box<dyn DoubleEndedIterator<Item = (u64, &Task)>> =
            match (filter.state, filter.outcome) {
                (Some(TaskState::Offered | TaskState::Leased | TaskState::Running), _) => {
                    Box::new(tasks.active(range))
                }
                (_, Some(OutcomeFilter::Failed | OutcomeFilter::Lost)) => {
                    Box::new(tasks.failed(range))
                }
                _ => Box::new(tasks.within(range)),
            };
        if is_backward { Box::new(found.rev()) } else { found }
    }

    fn detail_fits(self, filter: &TaskFilter, task: &Task) -> bool {
        let output_fits = |text: &String| {
            let finder = memmem::Finder::new(text.as_bytes());
            let has = |bytes: &[u8]| finder.find(bytes).is_some();
            task.output().is_some_and(|it| has(&it.stdout.0) || has(&it.stderr.0))
        };
        let node_fits = |node: &String| task.node().is_some_and(|it| self.0.name_of(it) == *node);
        let was_active = |since_ms: u64| {
            task.started_ms().is_some()
                && task.ended_ms().is_none_or(|ended_ms| since_ms <= ended_ms)
        };
        let terms = task.work.terms.as_ref();
        let job_fits =
            |job: &String| terms.is_some_and(|terms| terms.schedule.job.as_ref() == Some(job));
        filter.node.as_ref().is_none_or(node_fits)
            && filter.active_since_ms.is_none_or(was_active)
            && filter.job.as_ref().is_none_or(job_fits)
            && filter.output_has.as_ref().is_none_or(output_fits)
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
            job: task.work.terms.as_ref().and_then(|terms| terms.schedule.job.clone()),
            usage: task.usage(),
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
                usage: Usage::default(),
                output_folder: None,
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
            usage: task.usage().unwrap_or_default(),
            output_folder: task.work.around.limits.output_folder.clone(),
        })
    }

    /// Reason in one line why a task failed, was canceled, or is tried again.
    fn why(self, number: u64, task: &Task) -> Option<String> {
        match task.outcome() {
            None if !task.waits() => None,
            None if task.is_blocked => self.why_blocked(number, task),
            None if task.is_held => Some("held until it is released".to_owned()),
            None => self.last_failure(task),
            Some(TaskOutcome::Canceled) => {
                let stopped = self.stopped_array(task).map(stopped_sentence);
                let is_unmet =
                    || gates::waits_for(&self.0.book, number, task).is_some_and(|it| it.2);
                stopped.or_else(|| {
                    let unmet = task.is_blocked && is_unmet();
                    unmet.then(|| self.why_blocked(number, task)).flatten()
                })
            }
            Some(TaskOutcome::TimeLimit) => {
                let limit_ms = task.work.demand.as_ref().and_then(|demand| demand.time_limit_ms);
                limit_ms.map(|ms| {
                    format!("it ran for longer than `--time-limit` allows: {} s", seconds(ms))
                })
            }
            Some(TaskOutcome::MemoryLimit) => {
                let demand = task.work.demand.as_ref().map(ToString::to_string);
                demand.map(|demand| format!("it used more memory than it had asked for: {demand}"))
            }
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

    /// What a task waits for, or had waited for in vain, in words.
    pub(super) fn why_blocked(self, number: u64, task: &Task) -> Option<String> {
        let (other, kind, is_unmet) = gates::waits_for(&self.0.book, number, task)?;
        let other_name = format!("`{}.{other}`", self.0.options.name);
        let wanted = match kind {
            DependencyKind::Started => "has started",
            DependencyKind::Succeeded => "has succeeded",
            DependencyKind::Ended => "has ended",
            DependencyKind::Failed => "has failed",
        };
        if !is_unmet {
            return Some(format!("waits until {other_name} {wanted}"));
        }
        let outcome = self.0.book.task(other).and_then(Task::outcome).cloned();
        let outcome = outcome.or_else(|| self.0.book.archive().outcome(other));
        let became = outcome.map_or_else(String::new, |outcome| format!(": {outcome}"));
        Some(format!("it was to run when {other_name} {wanted}, which ended otherwise{became}"))
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
        let array = *self.0.book.tasks().arrays().get(task.work.terms.as_deref())?;
        let is_since = array.stopped_ms? <= task.ended_ms()?;
        is_since.then_some(array)
    }
}

/// Returns whether a filter asks for nothing that is unknown of tasks that ended long ago.
fn has_no_detail(filter: &TaskFilter) -> bool {
    let TaskFilter { home: _, tasks: _, state: _, outcome: _, title, .. } = filter;
    let TaskFilter { node, active_since_ms, job, output_has, .. } = filter;
    title.is_none()
        && node.is_none()
        && active_since_ms.is_none()
        && job.is_none()
        && output_has.is_none()
}

/// Sentence about a task that was canceled with its array.
pub(super) fn stopped_sentence(array: ArrayFailures) -> String {
    let ArrayFailures { n_failed, n_fails_max, .. } = array;
    format!("{n_failed} tasks of its array failed, and `--max-fails` allows {n_fails_max}")
}

/// Milliseconds as seconds, for users.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}", ms.div_ceil(100) as f64 / 10.0)
}
