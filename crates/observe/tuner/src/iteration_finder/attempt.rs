//! Listening to the calls of some ranks, until iterations are found in them.

use super::Step;
use super::orders::{Selection, order};
use super::ranks::N_LISTENED;
use crate::period::{self, Call, Period};
use events::Rank;
use std::collections::BTreeMap;
use wire::control::WatchedCalls;

/// Calls of a rank recorded in one go.
pub(super) const N_CALLS: u32 = 4096;
/// Time in s before the first look at recorded calls; later looks come after twice the time, but not later than this.
const LOOK_S: (f64, f64) = (0.5, 4.0);
/// Longest time in s for which one attempt listens.
const LONGEST_ATTEMPT_S: f64 = 60.0;
/// Relative difference in duration below which iterations of ranks are alike.
const ALIKE: f64 = 1.25;

/// An attempt to find iterations.
#[derive(Debug)]
pub(super) struct Attempt {
    since_s: f64,
    look_s: f64,
    /// Calls heard before the last look.
    n_seen: usize,
    is_counted: Selection,
    listeners: BTreeMap<Rank, Listener>,
}

/// Calls of a thread.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) thread: u32,
    pub(super) calls: Vec<Call>,
    /// Calls that were compared with the described one.
    pub(super) n_compared: usize,
}

impl Listener {
    fn to(thread: u32) -> Self {
        Self { thread, calls: Vec::new(), n_compared: 0 }
    }

    fn is_full(&self) -> bool {
        N_CALLS as usize <= self.calls.len()
    }
}

impl Attempt {
    /// Begins to listen to threads of ranks.
    pub(super) fn new(
        now_s: f64,
        threads: BTreeMap<Rank, u32>,
        is_counted: Selection,
    ) -> (Self, Vec<Step>) {
        let steps = threads.iter().map(|(rank, thread)| listen(*rank, *thread, is_counted));
        let steps = steps.collect();
        let listeners = threads.into_iter().map(|(rank, thread)| (rank, Listener::to(thread)));
        let listeners = listeners.collect();
        let (since_s, look_s) = (now_s, now_s + LOOK_S.0);
        (Self { since_s, look_s, n_seen: 0, is_counted, listeners }, steps)
    }

    /// Listens also to a rank that has appeared, if there are few or it is a lower one.
    pub(super) fn join(&mut self, rank: Rank, thread: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        if N_LISTENED <= self.listeners.len() {
            match self.listeners.last_entry() {
                Some(last) if rank < *last.key() => {
                    let (left, listener) = last.remove_entry();
                    steps.push(order((left, listener.thread), WatchedCalls::None, self.is_counted));
                }
                _ => return steps,
            }
        }
        self.listeners.insert(rank, Listener::to(thread));
        steps.push(listen(rank, thread, self.is_counted));
        steps
    }

    /// Listens to the thread of a rank that calls MPI most, if the other one was not heard.
    pub(super) fn follow(&mut self, rank: Rank, thread: u32) -> Option<Step> {
        let listener = self.listeners.get_mut(&rank)?;
        if listener.thread == thread || !listener.calls.is_empty() {
            return None;
        }
        listener.thread = thread;
        Some(listen(rank, thread, self.is_counted))
    }

    /// Leaves out a rank that ended; returns whether others are left.
    pub(super) fn forget(&mut self, rank: Rank) -> bool {
        self.listeners.remove(&rank);
        !self.listeners.is_empty()
    }

    /// Takes a call; returns whether it was listened to.
    pub(super) fn hear(&mut self, (rank, thread): (Rank, u32), call: Call) -> bool {
        let Some(listener) = self.listeners.get_mut(&rank) else { return false };
        let is_wanted = listener.thread == thread && !listener.is_full();
        if is_wanted {
            listener.calls.push(call);
        }
        is_wanted
    }

    /// Returns whether it is time to look at the calls.
    pub(super) fn is_due(&self, now_s: f64) -> bool {
        self.look_s <= now_s || self.listeners.values().all(Listener::is_full)
    }

    /// Returns the periods of the ranks whose sequence of calls has one.
    pub(super) fn periods(&self) -> Vec<(Rank, Period)> {
        let find = |(rank, listener): (&Rank, &Listener)| {
            period::find(&listener.calls).map(|found| (*rank, found))
        };
        self.listeners.iter().filter_map(find).collect()
    }

    /// Plans the next look; returns false if the attempt is over: a rank's calls are all heard, or it took too long.
    pub(super) fn goes_on(&mut self, now_s: f64) -> bool {
        let n_heard = self.listeners.values().map(|listener| listener.calls.len()).sum();
        if std::mem::replace(&mut self.n_seen, n_heard) == n_heard {
            // Time without calls does not count.
            self.since_s = now_s;
        }
        let heard_s = now_s - self.since_s;
        self.look_s = now_s + heard_s.clamp(LOOK_S.0, LOOK_S.1);
        heard_s < LONGEST_ATTEMPT_S && !self.listeners.values().any(Listener::is_full)
    }

    /// Returns whether no rank was heard.
    pub(super) fn is_silent(&self) -> bool {
        self.listeners.values().all(|listener| listener.calls.is_empty())
    }

    /// Returns the thread of a rank that is listened to.
    pub(super) fn thread(&self, rank: Rank) -> Option<u32> {
        self.listeners.get(&rank).map(|listener| listener.thread)
    }

    /// Returns the ranks that are listened to, with their calls.
    pub(super) fn listeners(&mut self) -> &mut BTreeMap<Rank, Listener> {
        &mut self.listeners
    }

    /// Returns the calls of a thread that was listened to.
    pub(super) fn take_calls(&mut self, (rank, thread): (Rank, u32)) -> Vec<Call> {
        let listener = self.listeners.get_mut(&rank).filter(|listener| listener.thread == thread);
        listener.map(|listener| std::mem::take(&mut listener.calls)).unwrap_or_default()
    }

    /// Stops listening to all ranks but one, which gets another order.
    pub(super) fn stop(&self, except: Option<Rank>) -> Vec<Step> {
        let others = self.listeners.iter().filter(|(rank, _)| Some(**rank) != except);
        let stop = |(rank, listener): (&Rank, &Listener)| {
            order((*rank, listener.thread), WatchedCalls::None, self.is_counted)
        };
        others.map(stop).collect()
    }

    pub(super) fn is_counted(&self) -> Selection {
        self.is_counted
    }
}

fn listen(rank: Rank, thread: u32, is_counted: Selection) -> Step {
    order((rank, thread), WatchedCalls::Next { n_calls: N_CALLS }, is_counted)
}

/// Chooses the rank that is measured: of those whose iterations take as long as those of most others, the lowest.
///
/// A master, or a rank that writes for the others, has iterations of its own.
pub(super) fn choose(found: &[(Rank, Period)]) -> Option<(Rank, Period)> {
    let n_alike = |own: &Period| {
        let ratio = |other: &Period| other.duration_s.max(1e-9) / own.duration_s.max(1e-9);
        let ratios = found.iter().map(|(_, other)| ratio(other));
        ratios.filter(|ratio| ALIKE.recip() < *ratio && *ratio < ALIKE).count()
    };
    // Of equal ones `max_by_key` takes the last.
    found.iter().rev().max_by_key(|(_, own)| n_alike(own)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Period of a loop with this number of calls of 1 ms.
    fn period(n_calls: u64) -> Period {
        let call = |at: u64| {
            let (address, end_s) = (at % n_calls, at as f64 * 1e-3);
            Call { address, operation: 7, bytes: 8, end_s }
        };
        period::find(&(0..20 * n_calls).map(call).collect::<Vec<_>>()).unwrap()
    }

    /// Checks which rank is chosen of some with the numbers of calls in their iterations.
    #[track_caller]
    fn check(n_calls: &[(u32, u64)], expected: Option<u32>) {
        let found: Vec<_> =
            n_calls.iter().map(|(rank, n_calls)| (Rank(*rank), period(*n_calls))).collect();
        assert_eq!(choose(&found).map(|(rank, _)| rank.0), expected, "{n_calls:?}");
    }

    #[test]
    fn the_lowest_rank_is_chosen_that_is_like_most_others() {
        check(&[], None);
        check(&[(4, 5)], Some(4));
        check(&[(0, 5), (1, 5), (2, 5)], Some(0));
        check(&[(0, 9), (1, 5), (2, 5)], Some(1));
        check(&[(0, 9), (1, 5)], Some(0));
        check(&[(0, 5), (1, 9), (2, 5)], Some(0));
    }
}
