//! Common parts of all rules: the state of the node, and the call in which one event is handled.
//!
//! # Invariants
//! - Nothing goes to the node itself or to a node that is no member.
//! - No more tasks are given than wait.

use crate::action::TimerKind;
use crate::domain::DomainMembers;
use crate::snapshot::{OperationEnd, OperationOutcome};
use crate::state::RelativeLoad;
use crate::{
    DriverAction, LoadState, Moment, NodeId, NodeLoad, Policy, PolicyCounters, PolicyMessage, Timer,
};
use random::Random;

/// State of a node, except for what its rule remembers.
#[derive(Clone, Debug)]
pub(crate) struct NodeContext {
    pub(crate) me: NodeId,
    pub(crate) policy: Policy,
    pub(crate) domain_members: DomainMembers,
    pub(crate) random: Random,
    /// Last measured load, less the tasks given away since.
    pub(crate) load: NodeLoad,
    pub(crate) state: LoadState,
    /// State before the last change.
    pub(crate) previous: LoadState,
    pub(crate) promises: Promises,
    pub(crate) counts: PolicyCounters,
    pub(crate) last: Option<OperationEnd>,
    n_operations: u32,
}

impl NodeContext {
    pub(crate) fn new(me: NodeId, policy: Policy, seed: u64) -> Self {
        Self {
            me,
            policy,
            domain_members: DomainMembers::new(policy.domain, me, std::sync::Arc::default()),
            random: Random::stream(seed, me.0),
            load: NodeLoad::idle(0, 1.0),
            state: LoadState::default(),
            previous: LoadState::default(),
            promises: Promises::default(),
            counts: PolicyCounters::default(),
            last: None,
            n_operations: 0,
        }
    }

    fn measured(&self) -> RelativeLoad {
        RelativeLoad::new(self.load, self.domain_members.members.mean_speed())
    }

    pub(crate) fn index(&self) -> f64 {
        self.measured().index()
    }

    /// Running tasks per 1000 cores of mean speed.
    #[expect(clippy::cast_possible_truncation, reason = "floats are cut off at the bounds of u32")]
    #[expect(clippy::cast_sign_loss, reason = "an index is not negative")]
    pub(crate) fn load_permille(&self) -> u32 {
        (1000.0 / self.index()) as u32
    }

    /// Number of tasks that the node runs at once.
    ///
    /// The source starts tasks until the node is a sender, so that tasks share cores. Under the pulling rules each
    /// task has a core.
    pub(crate) fn n_slots(&self) -> u32 {
        if self.policy.rule.is_receiver_initiated() {
            self.load.n_cores.max(1)
        } else {
            self.measured().n_slots()
        }
    }

    /// Number of other nodes' tasks that the node would take now.
    pub(crate) fn n_room(&mut self, now: Moment) -> u32 {
        if self.state != LoadState::Receiver || self.promises.is_full() {
            return 0;
        }
        let n_max = if self.policy.rule.is_receiver_initiated() {
            self.load.n_cores.saturating_sub(self.load.n_running)
        } else {
            self.measured().n_tasks_max()
        };
        n_max.saturating_sub(self.load.n_queued).saturating_sub(self.promises.n_tasks(now))
    }

    /// Records a measurement; returns whether the node's state has changed.
    pub(crate) fn measure(&mut self, load: NodeLoad) -> bool {
        self.load = load;
        let state = if self.policy.rule.is_receiver_initiated() {
            if load.n_running.saturating_add(load.n_queued) < load.n_cores {
                LoadState::Receiver
            } else if 0 < load.n_queued {
                LoadState::Sender
            } else {
                LoadState::Neutral
            }
        } else {
            self.state.after(self.measured())
        };
        let has_changed = state != self.state;
        if has_changed {
            (self.previous, self.state) = (self.state, state);
        }
        has_changed
    }

    pub(crate) fn next_operation(&mut self) -> u32 {
        self.n_operations = self.n_operations.wrapping_add(1);
        self.n_operations
    }
}

/// Call of the driver.
pub(crate) struct CallContext<'a> {
    pub(crate) node: &'a mut NodeContext,
    pub(crate) now: Moment,
    pub(crate) out: &'a mut Vec<DriverAction>,
}

impl CallContext<'_> {
    /// Sends a message, unless its receiver is the node itself or no member.
    pub(crate) fn send(&mut self, to: NodeId, message: PolicyMessage) {
        let me = self.node.me;
        if to != me && self.node.domain_members.members.position(to).is_some() {
            self.node.counts.all += 1;
            self.node.counts.messages += u64::from(message.is_information(me));
            self.out.push(DriverAction::Send { to, message });
        }
    }

    /// Sends a message to all nodes of the domain, newly drawn if it is random; returns how many.
    pub(crate) fn broadcast(&mut self, message: PolicyMessage) -> u32 {
        let mut n_told = 0;
        let NodeContext { domain_members, random, .. } = self.node;
        domain_members.each(random, |to| {
            self.out.push(DriverAction::Send { to, message });
            n_told += 1;
        });
        self.node.counts.messages += u64::from(n_told);
        self.node.counts.all += u64::from(n_told);
        n_told
    }

    pub(crate) fn timer(&mut self, kind: TimerKind, number: u32, at: Moment) {
        self.out.push(DriverAction::Timer { timer: Timer { kind, number }, at });
    }

    /// Gives tasks away, no more than wait; returns how many.
    pub(crate) fn give(&mut self, to: NodeId, n_tasks_max: u32) -> u32 {
        let n_tasks = n_tasks_max.min(self.node.load.n_queued);
        if 0 < n_tasks {
            self.node.load.n_queued -= n_tasks;
            self.node.counts.moved += u64::from(n_tasks);
            self.out.push(DriverAction::Move { to, n_tasks });
        }
        n_tasks
    }

    pub(crate) fn ended(&mut self, why: OperationOutcome) {
        self.node.last = Some(OperationEnd { at: self.now, why });
    }
}

const N_PROMISES_MAX: usize = 256;
/// Time after which promised tasks are no longer expected, in ms.
const PROMISE_MS: u64 = 2_000;

/// Room that a node has promised to tasks that are on their way.
///
/// A promise ends when the tasks come, when it is released, or at its time limit. With [`N_PROMISES_MAX`] open ones, a
/// node promises nothing more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    open: Vec<Promise>,
}

#[derive(Clone, Copy, Debug)]
struct Promise {
    to: NodeId,
    operation: u32,
    n_tasks: u32,
    until: Moment,
}

impl Promises {
    /// Number of tasks that may still arrive.
    pub(crate) fn n_tasks(&mut self, now: Moment) -> u32 {
        self.open.retain(|promise| now < promise.until);
        self.open.iter().fold(0, |sum, promise| promise.n_tasks.saturating_add(sum))
    }

    pub(crate) fn is_full(&self) -> bool {
        N_PROMISES_MAX <= self.open.len()
    }

    /// Records a promise; a doubled message makes only one.
    pub(crate) fn promise(&mut self, now: Moment, to: NodeId, operation: u32, n_tasks: u32) {
        self.release(to, operation);
        if !self.is_full() {
            let until = now.plus_ms(PROMISE_MS);
            self.open.push(Promise { to, operation, n_tasks, until });
        }
    }

    pub(crate) fn release(&mut self, to: NodeId, operation: u32) {
        self.open.retain(|promise| promise.to != to || promise.operation != operation);
    }

    /// Ends the oldest promise to `to`, since its tasks have arrived; returns whether there was one.
    pub(crate) fn keep(&mut self, to: NodeId) -> bool {
        let oldest = self.open.iter().position(|promise| promise.to == to);
        oldest.map(|at| self.open.remove(at)).is_some()
    }

    /// Moment at which the next promise expires.
    pub(crate) fn next_end(&self) -> Option<Moment> {
        self.open.iter().map(|promise| promise.until).min()
    }

    /// Ends all promises to a node from which no tasks can come any more.
    pub(crate) fn forget(&mut self, node: NodeId) {
        self.open.retain(|promise| promise.to != node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_ends_when_tasks_come_or_its_time_is_over() {
        let (mut promises, now) = (Promises::default(), Moment(0));
        promises.promise(now, NodeId(1), 7, 2);
        promises.promise(now, NodeId(1), 7, 2);
        promises.promise(now, NodeId(2), 7, 3);
        assert_eq!(promises.n_tasks(now), 5);
        assert!(promises.keep(NodeId(1)) && !promises.keep(NodeId(1)));
        assert_eq!(promises.n_tasks(now), 3);
        promises.release(NodeId(2), 6);
        assert_eq!(promises.n_tasks(now.plus_ms(1_999)), 3);
        assert_eq!(promises.next_end(), Some(now.plus_ms(2_000)));
        assert_eq!(promises.n_tasks(now.plus_ms(2_000)), 0);
    }

    #[test]
    fn promises_have_a_bound() {
        let (mut promises, now) = (Promises::default(), Moment(0));
        (0..1000).for_each(|node| promises.promise(now, NodeId(node), 0, 1));
        assert_eq!(promises.n_tasks(now), 256);
        assert!(promises.is_full());
    }
}
