//! Keeps the last tasks of a queue for fast nodes.
//!
//! While a core of speed `s` runs one task, a core of speed `s'` runs `s'/s`. A slow core should therefore leave
//! those of the last tasks that faster cores, whose nodes come for tasks regularly, end sooner: `s'/s - 1` for each
//! of these cores, beside the task that it runs. With one fast and one slow core and tasks that keep arriving, the
//! slow one is best used when the queue is longer than a threshold (Lin and Kumar, "Optimal control of a queueing
//! system with two heterogeneous servers", IEEE Transactions on Automatic Control 29(8), 1984). Here that is
//! applied when no tasks arrive any more: while they do, and the queue grows, a core that waits for it to grow is
//! wasted.
//!
//! # Invariants
//! - Where all nodes are about equally fast, no tasks are kept.
//! - No task waits for a node that no longer comes as regularly as before.

use crate::members::{Members, is_speed};
use crate::{Moment, NodeId};

/// Most nodes that are remembered, those that came last.
const N_MAX: usize = 64;
/// Ratio above which a node counts as faster: measured speeds of equal machines differ by less.
const FASTER_MIN: f64 = 1.25;

/// Nodes that come for tasks, with the times of their visits.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepeatVisitors {
    visits: Vec<Visit>,
    /// Moment at which the last task was queued.
    queued_at: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    node: NodeId,
    at: Moment,
    /// Time since the visit before, in ms; `None` at the first.
    cycle_ms: Option<u64>,
}

impl Visit {
    /// Returns whether the node is likely to come soon, and no task was queued for one of its cycles.
    fn is_awaited(&self, now: Moment, queued_at: Moment) -> bool {
        self.cycle_ms.is_some_and(|cycle_ms| {
            now.ms_since(self.at) <= 2 * cycle_ms && cycle_ms <= now.ms_since(queued_at)
        })
    }
}

impl RepeatVisitors {
    pub(crate) fn queued(&mut self, now: Moment) {
        self.queued_at = now;
    }

    /// Notes that a node has come and found as many tasks as it has room for.
    pub(crate) fn came(&mut self, now: Moment, node: NodeId, members: &Members) {
        if !members.is_mixed(FASTER_MIN) {
            return self.visits.clear();
        }
        let before = self.visits.iter().position(|visit| visit.node == node);
        let before = before.map(|at| self.visits.remove(at));
        if N_MAX <= self.visits.len() {
            self.visits.remove(0);
        }
        let cycle_ms = before.map(|visit| now.ms_since(visit.at));
        self.visits.push(Visit { node, at: now, cycle_ms });
    }

    pub(crate) fn forget(&mut self, node: NodeId) {
        self.visits.retain(|visit| visit.node != node);
    }

    /// Number of waiting tasks that a node of this speed must leave to faster nodes.
    pub(crate) fn n_kept_from(&self, now: Moment, speed: f64, members: &Members) -> u32 {
        if !is_speed(speed) {
            return 0;
        }
        let awaited = self.visits.iter().filter(|visit| visit.is_awaited(now, self.queued_at));
        let peers = awaited.filter_map(|visit| members.peer(visit.node));
        let faster = peers.filter(|peer| is_speed(peer.speed) && FASTER_MIN <= peer.speed / speed);
        let n = faster.map(|peer| f64::from(peer.n_cores) * (peer.speed / speed - 1.0)).sum();
        whole(n)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "floats are cut off at the bounds of u32")]
#[expect(clippy::cast_sign_loss, reason = "a number of tasks is not negative")]
fn whole(n: f64) -> u32 {
    n as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn members(speeds: &[f64]) -> Members {
        let peer = |(id, speed): (u32, &f64)| Peer {
            id: NodeId(id),
            incarnation: 0,
            n_cores: 2,
            speed: *speed,
        };
        Members::new((0..).zip(speeds).map(peer))
    }

    fn second(second: u64) -> Moment {
        Moment(0).plus_ms(1_000 * second)
    }

    #[track_caller]
    fn keeps(speeds: &[f64], visits: &[(u32, u64)], now: u64, from: f64, expected: u32) {
        let (members, mut repeat_visitors) = (members(speeds), RepeatVisitors::default());
        for (node, at) in visits {
            repeat_visitors.came(second(*at), NodeId(*node), &members);
        }
        assert_eq!(repeat_visitors.n_kept_from(second(now), from, &members), expected);
    }

    #[test]
    fn a_slow_node_leaves_what_fast_cores_end_while_it_runs_one() {
        let speeds = [1.0, 2.0, 4.0];
        let visits = [(1, 10), (2, 10), (2, 15), (1, 20), (2, 20)];
        // Node 2 has two cores of speed 4, node 1 two of speed 2.
        keeps(&speeds, &visits, 21, 1.0, 2 * 3 + 2);
        keeps(&speeds, &visits, 21, 2.0, 2);
        keeps(&speeds, &visits, 21, 4.0, 0);
        keeps(&speeds, &visits, 21, f64::NAN, 0);
    }

    #[test]
    fn who_came_once_or_stays_away_is_not_waited_for() {
        keeps(&[1.0, 4.0], &[(1, 10)], 11, 1.0, 0);
        keeps(&[1.0, 4.0], &[(1, 10), (1, 15)], 25, 1.0, 6);
        keeps(&[1.0, 4.0], &[(1, 10), (1, 15)], 26, 1.0, 0);
    }

    #[test]
    fn nothing_is_kept_while_tasks_come() {
        let (members, mut repeat_visitors) = (members(&[1.0, 4.0]), RepeatVisitors::default());
        repeat_visitors.came(second(10), NodeId(1), &members);
        repeat_visitors.came(second(15), NodeId(1), &members);
        repeat_visitors.queued(second(14));
        assert_eq!(repeat_visitors.n_kept_from(second(18), 1.0, &members), 0);
        assert_eq!(repeat_visitors.n_kept_from(second(19), 1.0, &members), 6);
        repeat_visitors.forget(NodeId(1));
        assert_eq!(repeat_visitors.n_kept_from(second(19), 1.0, &members), 0);
    }

    #[test]
    fn about_equal_nodes_are_not_even_remembered() {
        let (members, mut repeat_visitors) = (members(&[1.0, 1.1, 1.2]), RepeatVisitors::default());
        repeat_visitors.came(second(1), NodeId(2), &members);
        assert!(repeat_visitors.visits.is_empty());
    }
}
