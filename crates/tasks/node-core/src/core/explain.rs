//! Explanations of a task's state.

use balancing_policies::{Balance, BalanceSnapshot};
use task_api::{
    DaemonAnswer, Demand, Explanation, HistoryEvent, NodeStatus, Presence, TaskEvent, TaskOutcome,
    TaskState,
};

use super::node::Node;
use super::spanning::Spanning;
use super::task_view::{TaskView, seconds, stopped_sentence};
use crate::book::{Note, NotedEvent, Task};
use crate::interface::Now;

/// Most tasks that are examined to count those that wait before another one.
const N_COUNTED_MAX: usize = 100_000;

/// Sources of an explanation.
pub(super) struct Explainer<'a> {
    pub(super) node: &'a Node,
    pub(super) balance: &'a Balance,
    pub(super) now: Now,
    pub(super) spanning: &'a Spanning,
    pub(super) status: NodeStatus,
}

impl Explainer<'_> {
    pub(super) fn explain(self, number: u64) -> Result<DaemonAnswer, String> {
        let Some(task) = self.node.book.task(number) else {
            let home = &self.node.options.name;
            return Err(match self.node.book.archive().outcome(number) {
                Some(outcome) => format!(
                    "`{home}.{number}` ended long ago ({outcome}), and no more is kept of it"
                ),
                None => format!("`{home}.{number}` is not known, or ended long ago"),
            });
        };
        let (notes, n_dropped_steps) = task.notes();
        let mut steps = vec![HistoryEvent { at_ms: task.submitted_ms, what: TaskEvent::Submitted }];
        steps.extend(notes.iter().map(|note| self.step(note, task)));
        if let (Some(at_ms), Some(outcome), Some(node)) =
            (task.ended_ms(), task.outcome(), task.node())
        {
            let what =
                TaskEvent::Ended { on: self.node.name_of(node), outcome: outcome.to_string() };
            steps.push(HistoryEvent { at_ms, what });
        }
        let explanation = Box::new(Explanation {
            status: TaskView(self.node).status(number, task),
            steps,
            n_dropped_steps,
            because: self.because(number, task),
            home: self.status,
        });
        Ok(DaemonAnswer::Explained { explanation })
    }

    fn step(&self, note: &Note, task: &Task) -> HistoryEvent {
        let what = match &note.what {
            NotedEvent::Offered(to) => TaskEvent::Offered { to: self.node.name_of(*to) },
            NotedEvent::Moved(to) => TaskEvent::Moved { to: self.node.name_of(*to) },
            NotedEvent::Started(on) => TaskEvent::Started { on: self.node.name_of(*on) },
            NotedEvent::CancelWished => TaskEvent::CancelWished,
            NotedEvent::Failed { n_failed, delay_ms, failure } => {
                let what = TaskView(self.node).failure_sentence(*n_failed, failure, task);
                let because = format!("{what}; tried again after {} s", seconds(*delay_ms));
                TaskEvent::Back { because }
            }
            NotedEvent::Back(reason) => {
                let node = reason.node().map(|node| self.node.name_of(node));
                TaskEvent::Back { because: reason.sentence(node.as_deref().unwrap_or("")) }
            }
        };
        HistoryEvent { at_ms: note.at_ms, what }
    }

    fn because(&self, number: u64, task: &Task) -> Vec<String> {
        let node = task.node().map(|node| self.node.name_of(node)).unwrap_or_default();
        let sentences = match task.state {
            TaskState::Queued if task.is_delayed => vec![self.why_it_is_delayed(task)],
            TaskState::Queued if task.is_held => {
                vec!["it is held until it is released (`sintonia release`)".to_owned()]
            }
            TaskState::Queued if task.is_blocked => {
                let why = TaskView(self.node).why_blocked(number, task);
                vec![why.unwrap_or_else(|| {
                    "what is known of the tasks that it waits for is lost: `sintonia release --anyway` lets it run".to_owned()
                })]
            }
            TaskState::Queued => self.why_it_waits(number),
            TaskState::Offered => vec![format!("`{node}` is asked whether it takes the task")],
            TaskState::Leased => self.why_it_is_away(number, task, &node),
            TaskState::Running => self.why_it_runs(number, task, &node),
            TaskState::Ended if task.outcome() == Some(&TaskOutcome::Lost) => {
                let n_lost = task.work.around.limits.n_starts_max;
                vec![format!(
                    "it was given up after {n_lost} of its starts were lost with the processes or \
                     the node that kept them; submit it again with a higher `--restarts`"
                )]
            }
            TaskState::Ended => self.why_it_ended(task, &node),
        };
        let canceled = task.is_cancel_requested && !task.is_over();
        let wish =
            canceled.then_some("it is to be canceled, and ends as soon as its node hears of it");
        sentences.into_iter().chain(wish.map(str::to_owned)).collect()
    }

    fn why_it_runs(&self, number: u64, task: &Task, node: &str) -> Vec<String> {
        let attempt = self.node.attempt(number, task.instance);
        let Some(span) = self.node.processes.span_of(attempt) else {
            return vec![format!("a core of `{node}`, its home, was free")];
        };
        let others = span.rooms.iter().map(|room| format!("`{}`", self.node.name_of(room.node)));
        let others = others.collect::<Vec<_>>().join(", ");
        vec![format!("`{node}`, its home, and {others} had room at the same time")]
    }

    fn why_it_is_delayed(&self, task: &Task) -> String {
        let until = task.delayed_until().unwrap_or(self.now.moment);
        let left_s = seconds(until.ms_since(self.now.moment));
        let failed = TaskView(self.node).last_failure(task);
        let failed = failed.unwrap_or_else(|| "an attempt failed".to_owned());
        format!("{failed}; it is tried again in {left_s} s")
    }

    fn why_it_ended(&self, task: &Task, node: &str) -> Vec<String> {
        let array = TaskView(self.node).stopped_array(task);
        let canceled = task.outcome() == Some(&TaskOutcome::Canceled);
        if let Some(array) = array.filter(|_| canceled) {
            return vec![format!("it was canceled since {}", stopped_sentence(array))];
        }
        let n_failed = u64::from(task.failed().n_failed);
        let all_failed = n_failed + 1 == task.n_attempts_max();
        let failed = task.outcome().is_some_and(TaskOutcome::is_failure);
        let last = (failed && 0 < n_failed && all_failed)
            .then(|| format!("all {} attempts that `--retry` allows failed", n_failed + 1));
        [format!("it ended on `{node}`")].into_iter().chain(last).collect()
    }

    fn why_it_waits(&self, number: u64) -> Vec<String> {
        let name = &self.node.options.name;
        let snapshot = self.balance.snapshot(self.now.moment);
        let mut sentences = Vec::new();
        if self.node.book.task(number).is_some_and(|task| task.is_uncertain) {
            let lease_ms = self.node.options.lease_over_ms();
            sentences.push(format!(
                "the damaged journal may have lost which node runs it: it waits {lease_ms} ms from the start of the \
                 daemon, and for the reports of the other nodes"
            ));
        }
        if !self.node.processes.ready {
            sentences.push(format!(
                "the daemon of `{name}` is waiting for its keeper's list of running tasks"
            ));
        }
        if self.status.presence == Presence::Stopping {
            sentences.push(format!("`{name}` is being stopped: it waits until `{name}` is back"));
        }
        let (n_running, n_slots) = (self.node.processes.n(), snapshot.n_slots);
        sentences.push(format!("`{name}` runs {n_running} of at most {n_slots} tasks"));
        sentences.extend(self.why_there_is_no_room(number));
        let n_kept = self.balance.n_kept(self.now.moment);
        if 0 < n_kept {
            sentences.push(format!(
                "its last {n_kept} waiting tasks are reserved for faster nodes, which fetch tasks regularly and \
                 would finish them sooner"
            ));
        }
        let before = self.node.book.tasks_from(0).take_while(|(other, _)| *other < number);
        let n_before = before.take(N_COUNTED_MAX).filter(|(_, task)| task.waits()).count();
        sentences.push(format!("at least {n_before} tasks with lower numbers wait there too"));
        sentences.extend(self.why_nobody_takes_it(&snapshot));
        sentences
    }

    /// What a task asks for, where that is more than a core, and what is free.
    fn why_there_is_no_room(&self, number: u64) -> Vec<String> {
        let (name, pool) = (&self.node.options.name, &self.node.processes.pool);
        let Some(task) = self.node.book.task(number) else { return Vec::new() };
        let mut sentences = Vec::new();
        if let Some(demand) = task.work.class.as_deref() {
            let mut free = pool.capacity().clone();
            free.subtract(pool.used());
            let one = &demand.of_one_node();
            sentences.extend(self.what_is_found(number, demand));
            let has_all = one.fits(pool.capacity());
            sentences.push(match pool.could_fit(Some(one)) {
                true => format!("it asks for {demand}, and `{name}` has {free} free"),
                false if has_all => {
                    let wanted = seconds(demand.time_request_ms.unwrap_or(0));
                    format!("it asks for {wanted} s, and `{name}` ends sooner")
                }
                false => format!("it asks for {demand}, and `{name}` never has that"),
            });
            let up = self.node.peers.iter().filter(|member| member.presence == Presence::Up);
            let n_able = up.filter(|member| one.fits(&member.capacity)).count();
            sentences.push(format!("{n_able} other nodes that are up could have that"));
        }
        let terms = task.work.terms.as_deref();
        let limit = terms.and_then(|terms| Some((terms, terms.schedule.n_at_once_max?)));
        if let Some((terms, n_max)) = limit {
            let n_active = self.node.book.tasks().n_active(terms.first);
            sentences.push(format!(
                "{n_active} tasks of its array are given out, and `--at-once` allows {n_max}"
            ));
        }
        sentences
    }

    /// What is found for a task that runs on several nodes.
    fn what_is_found(&self, number: u64, demand: &Demand) -> Option<String> {
        if !demand.is_spanning() {
            return None;
        }
        let n_wanted = demand.n_nodes();
        Some(match self.spanning.progress(number) {
            None => {
                format!("it runs when {n_wanted} nodes have room at once, and is tried in turn")
            }
            Some((n_found, None)) => {
                format!("{n_found} of its {n_wanted} nodes have given it room in this try")
            }
            Some((n_found, Some(node))) => {
                let node = self.node.name_of(node);
                format!(
                    "{n_found} of its {n_wanted} nodes have given it room, and `{node}` keeps for it what gets free"
                )
            }
        })
    }

    fn why_nobody_takes_it(&self, snapshot: &BalanceSnapshot) -> Vec<String> {
        let n_up = self.node.peers.iter().filter(|member| member.presence == Presence::Up).count();
        if n_up == 0 {
            return vec!["no other node is up".to_owned()];
        }
        let known = snapshot.known.iter().map(|node| format!("`{}`", self.node.name_of(*node)));
        let known = known.collect::<Vec<_>>().join(", ");
        let mut sentences = vec![format!(
            "under policy `{}`, `{}` is a {} and knows {} of {n_up} nodes that may accept tasks: {}",
            snapshot.policy,
            self.node.options.name,
            snapshot.state,
            snapshot.n_known,
            if known.is_empty() { "none" } else { &known },
        )];
        if let Some(operation) = snapshot.operation {
            let (n_asked, n_open) = (operation.n_asked, operation.n_open);
            sentences.push(format!("{n_asked} nodes are asked now, {n_open} have not answered"));
        }
        sentences.extend(snapshot.last.map(|last| format!("the last time, {}", last.why)));
        sentences
    }

    fn why_it_is_away(&self, number: u64, task: &Task, node: &str) -> Vec<String> {
        let runs = task.started_ms().is_some();
        let what = if runs { "runs it" } else { "holds it, but has not reported its start" };
        let mut sentences = vec![format!("`{node}` had room first and {what}")];
        if let Some(lease) = self.node.book.leases().get(&number) {
            let ms = self.now.moment.ms_since(lease.heard);
            let limit_ms = self.node.options.lease_over_ms();
            sentences.push(format!(
                "`{node}` renewed its lease {ms} ms ago; without renewal, another node gets the task after {limit_ms} ms"
            ));
        }
        sentences
    }
}
