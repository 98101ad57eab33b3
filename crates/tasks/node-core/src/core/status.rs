//! Status of tasks and nodes, as users see it.

use balancing_policies::LoadState;
use task_api::{Counts, EndedTask, NodeLoadState, NodeStatus, Presence, TaskName, TaskStatus};

use super::Core;
use crate::book::Task;
use crate::interface::{Member, Now};

impl Core {
    pub(super) fn task_status(&self, number: u64, task: &Task) -> TaskStatus {
        TaskStatus {
            task: TaskName { home: self.options.name.clone(), number },
            title: task.work().title().to_owned(),
            array_index: task.array_index(),
            state: task.state(),
            node: task.node().map(|node| self.name_of(node)),
            instance: task.instance(),
            submitted_ms: task.submitted_ms(),
            started_ms: task.started_ms(),
            ended_ms: task.ended_ms(),
            outcome: task.outcome().cloned(),
        }
    }

    /// The task as reported to clients, if it has ended.
    pub(super) fn ended_task(
        &self,
        number: u64,
        task: &Task,
        with_output: bool,
    ) -> Option<EndedTask> {
        Some(EndedTask {
            number,
            node: self.name_of(task.node()?),
            instance: task.instance(),
            started_ms: task.started_ms(),
            ended_ms: task.ended_ms()?,
            outcome: task.outcome()?.clone(),
            output: task.output().filter(|_| with_output).cloned(),
            is_brief: false,
        })
    }

    /// A task that ended so long ago that only its outcome is kept.
    pub(super) fn ended_long_ago(&self, number: u64) -> Option<EndedTask> {
        Some(EndedTask {
            number,
            node: String::new(),
            instance: 0,
            started_ms: None,
            ended_ms: 0,
            outcome: self.book.archive().outcome(number)?,
            output: None,
            is_brief: true,
        })
    }

    /// Status of this node.
    pub(super) fn status(&self, now: Now) -> NodeStatus {
        let snapshot = self.balance.snapshot(now.moment);
        let presence = if self.is_stopping() { Presence::Stopping } else { Presence::Up };
        NodeStatus {
            node: self.options.name.clone(),
            address: self.options.address.clone(),
            presence,
            n_cores: self.options.measurement.n_cores,
            speed: self.options.measurement.speed,
            load: Some(match snapshot.state {
                LoadState::Receiver => NodeLoadState::Receiver,
                LoadState::Neutral => NodeLoadState::Neutral,
                LoadState::Sender => NodeLoadState::Sender,
            }),
            index: snapshot.index,
            policy: Some(snapshot.policy),
            n_running: super::rules::count(self.running.len()),
            n_queued: self.book.n_waiting() + self.holding.n_queued(),
            n_leased: self.book.leases().len() as u64,
            counts: Counts {
                n_messages: snapshot.counts.messages,
                n_accepted: snapshot.counts.accepted,
                n_not_accepted: snapshot.counts.not_accepted,
                ..self.counts
            },
            uptime_ms: now.moment.ms_since(self.began.moment),
            troubles: self.warnings(),
            kept: self.book.kept(),
        }
    }
}

/// Status of another node, as far as it is known here.
pub(super) fn of_member(member: &Member) -> NodeStatus {
    NodeStatus {
        node: member.name.clone(),
        address: member.address.clone(),
        presence: member.presence,
        n_cores: member.n_cores,
        speed: member.speed,
        load: None,
        index: None,
        policy: None,
        n_running: 0,
        n_queued: 0,
        n_leased: 0,
        counts: Counts::default(),
        uptime_ms: 0,
        troubles: Vec::new(),
        kept: task_api::Retention::default(),
    }
}
