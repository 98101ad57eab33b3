//! Rules by which nodes with room fetch tasks.
//!
//! A node with room pulls from one node at a time, as many tasks as it has room for; tasks are bound to a node when
//! there is room for them, never earlier. The rules differ in how the node learns where to pull from, one file for
//! each.
//!
//! # Invariants
//! - At most one pull is open at a time, and it ends at its time limit at the latest.

use crate::action::TimerKind;
use crate::offers::Offers;
use crate::operation::OPERATION_MS;
use crate::power_of_two::Probes;
use crate::regulars::Regulars;
use crate::rule::Rule;
use crate::standing::{N_NAMED_MAX, UnderWay, Why};
use crate::stealing::Search;
use crate::subscription::Subscribers;
use crate::turn::{Node, Turn};
use crate::{LoadState, Message, Moment, NodeId, NodeLoad};

/// State of a node that fetches tasks and lets other nodes fetch its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulling {
    subscribers: Subscribers,
    regulars: Regulars,
    probes: Probes,
    offers: Offers,
    search: Search,
    open: Option<Pull>,
    /// Number of the timer that ends a pause.
    resume: u32,
    resumes_at: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Pull {
    number: u32,
    from: NodeId,
    n_tasks_max: u16,
    began: Moment,
    /// True if its tasks arrived before its grant.
    is_here: bool,
}

/// Grant as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) operation: u32,
    pub(crate) n_tasks: u16,
    pub(crate) n_left: u32,
}

impl Pulling {
    pub(crate) fn on_peers(&mut self, turn: &mut Turn<'_>) {
        let members = turn.node.circle.members();
        self.subscribers.retain(|node| members.position(node).is_some());
        self.offers.retain(|node| members.position(node).is_some());
        self.go_on(turn);
    }

    pub(crate) fn on_measurement(&mut self, turn: &mut Turn<'_>, load: NodeLoad) {
        if turn.node.load.n_queued < load.n_queued {
            self.regulars.queued(turn.now);
            self.subscribers.release();
        }
        if turn.node.measure(load) && turn.node.state == LoadState::Receiver {
            self.search.begin_anew();
        }
        self.go_on(turn);
    }

    pub(crate) fn on_timer(&mut self, turn: &mut Turn<'_>, kind: TimerKind, number: u32) {
        match (kind, turn.node.policy.rule) {
            (TimerKind::Wave, Rule::Subscription) => self.subscribers.on_wave(turn, number),
            (TimerKind::Wave, Rule::PowerOfTwo { n_probes }) => {
                self.probes.on_wave(turn, number, n_probes);
            }
            (TimerKind::Pull, _) => match self.open {
                Some(pull) if pull.number == number => self.end_unanswered(turn, pull),
                None if self.resume == number => self.pull(turn),
                _ => {}
            },
            _ => {}
        }
    }

    pub(crate) fn on_subscribe(&mut self, turn: &mut Turn<'_>, from: NodeId, n_queued: u32) {
        if turn.node.policy.rule == Rule::Subscription {
            let gone = self.offers.set(from, n_queued);
            leave(turn, gone);
            self.pull(turn);
        }
    }

    pub(crate) fn on_probe(&mut self, turn: &mut Turn<'_>, from: NodeId) {
        if matches!(turn.node.policy.rule, Rule::PowerOfTwo { .. }) {
            let gone = self.offers.push(from, 1);
            leave(turn, gone);
            self.pull(turn);
        }
    }

    /// Grants waiting tasks, or answers that there are none.
    pub(crate) fn on_pull(&mut self, turn: &mut Turn<'_>, from: NodeId, pull: (u32, u16)) {
        let (operation, n_tasks_max) = pull;
        if n_tasks_max == 0 {
            return self.subscribers.leave(turn.now, from);
        }
        let n_queued = turn.node.load.n_queued;
        let n_tasks_max = match turn.node.policy.rule {
            Rule::Stealing => n_queued.div_ceil(2).min(n_tasks_max.into()),
            _ => n_tasks_max.into(),
        };
        let n_kept = self.n_kept_from(turn, from);
        let n_given = n_queued.saturating_sub(n_kept).min(n_tasks_max);
        if let (1.., Ok(n_tasks)) = (n_given, u16::try_from(n_given)) {
            turn.send(from, Message::Grant { operation, n_tasks, n_left: n_queued - n_given });
            turn.give(from, n_given);
            turn.ended(Why::Moved { n_tasks: n_given });
        } else {
            turn.send(from, Message::Nothing { operation });
        }
        match turn.node.policy.rule {
            Rule::Subscription if n_given < n_tasks_max => {
                self.regulars.forget(from);
                if n_given < n_queued {
                    self.subscribers.hold(turn.now, from);
                    self.subscribers.tell(turn);
                } else {
                    self.subscribers.forget(from);
                }
            }
            Rule::Subscription => {
                self.regulars.came(turn.now, from, turn.node.circle.members());
                self.subscribers.has_come(turn.now, from);
            }
            Rule::PowerOfTwo { .. } => self.probes.has_come(),
            _ => {}
        }
    }

    /// Number of waiting tasks that `node` must leave to faster nodes.
    fn n_kept_from(&self, turn: &Turn<'_>, node: NodeId) -> u32 {
        let members = turn.node.circle.members();
        let speed = members.peer(node).map_or(1.0, |peer| peer.speed);
        self.regulars.n_kept_from(turn.now, speed, members)
    }

    /// Number of waiting tasks that the node itself must leave to faster nodes.
    pub(crate) fn n_kept(&self, node: &Node, now: Moment) -> u32 {
        self.regulars.n_kept_from(now, node.load.speed, node.circle.members())
    }

    pub(crate) fn on_grant(&mut self, turn: &mut Turn<'_>, from: NodeId, grant: Grant) {
        let Grant { operation, n_tasks, n_left } = grant;
        let pull = self.take(from, operation);
        if pull.is_none_or(|pull| !pull.is_here) {
            turn.node.promises.promise(turn.now, from, operation, n_tasks.into());
        }
        let Some(pull) = pull else { return };
        turn.node.counts.accepted += 1;
        turn.ended(Why::Moved { n_tasks: n_tasks.into() });
        self.search.found(from, n_left);
        if turn.node.policy.rule == Rule::Subscription {
            if n_tasks < pull.n_tasks_max {
                self.offers.remove(from);
            } else {
                let gone = self.offers.set(from, n_left);
                leave(turn, gone);
            }
        }
        self.pull(turn);
    }

    /// Notes tasks that arrived before their grant.
    pub(crate) fn on_early(&mut self, from: NodeId) {
        for pull in self.open.iter_mut().filter(|pull| pull.from == from) {
            pull.is_here = true;
        }
    }

    pub(crate) fn on_nothing(&mut self, turn: &mut Turn<'_>, from: NodeId, operation: u32) {
        if self.take(from, operation).is_some() {
            turn.node.counts.not_accepted += 1;
            turn.ended(Why::NothingThere);
            if turn.node.policy.rule == Rule::Subscription {
                self.offers.remove(from);
            }
            self.rest(turn);
        }
    }

    pub(crate) fn on_lost(&mut self, peer: NodeId) {
        self.subscribers.forget(peer);
        self.regulars.forget(peer);
        self.offers.remove(peer);
    }

    /// Announces waiting tasks again, since a node that was silent may have missed the announcement.
    pub(crate) fn on_reached(&mut self, turn: &mut Turn<'_>, peer: NodeId) {
        self.subscribers.forget(peer);
        self.go_on(turn);
    }

    /// Announces tasks that did not arrive at `from` again: a node that did not take them fetches them when it has
    /// room.
    pub(crate) fn on_came_back(&mut self, turn: &mut Turn<'_>, from: NodeId) {
        self.subscribers.forget(from);
        self.go_on(turn);
    }

    pub(crate) fn known(&self) -> (Vec<NodeId>, usize) {
        (self.subscribers.nodes().take(N_NAMED_MAX).collect(), self.subscribers.len())
    }

    pub(crate) fn offers(&self) -> (Vec<NodeId>, usize) {
        (self.offers.nodes().take(N_NAMED_MAX).collect(), self.offers.len())
    }

    pub(crate) fn under_way(&self) -> Option<UnderWay> {
        self.open.map(|pull| UnderWay { since: pull.began, n_asked: 1, n_open: 1 })
    }

    pub(crate) fn go_on(&mut self, turn: &mut Turn<'_>) {
        match turn.node.policy.rule {
            Rule::Subscription => self.subscribers.tell(turn),
            Rule::PowerOfTwo { n_probes } => self.probes.tell(turn, n_probes),
            _ => {}
        }
        self.pull(turn);
    }

    fn pull(&mut self, turn: &mut Turn<'_>) {
        if self.open.is_some() {
            return;
        }
        let n_room = turn.node.n_room(turn.now);
        if n_room == 0 {
            // Promised tasks may fail to come: then there is room without any further event, so a timer is needed.
            if let (LoadState::Receiver, Some(at)) =
                (turn.node.state, turn.node.promises.next_end())
            {
                self.resume_at(turn, at);
            }
            return;
        }
        let from = match turn.node.policy.rule {
            Rule::Subscription => self.offers.best(&mut turn.node.random),
            Rule::PowerOfTwo { .. } => self.offers.pop(),
            _ => self.search.victim(turn),
        };
        let Some(from) = from else { return };
        let n_tasks_max = match turn.node.policy.rule {
            Rule::PowerOfTwo { .. } => 1,
            _ => u16::try_from(n_room).unwrap_or(u16::MAX),
        };
        let (number, began) = (turn.node.next_operation(), turn.now);
        turn.send(from, Message::Pull { operation: number, n_tasks_max });
        turn.timer(TimerKind::Pull, number, began.plus_ms(OPERATION_MS));
        self.open = Some(Pull { number, from, n_tasks_max, began, is_here: false });
    }

    fn take(&mut self, from: NodeId, operation: u32) -> Option<Pull> {
        self.open.take_if(|pull| pull.from == from && pull.number == operation)
    }

    fn end_unanswered(&mut self, turn: &mut Turn<'_>, pull: Pull) {
        self.open = None;
        turn.node.counts.not_accepted += 1;
        turn.ended(Why::NoAnswer { n_asked: 1 });
        self.offers.silent(pull.from);
        self.rest(turn);
    }

    /// After an empty answer or none: tries the next offer; stealing pauses first.
    fn rest(&mut self, turn: &mut Turn<'_>) {
        if turn.node.policy.rule == Rule::Stealing {
            let at = self.search.rest(turn.now);
            self.resume_at(turn, at);
        } else {
            self.pull(turn);
        }
    }

    fn resume_at(&mut self, turn: &mut Turn<'_>, at: Moment) {
        if self.resumes_at <= turn.now || at < self.resumes_at {
            (self.resume, self.resumes_at) = (turn.node.next_operation(), at);
            turn.timer(TimerKind::Pull, self.resume, at);
        }
    }
}

/// Tells the node of a dropped offer so, by a pull of no tasks.
fn leave(turn: &mut Turn<'_>, gone: Option<NodeId>) {
    if let Some(gone) = gone {
        turn.node.counts.dropped += 1;
        turn.send(gone, Message::Pull { operation: 0, n_tasks_max: 0 });
    }
}
