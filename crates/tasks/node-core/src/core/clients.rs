//! Requests of clients, either of this node or of another one that passes them on.

use std::collections::BTreeMap;

use task_api::{Answer, PROTOCOL_VERSION, Request, TaskFilter, TaskRange, TaskState, TaskStatus};

use super::gather::Gathering;
use super::relay::Relaying;
use super::waits::Waits;
use super::{At, Core};
use crate::interface::{ClientId, NodeId, PeerMessage};

/// Most tasks in one answer.
const N_TASKS_MAX: usize = 1000;
/// Most tasks that are examined for one answer.
const N_LOOKED_AT_MAX: usize = 50_000;

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    /// A client of this node.
    Client(ClientId),
    /// Client of another node, with that node's number for the question.
    Peer(NodeId, u64),
}

/// Requests of clients that are still to be answered.
#[derive(Debug, Default)]
pub(super) struct Clients {
    pub(super) waits: Waits,
    pub(super) gathering: Gathering,
    pub(super) relaying: Relaying,
}

/// Refusal of [`Request::More`] from an asker that waits for nothing.
pub(super) const NOTHING_IS_WAITED_FOR: &str = "nothing is waited for";

impl Core {
    pub(super) fn on_client(&mut self, client: ClientId, request: Request, at: &mut At<'_>) {
        let asker = Asker::Client(client);
        match request.home() {
            Some(home) if home != self.options.name => {
                let home = home.to_owned();
                self.relay(client, &home, request, at);
            }
            _ if request == Request::More && self.relay_more(client, at) => {}
            _ => self.on_request(asker, request, at),
        }
    }

    pub(super) fn on_ask(&mut self, from: NodeId, ask: u64, request: Request, at: &mut At<'_>) {
        let asker = Asker::Peer(from, ask);
        match request {
            Request::Wait { .. }
            | Request::More
            | Request::Tasks { .. }
            | Request::Result { .. }
            | Request::Cancel { .. }
            | Request::Explain { .. } => self.on_request(asker, request, at),
            _ => self.refuse(asker, "this is not asked of another node".to_owned(), at),
        }
    }

    pub(super) fn on_ask_gone(&mut self, from: NodeId, ask: u64) {
        self.clients.waits.gone(Asker::Peer(from, ask));
    }

    pub(super) fn on_client_gone(&mut self, client: ClientId, at: &mut At<'_>) {
        self.clients.waits.gone(Asker::Client(client));
        self.clients.gathering.gone(client);
        self.relay_gone(client, at);
    }

    pub(super) fn sweep_clients(&mut self, at: &mut At<'_>) {
        self.sweep_gathering(at);
        self.sweep_relaying(at);
    }

    pub(super) fn answer(&self, asker: Asker, answer: Answer, at: &mut At<'_>) {
        match asker {
            Asker::Client(client) => at.out.answer(client, answer),
            Asker::Peer(node, ask) => at.out.send(node, PeerMessage::Answer { ask, answer }),
        }
    }

    pub(super) fn refuse(&self, asker: Asker, sentence: String, at: &mut At<'_>) {
        self.answer(asker, Answer::Refused { sentence }, at);
    }

    fn on_request(&mut self, asker: Asker, request: Request, at: &mut At<'_>) {
        let answer = match request {
            Request::Hello { version: PROTOCOL_VERSION } => {
                Ok(Answer::Hello { version: PROTOCOL_VERSION, node: self.options.name.clone() })
            }
            Request::Hello { version } => Err(format!(
                "the daemon speaks version {PROTOCOL_VERSION}, and not {version}: use the same Sintonia"
            )),
            Request::Submit { submission } => self.take_submission(&submission, at),
            Request::Wait { tasks, with_output } => match self.known(&tasks) {
                Ok(()) => return self.wait(asker, &tasks, with_output),
                Err(sentence) => Err(sentence),
            },
            Request::More => match self.clients.waits.more(asker) {
                true => return,
                false => Err(NOTHING_IS_WAITED_FOR.to_owned()),
            },
            Request::Tasks { filter, after, n_max } => {
                Ok(self.tasks(&filter, after.unwrap_or(0), n_max as usize))
            }
            Request::Result { task } => {
                self.known(&task.alone()).map(|()| self.result(task.number))
            }
            Request::Nodes => return self.gather(asker, at),
            Request::Cancel { tasks } => {
                // A range of all tasks is written with a last number that does not exist yet.
                let last = tasks.last.min(self.book.next_number() - 1).max(tasks.first);
                let tasks = TaskRange { last, ..tasks };
                self.known(&tasks).map(|()| Answer::Canceled { n_tasks: self.cancel(&tasks, at) })
            }
            Request::Explain { task } => {
                self.known(&task.alone()).and_then(|()| self.explain(task.number, at.now))
            }
            Request::Stop { now } => {
                self.stop(now, at);
                let n_running = super::rules::count(self.running.len());
                Ok(Answer::Stopping { n_running })
            }
        };
        let answer = answer.unwrap_or_else(|sentence| Answer::Refused { sentence });
        self.answer(asker, answer, at);
    }

    fn take_submission(
        &mut self,
        submission: &task_api::Submission,
        at: &mut At<'_>,
    ) -> Result<Answer, String> {
        submission.check().map_err(|error| error.to_string())?;
        if self.stopping.is_some() {
            return Err(format!(
                "`{}` is being stopped: submit to another node",
                self.options.name
            ));
        }
        if !self.book.has_room(submission.n_tasks()) {
            let n_open = self.book.n_open();
            return Err(format!("{n_open} tasks are still unfinished; wait until some have ended"));
        }
        Ok(Answer::Submitted { tasks: self.submit(submission, at) })
    }

    /// Checks whether these tasks have been submitted here.
    fn known(&self, tasks: &TaskRange) -> Result<(), String> {
        let home = &self.options.name;
        if *home != tasks.home {
            return Err(format!(
                "`{tasks}` was not submitted to `{home}`; ask the node it was submitted to"
            ));
        }
        if tasks.first == 0 || self.book.next_number() <= tasks.last {
            return Err(format!("`{tasks}` was not submitted: `sintonia tasks` lists what was"));
        }
        Ok(())
    }

    fn tasks(&self, filter: &TaskFilter, after: u64, n_max: usize) -> Answer {
        let n_max = n_max.clamp(1, N_TASKS_MAX);
        let last = filter.tasks.as_ref().map_or(u64::MAX, |tasks| tasks.last);
        let first =
            filter.tasks.as_ref().map_or(1, |tasks| tasks.first).max(after.saturating_add(1));
        let mut tasks = Vec::<TaskStatus>::new();
        let is_all =
            matches!(filter.state, None | Some(TaskState::Ended)) && filter.title.is_none();
        let past =
            (after == 0 && is_all).then(|| self.book.archive().summary(first, last, N_TASKS_MAX));
        let past = past.filter(|past| 0 < past.n_tasks);
        let mut looked_at = None;
        for (n_looked_at, (number, task)) in self.book.tasks_from(first).enumerate() {
            if last < number {
                break;
            }
            if n_max <= tasks.len() || N_LOOKED_AT_MAX <= n_looked_at {
                return Answer::Tasks { tasks, next: looked_at, past };
            }
            looked_at = Some(number);
            let state_fits = filter.state.is_none_or(|state| state == task.state());
            let title = filter.title.as_deref();
            if state_fits && title.is_none_or(|title| title == task.work().title()) {
                tasks.push(self.task_status(number, task));
            }
        }
        Answer::Tasks { tasks, next: None, past }
    }

    fn result(&self, number: u64) -> Answer {
        let task = self.book.task(number);
        let tasks = match task {
            Some(task) => self.ended_task(number, task, true),
            None => self.ended_long_ago(number),
        };
        Answer::Ended { tasks: tasks.into_iter().collect(), n_left: 0 }
    }
}

/// Items by number.
pub(super) type ByNumber<T> = BTreeMap<u64, T>;
