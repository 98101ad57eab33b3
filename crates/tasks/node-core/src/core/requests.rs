//! Requests of clients, either of this node or of another one that passes them on.

use balancing_policies::LoadState;
use task_api::{
    ClientRequest, DaemonAnswer, Demand, HistorySample, NodeCounters, NodeLoadState, NodeResources,
    NodeStatus, PROTOCOL_VERSION, Presence, RerunSelection, Submission, TaskRange,
};

use super::Roles;
use super::explain::Explainer;
use super::jobs;
use super::node::{Node, count};
use super::task_view::{ListPart, TaskView};
use super::turn::{Asker, Turn};
use super::waits::NOTHING_IS_WAITED_FOR;
use crate::book::RerunTasks;
use crate::interface::{ClientId, Member, Now};

impl Roles {
    pub(super) fn on_client(
        &mut self,
        client: ClientId,
        request: ClientRequest,
        turn: &mut Turn<'_>,
    ) {
        match request.home() {
            Some(home) if home != turn.node.options.name => {
                self.relaying.ask(client, request, turn);
            }
            _ if request == ClientRequest::More && self.relaying.more(client, turn) => {}
            _ => self.on_request(Asker::Client(client), request, turn),
        }
    }

    /// Answers a request that another node passes on.
    pub(super) fn on_ask(&mut self, asker: Asker, request: ClientRequest, turn: &mut Turn<'_>) {
        match request {
            ClientRequest::Wait { .. }
            | ClientRequest::More
            | ClientRequest::Tasks { .. }
            | ClientRequest::Result { .. }
            | ClientRequest::Output { .. }
            | ClientRequest::Cancel { .. }
            | ClientRequest::Hold { .. }
            | ClientRequest::Release { .. }
            | ClientRequest::Jobs { .. }
            | ClientRequest::Rerun { .. }
            | ClientRequest::Explain { .. }
            | ClientRequest::History { .. } => self.on_request(asker, request, turn),
            _ => turn.refuse(asker, "this is not asked of another node".to_owned()),
        }
    }

    fn on_request(&mut self, asker: Asker, request: ClientRequest, turn: &mut Turn<'_>) {
        let view = TaskView(turn.node);
        let answer = match request {
            ClientRequest::Hello { version: PROTOCOL_VERSION } => {
                let node = turn.node.options.name.clone();
                Ok(DaemonAnswer::Hello { version: PROTOCOL_VERSION, node })
            }
            ClientRequest::Hello { version } => Err(format!(
                "the daemon speaks version {PROTOCOL_VERSION}, and not {version}: use the same Sintonia"
            )),
            ClientRequest::Submit { submission } => self.take_submission(&submission, turn),
            ClientRequest::Wait { tasks, with_output } => match view.known(&tasks) {
                Ok(()) => return self.waits.wait(asker, &tasks, with_output, &turn.node.book),
                Err(sentence) => Err(sentence),
            },
            ClientRequest::More => match self.waits.more(asker) {
                true => return,
                false => Err(NOTHING_IS_WAITED_FOR.to_owned()),
            },
            ClientRequest::Tasks { filter, after, n_max, is_backward } => {
                Ok(view.list(&filter, ListPart { after, n_max: n_max as usize, is_backward }))
            }
            ClientRequest::Result { task } => {
                view.known(&task.alone()).map(|()| DaemonAnswer::Ended {
                    tasks: view.ended(task.number, true).into_iter().collect(),
                    n_left: 0,
                })
            }
            ClientRequest::Output { tasks, .. } => return self.peeking.ask(asker, tasks, turn),
            ClientRequest::Nodes => return self.gathering.ask(asker, turn),
            ClientRequest::Cancel { tasks } => {
                let tasks = up_to_last(tasks, turn);
                let known = TaskView(turn.node).known(&tasks);
                known.map(|()| DaemonAnswer::Canceled { n_tasks: turn.cancel(&tasks) })
            }
            ClientRequest::Hold { tasks } => {
                let tasks = up_to_last(tasks, turn);
                let known = TaskView(turn.node).known(&tasks);
                known.map(|()| DaemonAnswer::Changed { n_tasks: turn.hold(&tasks) })
            }
            ClientRequest::Release { tasks, anyway } => {
                let tasks = up_to_last(tasks, turn);
                let known = TaskView(turn.node).known(&tasks);
                known.map(|()| DaemonAnswer::Changed { n_tasks: turn.release(&tasks, anyway) })
            }
            ClientRequest::Jobs { after, .. } => Ok(jobs::list(turn.node, after.unwrap_or(0))),
            ClientRequest::Rerun { tasks, which } => {
                let known = view.known(&tasks);
                known.and_then(|()| self.take_rerun(&tasks, which, turn))
            }
            ClientRequest::Explain { task } => view.known(&task.alone()).and_then(|()| {
                let (node, balance, spanning) = (&*turn.node, &self.balance, &self.spanning);
                let status = self.status(node, turn.now);
                Explainer { node, balance, spanning, now: turn.now, status }.explain(task.number)
            }),
            ClientRequest::History { .. } => {
                let (node, samples) = (turn.node.options.name.clone(), self.history.samples());
                Ok(DaemonAnswer::History { node, samples })
            }
            ClientRequest::Stop { now } => {
                self.stop(now, turn);
                Ok(DaemonAnswer::Stopping { n_running: count(turn.node.processes.n()) })
            }
        };
        let answer = answer.unwrap_or_else(|sentence| DaemonAnswer::Refused { sentence });
        turn.answer(asker, answer);
    }

    fn take_submission(
        &mut self,
        submission: &Submission,
        turn: &mut Turn<'_>,
    ) -> Result<DaemonAnswer, String> {
        submission.check().map_err(|error| error.to_string())?;
        self.check_needs(submission, turn)?;
        self.check_room(submission.n_tasks(), turn)?;
        Ok(DaemonAnswer::Submitted { tasks: turn.submit(submission) })
    }

    fn take_rerun(
        &mut self,
        tasks: &TaskRange,
        which: RerunSelection,
        turn: &mut Turn<'_>,
    ) -> Result<DaemonAnswer, String> {
        let found = RerunTasks::of(&turn.node.book, tasks.first..=tasks.last, which);
        if let Some(number) = found.first_forgotten {
            let (n, home) = (found.n_forgotten, &tasks.home);
            return Err(format!(
                "of {n} of these tasks, the first of them `{home}.{number}`, only the outcome is kept, not the command: \
                 submit them again by `submit`, and name the others in smaller ranges; `node start --keep-tasks N` keeps more"
            ));
        }
        if found.numbers.is_empty() {
            let (what, more) = match which {
                RerunSelection::Failed => ("failed", "; `--canceled` and `--all` take more"),
                RerunSelection::Unsuccessful => ("failed or was canceled", "; `--all` takes more"),
                RerunSelection::All => ("has ended", ""),
            };
            return Err(format!("no task of `{tasks}` {what}{more}"));
        }
        self.check_room(found.numbers.len() as u64, turn)?;
        Ok(DaemonAnswer::Submitted { tasks: turn.submit_again(&found) })
    }

    /// Checks that the tasks that are waited for are known, and that some node can run the new ones.
    fn check_needs(&self, submission: &Submission, turn: &Turn<'_>) -> Result<(), String> {
        for after in &submission.schedule.after {
            TaskView(turn.node)
                .known(&after.tasks)
                .map_err(|why| format!("{why}: tasks wait only for others of the same node"))?;
        }
        let demand = &submission.demand;
        let stays = |it: &&Member| matches!(it.presence, Presence::Up | Presence::Silent);
        let mut others = turn.node.peers.iter().filter(stays);
        let one = demand.of_one_node();
        let fits_here = one.fits(turn.node.processes.pool.capacity());
        if demand.is_spanning() {
            let n_others = others.filter(|member| one.fits(&member.capacity)).count();
            let (n_able, n_wanted) = (n_others + usize::from(fits_here), demand.n_nodes());
            return match n_able < n_wanted as usize {
                false => Ok(()),
                true => Err(format!(
                    "{n_able} nodes of the cluster have {one} for a task that asks for {n_wanted} such nodes: ask for less, or \
                     start more (`sintonia nodes --resources` lists what they have)"
                )),
            };
        }
        if fits_here || others.any(|member| one.fits(&member.capacity)) {
            return Ok(());
        }
        Err(format!(
            "no node of the cluster has {demand} for a task: ask for less (`sintonia nodes --resources` lists what they have)"
        ))
    }

    fn check_room(&self, n_tasks: u64, turn: &Turn<'_>) -> Result<(), String> {
        if self.stopping.is_some() {
            let name = &turn.node.options.name;
            return Err(format!("`{name}` is being stopped: submit to another node"));
        }
        if !turn.node.book.has_room(n_tasks) {
            let n_open = turn.node.book.n_open();
            return Err(format!("{n_open} tasks are still unfinished; wait until some have ended"));
        }
        Ok(())
    }

    /// Adds the state of this node to its history, where that is due.
    pub(super) fn note_history(&mut self, turn: &Turn<'_>) {
        let (node, at_ms) = (&*turn.node, turn.now.unix_ms);
        if self.history.is_due(at_ms) {
            self.history.add(HistorySample {
                at_ms,
                n_running: count(node.processes.n()),
                n_queued: node.book.tasks().n_waiting() + self.holding.n_waiting(),
                n_succeeded: node.counts.n_succeeded,
                n_failed: node.counts.n_failed,
            });
        }
    }

    /// Status of this node.
    pub(super) fn status(&self, node: &Node, now: Now) -> NodeStatus {
        let Self { holding, balance, stopping, .. } = self;
        let snapshot = balance.snapshot(now.moment);
        let mut troubles = node.warnings.clone();
        let n_uncertain = node.book.tasks().n_uncertain();
        if 0 < n_uncertain {
            troubles.push(format!(
                "{n_uncertain} tasks wait until no other node can run them, because the damaged journal may have lost which \
                 node runs them"
            ));
        }
        NodeStatus {
            node: node.options.name.clone(),
            address: node.options.address.clone(),
            presence: if stopping.is_some() { Presence::Stopping } else { Presence::Up },
            n_cores: node.options.measurement.n_cores,
            speed: node.options.measurement.speed,
            load: Some(match snapshot.state {
                LoadState::Receiver => NodeLoadState::Receiver,
                LoadState::Neutral => NodeLoadState::Neutral,
                LoadState::Sender => NodeLoadState::Sender,
            }),
            index: snapshot.index,
            policy: Some(snapshot.policy),
            n_running: count(node.processes.n()),
            n_queued: node.book.tasks().n_waiting() + holding.n_waiting(),
            n_leased: node.book.leases().len() as u64,
            counts: NodeCounters {
                n_messages: snapshot.counts.messages,
                n_accepted: snapshot.counts.accepted,
                n_not_accepted: snapshot.counts.not_accepted,
                ..node.counts
            },
            uptime_ms: now.moment.ms_since(node.began.moment),
            troubles,
            kept: node.book.kept(),
            resources: NodeResources {
                capacity: node.processes.pool.capacity().clone(),
                used: node.processes.pool.used().clone(),
            },
            moved_to: node.moves.by_name(|to| node.name_of(to)),
            durations: node.durations.clone(),
            n_cores_wanted: n_cores_wanted(node).saturating_add(holding.n_waiting()),
            ends_ms: node.options.ends_ms,
        }
    }
}

/// Cores that waiting tasks of this node ask for, of those that may run.
fn n_cores_wanted(node: &Node) -> u64 {
    let n_each =
        |demand: &Demand| u64::from(demand.cpus_min().max(1)) * u64::from(demand.n_nodes());
    let classes = node.book.tasks().classes();
    let of_each = classes.map(|class| class.n_tasks.saturating_mul(class.demand.map_or(1, n_each)));
    of_each.fold(0, u64::saturating_add)
}

/// The range without numbers that do not exist yet: a range of all tasks is written with a very large last number.
fn up_to_last(tasks: TaskRange, turn: &Turn<'_>) -> TaskRange {
    let last = tasks.last.min(turn.node.book.next_number() - 1).max(tasks.first);
    TaskRange { last, ..tasks }
}
