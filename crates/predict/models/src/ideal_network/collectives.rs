//! Collective operations of a run: the n-th calls of all members on a communicator belong together.

use crate::action::{CallEffect, Flow};
use crate::thread_timeline::ThreadTimeline;
use std::collections::HashMap;

/// All collective operations on all communicators.
pub(super) struct Collectives {
    /// Number of operations that each member joined, by communicator and rank.
    n_joined: HashMap<(u32, u32), u64>,
    /// Number of calls of each member, ascending, by communicator.
    n_calls: HashMap<u32, Vec<u64>>,
    open: HashMap<(u32, u64), Operation>,
    /// Operations from which some member's call is missing.
    pub(super) n_incomplete: u64,
}

/// One operation that some members have not left.
#[derive(Default)]
struct Operation {
    n_joined: usize,
    n_left: usize,
    n_expected: usize,
    latest_ns: u64,
    root_ns: Option<u64>,
    waiting: Vec<usize>,
}

/// A member's part in an operation.
#[derive(Clone, Copy)]
pub(super) struct Participation {
    communicator: u32,
    nth: u64,
    waits: Waits,
    own_ns: u64,
}

/// Members that a member waits for.
#[derive(Clone, Copy)]
enum Waits {
    All,
    Root,
    Nobody,
}

impl Collectives {
    pub(super) fn of(timelines: &[ThreadTimeline]) -> Self {
        let mut calls: HashMap<(u32, u32), u64> = HashMap::new();
        for timeline in timelines {
            for step in &timeline.steps {
                if let CallEffect::Collective { communicator, .. } = step.action {
                    *calls.entry((communicator, timeline.rank)).or_default() += 1;
                }
            }
        }
        let mut n_calls: HashMap<u32, Vec<u64>> = HashMap::new();
        for ((communicator, _), n) in calls {
            n_calls.entry(communicator).or_default().push(n);
        }
        n_calls.values_mut().for_each(|n| n.sort_unstable());
        let n_incomplete = n_calls.values().filter_map(|n| Some(n.last()? - n.first()?)).sum();
        Self { n_joined: HashMap::new(), n_calls, open: HashMap::new(), n_incomplete }
    }

    /// Joins the rank's next operation on the communicator; returns the timelines that may now advance.
    pub(super) fn join(
        &mut self,
        rank: u32,
        communicator: u32,
        flow: Flow,
        at_ns: u64,
    ) -> (Participation, Vec<usize>) {
        let n_joined = self.n_joined.entry((communicator, rank)).or_default();
        let nth = *n_joined;
        *n_joined += 1;
        let n_calls = self.n_calls.get(&communicator).map_or(&[][..], Vec::as_slice);
        let operation = self.open.entry((communicator, nth)).or_insert_with(|| Operation {
            n_expected: n_calls.len() - n_calls.partition_point(|n| *n <= nth),
            ..Operation::default()
        });
        operation.n_joined += 1;
        operation.latest_ns = operation.latest_ns.max(at_ns);
        let waits = match flow {
            Flow::All => Waits::All,
            Flow::ToRoot(root) if root == rank => Waits::All,
            Flow::FromRoot(root) if root != rank => Waits::Root,
            Flow::FromRoot(_) => {
                operation.root_ns = Some(at_ns);
                Waits::Nobody
            }
            Flow::ToRoot(_) => Waits::Nobody,
        };
        let all_here = operation.n_joined == operation.n_expected;
        let woken = all_here || operation.root_ns == Some(at_ns);
        let woken = if woken { std::mem::take(&mut operation.waiting) } else { Vec::new() };
        (Participation { communicator, nth, waits, own_ns: at_ns }, woken)
    }

    /// Returns the time at which the member may leave; if that is not known yet, registers `timeline` as
    /// waiting.
    pub(super) fn release_ns(&mut self, place: Participation, timeline: usize) -> Option<u64> {
        let key = (place.communicator, place.nth);
        let operation = self.open.get_mut(&key)?;
        let all_here = operation.n_joined == operation.n_expected;
        let release_ns = match place.waits {
            Waits::Nobody => Some(place.own_ns),
            Waits::All => all_here.then_some(operation.latest_ns),
            // Without the root's call in the trace, the member leaves at its own time once all others have
            // joined.
            Waits::Root => operation.root_ns.or(all_here.then_some(place.own_ns)),
        };
        if release_ns.is_none() {
            operation.waiting.push(timeline);
            return None;
        }
        operation.n_left += 1;
        if operation.n_left == operation.n_expected {
            self.open.remove(&key);
        }
        release_ns
    }
}
