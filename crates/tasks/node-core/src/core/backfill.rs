//! Which of the waiting tasks of this node is started where the next one in order does not fit.
//!
//! Tasks that fit may pass one that does not, so that the node has something to do. When as many cores have been given to
//! such tasks as the node has, the node keeps what gets free for the one that was passed: only tasks that are known to
//! end before it could start still pass (EASY backfilling; Lifka, 1995). So no task is passed for ever.

use balancing_policies::Moment;
use task_api::{Demand, Resources, TaskState};

use super::Roles;
use super::node::Node;
use super::turn::Turn;
use crate::book::waits_for_room;

/// The task that was passed, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backfill {
    passed: Option<Passed>,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    number: u64,
    /// Cores of the tasks that have passed it.
    n_cores: u64,
}

impl Backfill {
    /// Returns whether the node keeps room for a task that was passed too often.
    pub(super) fn keeps_room(&self, node: &Node) -> bool {
        let n_cores = u64::from(node.processes.pool.capacity().cpus.max(1));
        let waits = |number| waits_for_room(node.book.tasks(), number) || is_offered(node, number);
        self.passed.is_some_and(|passed| n_cores <= passed.n_cores && waits(passed.number))
    }

    /// Number of the task to start, which fits.
    pub(super) fn next(&mut self, node: &mut Node, n_slots: u32, now: Moment) -> Option<u64> {
        let pool = &node.processes.pool;
        let Some(head) = node.book.next_queued(|demand| pool.could_fit(demand)) else {
            self.passed = None;
            return None;
        };
        // The order may change while a task waits for room: it stays the one that was passed until it starts, somewhere.
        let first = self.still_passed(node, head).unwrap_or(head);
        let pool = &node.processes.pool;
        if pool.fits(demand_of(node, first), n_slots) {
            self.passed = self.passed.filter(|passed| passed.number != first);
            return Some(first);
        }
        if self.passed.is_none_or(|it| it.number != first && !is_offered(node, it.number)) {
            self.passed = Some(Passed { number: first, n_cores: 0 });
        }
        let next = node.book.next_queued(|demand| pool.fits(demand, n_slots))?;
        if self.keeps_room(node) && !is_before(node, next, first) {
            let ends = now.plus_ms(lasts_ms(node, next)?);
            return (ends <= room_at(node, demand_of(node, first))?).then_some(next);
        }
        let n_cores = demand_of(node, next).map_or(1, |demand| demand.cpus_min().max(1).into());
        // A task that is offered to another node may come back, and was passed all the same.
        self.passed.iter_mut().for_each(|passed| passed.n_cores += n_cores);
        Some(next)
    }

    /// The task that others have passed, if it still waits, could be started, and has no lower priority than the next one.
    fn still_passed(&self, node: &Node, head: u64) -> Option<u64> {
        let number = self.passed.filter(|passed| 0 < passed.n_cores)?.number;
        let could_start = waits_for_room(node.book.tasks(), number)
            && node.processes.pool.could_fit(demand_of(node, number));
        (could_start && !is_before(node, head, number)).then_some(number)
    }
}

/// Returns whether a task is offered to another node, which has not answered.
fn is_offered(node: &Node, number: u64) -> bool {
    node.book.task(number).is_some_and(|task| task.state == TaskState::Offered)
}

/// Returns whether a task has a higher priority than another one.
fn is_before(node: &Node, number: u64, other: u64) -> bool {
    let priority = |number| node.book.task(number).map_or(0, |task| task.work.priority());
    priority(other) < priority(number)
}

impl Roles {
    /// Starts tasks while cores are free, those of other nodes first: they came because there was room. Orders
    /// short tasks ahead.
    pub(super) fn fill(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let processes = &turn.node.processes;
        if !processes.ready || self.stopping.is_some() || processes.are_full(now) {
            return;
        }
        let n_slots = self.balance.n_slots().max(1);
        let n_kept = u64::from(self.balance.n_kept(now));
        let may_start = |turn: &Turn<'_>| n_kept < turn.node.book.tasks().n_queued();
        let is_kept = self.rooms.wanted().is_some();
        while !is_kept && self.holding.start(n_slots, &mut self.leading, turn)
            || may_start(turn) && self.start_own(n_slots, turn)
        {}
        // Tasks that ask for more than a core are started only when they have it.
        let is_kept = is_kept || self.backfill.keeps_room(turn.node);
        while !is_kept
            && turn.node.processes.pool.n_special() == 0
            && (turn.node.processes.pool.used().cpus as usize) < turn.n_orders(n_slots as usize)
            && may_start(turn)
            && turn.start_ahead(n_slots)
        {}
    }

    /// Starts an own task, if there is room for one.
    fn start_own(&mut self, n_slots: u32, turn: &mut Turn<'_>) -> bool {
        let now = turn.now.moment;
        let next = match self.rooms.wanted() {
            Some(wanted) => next_before(turn.node, wanted, (n_slots, now)),
            None => self.backfill.next(turn.node, n_slots, now),
        };
        next.is_some_and(|number| turn.start(number, n_slots))
    }
}

/// Number of the next task that fits, and ends before a task that asks for `wanted` can have room.
fn next_before(node: &mut Node, wanted: &Demand, (n_slots, now): (u32, Moment)) -> Option<u64> {
    let pool = &node.processes.pool;
    let next = node.book.next_queued(|demand| pool.fits(demand, n_slots))?;
    let ends = now.plus_ms(lasts_ms(node, next)?);
    (ends <= room_at(node, Some(wanted))?).then_some(next)
}

fn demand_of(node: &Node, number: u64) -> Option<&Demand> {
    node.book.task(number)?.work.demand.as_deref()
}

/// Longest time that an own task is expected to run, in ms.
fn lasts_ms(node: &Node, number: u64) -> Option<u64> {
    node.book.tasks().lasts_ms(&node.book.task(number)?.work)
}

/// Moment at which there will be room for this, if that is known.
fn room_at(node: &Node, demand: Option<&Demand>) -> Option<Moment> {
    let mut back = Resources::nothing();
    for (ends, allocation) in node.processes.ends() {
        back.add(&allocation.resources());
        if node.processes.pool.would_fit(demand, &back) {
            return ends;
        }
    }
    None
}
