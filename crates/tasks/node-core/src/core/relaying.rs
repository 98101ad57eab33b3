//! Relays clients' questions to the node that has to answer them.
//!
//! A client may wait for tasks of another home for days, and any message between the nodes may be lost meanwhile:
//! the question is repeated now and then, and when the other node is reachable again, even if its daemon has
//! restarted. The home repeats answers that may not have arrived, so a client may be told of a task twice.
//!
//! # Invariants
//! - A client gets one answer each time that it is ready for one.
//! - Each question ends: answered, refused, or when the other node is unreachable for too long.

use super::turn::{Asker, Turn};
use super::waits::NOTHING_IS_WAITED_FOR;
use crate::interface::{ClientId, NodeId, PeerMessage};
use balancing_policies::Moment;
use std::collections::{BTreeMap, VecDeque};
use task_api::{ClientRequest, DaemonAnswer, Presence};

/// Longest time that an answer may take, in ms.
const ANSWER_MS: u64 = 10_000;

/// Questions that were passed on.
#[derive(Debug, Default)]
pub(super) struct Relaying {
    open: BTreeMap<u64, Relay>,
    n_asked: u64,
}

#[derive(Debug)]
struct Relay {
    client: ClientId,
    to: NodeId,
    /// Incarnation of the daemon that was asked: another one does not know the question.
    incarnation: u64,
    since: Moment,
    /// True if the question submits tasks: asked twice, it would submit them twice.
    submits: bool,
    /// State of a question whose answer may take as long as tasks do.
    waiting: Option<Waiting>,
}

impl Relaying {
    fn of_client(&self, client: ClientId) -> Option<(u64, NodeId)> {
        let relay = self.open.iter().find(|(_, relay)| relay.client == client);
        relay.map(|(ask, relay)| (*ask, relay.to))
    }

    /// Asks the home of the request's tasks.
    pub(super) fn ask(&mut self, client: ClientId, request: ClientRequest, turn: &mut Turn<'_>) {
        let home = request.home().unwrap_or("");
        let member = turn.node.peers.by_name(home);
        let heard = member.filter(|member| turn.node.peers.is_heard(member.id));
        let Some((to, incarnation)) = heard.map(|member| (member.id, member.incarnation)) else {
            let sentence = match member {
                Some(member) => format!("`{home}` is {}: ask again when it is up", member.presence),
                None => format!("no node `{home}` is known: `sintonia nodes` lists those that are"),
            };
            turn.refuse(Asker::Client(client), sentence);
            return;
        };
        let ask = turn.node.options.first_number().wrapping_add(self.n_asked);
        self.n_asked += 1;
        let since = turn.now.moment;
        let takes_long = matches!(request, ClientRequest::Wait { .. });
        let waiting = takes_long.then(|| Waiting::new(request.clone(), since));
        let submits = matches!(request, ClientRequest::Rerun { .. });
        let relay = Relay { client, to, incarnation, since, submits, waiting };
        self.open.insert(ask, relay);
        turn.out.send(to, PeerMessage::Ask { ask, request });
    }

    /// Passes on that the client is ready, if another node answers it; returns whether one does.
    pub(super) fn more(&mut self, client: ClientId, turn: &mut Turn<'_>) -> bool {
        let Some((ask, to)) = self.of_client(client) else { return false };
        let relay = self.open.get_mut(&ask);
        let waiting = relay.and_then(|relay| relay.waiting.as_mut());
        match waiting.and_then(|waiting| waiting.client_is_ready(turn.now.moment)) {
            Some(early) => self.pass_answer(ask, client, early, turn),
            None => turn.out.send(to, PeerMessage::Ask { ask, request: ClientRequest::More }),
        }
        true
    }

    pub(super) fn on_answer(
        &mut self,
        from: NodeId,
        ask: u64,
        answer: DaemonAnswer,
        turn: &mut Turn<'_>,
    ) {
        let relay = self.open.get_mut(&ask).filter(|relay| relay.to == from);
        let Some(relay) = relay else {
            // The other node does not know yet that no client waits any more.
            turn.out.send(from, PeerMessage::AskGone(ask));
            return;
        };
        let client = relay.client;
        let passed = match &mut relay.waiting {
            None => Some(answer),
            Some(waiting) if waiting.is_forgotten(&answer) => {
                let request = waiting.ask_again(turn.now.moment);
                turn.out.send(from, PeerMessage::Ask { ask, request });
                None
            }
            Some(_) if is_late(&answer) => None,
            Some(waiting) => waiting.answered(answer, turn.now.moment),
        };
        if let Some(answer) = passed {
            self.pass_answer(ask, client, answer, turn);
        }
    }

    fn pass_answer(
        &mut self,
        ask: u64,
        client: ClientId,
        answer: DaemonAnswer,
        turn: &mut Turn<'_>,
    ) {
        if answer.is_last() {
            self.open.remove(&ask);
        }
        turn.out.answer(client, answer);
    }

    pub(super) fn gone(&mut self, client: ClientId, turn: &mut Turn<'_>) {
        while let Some((ask, to)) = self.of_client(client) {
            self.open.remove(&ask);
            turn.out.send(to, PeerMessage::AskGone(ask));
        }
    }

    /// Refuses questions to nodes that cannot be reached any more; a client that waits for tasks is kept.
    pub(super) fn on_members(&mut self, turn: &mut Turn<'_>) {
        let (now, peers) = (turn.now.moment, &turn.node.peers);
        let mut lost = Vec::new();
        for (&ask, relay) in &mut self.open {
            let member = peers.get(relay.to).filter(|member| member.presence != Presence::Left);
            let incarnation = member.map(|member| member.incarnation);
            let same = peers.is_heard(relay.to) && incarnation == Some(relay.incarnation);
            match (&mut relay.waiting, incarnation) {
                (Some(waiting), Some(_)) if !peers.is_heard(relay.to) => waiting.is_silent(now),
                (Some(waiting), Some(_)) if same && !waiting.was_silent() => {}
                (Some(waiting), Some(incarnation)) => {
                    relay.incarnation = incarnation;
                    let request = waiting.ask_again(now);
                    turn.out.send(relay.to, PeerMessage::Ask { ask, request });
                }
                (None, Some(_)) if same => {}
                _ => lost.push(ask),
            }
        }
        self.end(lost, "is no longer reachable", turn);
    }

    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let (mut late, mut lost) = (Vec::new(), Vec::new());
        for (&ask, relay) in &mut self.open {
            match &mut relay.waiting {
                None if ANSWER_MS <= now.ms_since(relay.since) => late.push(ask),
                Some(waiting) if waiting.is_lost(now) => lost.push(ask),
                Some(waiting) if waiting.is_to_be_repeated(now) => {
                    let request = waiting.ask_again(now);
                    turn.out.send(relay.to, PeerMessage::Ask { ask, request });
                }
                _ => {}
            }
        }
        self.end(late, "did not answer in time", turn);
        self.end(lost, "is no longer reachable", turn);
    }

    fn end(&mut self, asks: Vec<u64>, why: &str, turn: &mut Turn<'_>) {
        for ask in asks {
            if let Some(relay) = self.open.remove(&ask) {
                let node = turn.node.peers.name_of(relay.to);
                let remedy = match relay.submits {
                    true => format!(
                        "see whether it submitted the tasks before you try again: `sintonia tasks --home {node}`"
                    ),
                    false => "try again".to_owned(),
                };
                let sentence = format!("`{node}` {why}; {remedy}");
                turn.refuse(Asker::Client(relay.client), sentence);
            }
        }
    }
}

/// Returns whether this answers a `More` from before the question was asked again: the answer to the question is
/// still to come.
fn is_late(answer: &DaemonAnswer) -> bool {
    matches!(answer, DaemonAnswer::Refused { sentence } if sentence == NOTHING_IS_WAITED_FOR)
}

/// Time between two repetitions of the question while no answer arrives, in ms.
const REPEAT_MS: u64 = 5_000;
/// Longest time that the other node may be unreachable, in ms.
const SILENT_MS: u64 = 30_000;

#[derive(Debug)]
struct Waiting {
    request: ClientRequest,
    /// Moment of the last message in either direction.
    since: Moment,
    /// True if the client has taken the last answer.
    is_ready: bool,
    /// True if the last message was a `More`, and not the question itself.
    said_more: bool,
    /// Answers to a question that was repeated while the first answer was on its way: at most one for each
    /// repetition.
    early: VecDeque<DaemonAnswer>,
    silent: Option<Moment>,
}

impl Waiting {
    fn new(request: ClientRequest, now: Moment) -> Self {
        let early = VecDeque::new();
        Self { request, since: now, is_ready: true, said_more: false, early, silent: None }
    }

    /// Notes that the client has taken the last answer; returns its next one if that has already arrived.
    fn client_is_ready(&mut self, now: Moment) -> Option<DaemonAnswer> {
        let early = self.early.pop_front();
        if early.is_none() {
            (self.is_ready, self.said_more, self.since) = (true, true, now);
        }
        early
    }

    /// Handles an answer; returns it if the client is ready for it.
    fn answered(&mut self, answer: DaemonAnswer, now: Moment) -> Option<DaemonAnswer> {
        self.since = now;
        if std::mem::take(&mut self.is_ready) {
            return Some(answer);
        }
        self.early.push_back(answer);
        None
    }

    /// Returns whether the other node does not know the question that it had been asked.
    fn is_forgotten(&self, answer: &DaemonAnswer) -> bool {
        self.said_more && matches!(answer, DaemonAnswer::Refused { .. })
    }

    /// The question, to be asked again.
    fn ask_again(&mut self, now: Moment) -> ClientRequest {
        (self.since, self.said_more, self.silent) = (now, false, None);
        self.request.clone()
    }

    fn is_to_be_repeated(&self, now: Moment) -> bool {
        self.is_ready && self.silent.is_none() && REPEAT_MS <= now.ms_since(self.since)
    }

    /// Notes that the other node cannot be reached now.
    fn is_silent(&mut self, now: Moment) {
        self.silent.get_or_insert(now);
    }

    fn was_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// Returns whether the other node has been unreachable for too long.
    fn is_lost(&self, now: Moment) -> bool {
        self.silent.is_some_and(|since| SILENT_MS <= now.ms_since(since))
    }
}
