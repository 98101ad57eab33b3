//! Finds nodes for own tasks that ask for more than a core, where this node has no room for them.
//!
//! The rules of balancing speak of cores. A node that lacks a GPU, or has no four cores at once, may be idle by these rules
//! and still have tasks that only others can run. So the home offers such tasks to nodes that have what they ask for,
//! in turn; a node that has it in use refuses, and is asked again when it says that some of it is free, or after a while
//! ([`Refusals`]).

use std::collections::BTreeMap;

use balancing_policies::Moment;
use task_api::{Demand, Presence, Resources};

use super::Roles;
use super::turn::Turn;
use crate::interface::{Member, NodeId};

/// Least time between two rounds, in ms.
const ROUND_MS: u64 = 50;
/// Most nodes that are asked for one kind of task in one round.
const N_NODES_MAX: usize = 4;
/// Time for which a node is not asked again after its first refusal, in ms; it doubles with each, up to the second.
const REFUSED_MS: u64 = 100;
const REFUSED_MS_MAX: u64 = 2_000;

/// Rounds so far.
#[derive(Debug, Default)]
pub(super) struct Placing {
    last: Moment,
    n_rounds: usize,
}

impl Placing {
    /// Makes the next round come at once.
    pub(super) fn hurry(&mut self) {
        self.last = Moment(0);
    }
}

/// Nodes that had no room for tasks of a kind.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<(NodeId, Demand), Refusal>);

#[derive(Clone, Copy, Debug)]
struct Refusal {
    until: Moment,
    wait_ms: u64,
}

impl Refusals {
    pub(super) fn holds(&self, node: NodeId, demand: Option<&Demand>, now: Moment) -> bool {
        let Some(demand) = demand.filter(|_| !self.0.is_empty()) else { return false };
        self.0.get(&(node, demand.clone())).is_some_and(|refusal| now < refusal.until)
    }

    pub(super) fn refused(&mut self, node: NodeId, demand: &Demand, now: Moment) {
        let refusal = self.0.entry((node, demand.clone()));
        let refusal = refusal.or_insert(Refusal { until: now, wait_ms: REFUSED_MS });
        refusal.until = now.plus_ms(refusal.wait_ms);
        refusal.wait_ms = (2 * refusal.wait_ms).min(REFUSED_MS_MAX);
    }

    /// Returns whether the node has refused before, and has taken no task of this kind since.
    fn has_refused(&self, node: NodeId, demand: &Demand) -> bool {
        self.0.contains_key(&(node, demand.clone()))
    }

    /// Notes that some of what the node has is free again.
    pub(super) fn has_room(&mut self, node: NodeId, now: Moment) {
        let of_node = self.0.iter_mut().filter(|((refused, _), _)| *refused == node);
        of_node.for_each(|(_, refusal)| refusal.until = now);
    }

    pub(super) fn taken(&mut self, node: NodeId, demand: &Demand) {
        self.0.remove(&(node, demand.clone()));
    }

    /// Forgets refusals that are long over.
    pub(super) fn tidy(&mut self, now: Moment) {
        self.0.retain(|_, refusal| now < refusal.until.plus_ms(REFUSED_MS_MAX));
    }
}

/// Number of tasks that a node could run at once.
fn n_at_once(demand: &Demand, capacity: &Resources) -> u32 {
    let times = |all: u64, one: u64| all.checked_div(one).unwrap_or(u64::MAX);
    let of = |one: &Resources| {
        let named = one.named.iter().map(|(name, n)| {
            times(capacity.named.get(name).copied().unwrap_or(0).into(), (*n).into())
        });
        let all = [
            times(capacity.cpus.into(), one.cpus.into()),
            times(capacity.memory_bytes, one.memory_bytes),
            times(capacity.gpus.into(), one.gpus.into()),
        ];
        all.into_iter().chain(named).min().unwrap_or(0)
    };
    let most = demand.variants().iter().map(of).max().unwrap_or(0);
    u32::try_from(most).unwrap_or(u32::MAX)
}

impl Roles {
    /// Offers tasks that ask for more than a core to nodes that have it, where this one has no room.
    pub(super) fn place(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        if self.stopping.is_some() || now.ms_since(self.placing.last) < ROUND_MS {
            return;
        }
        let classes = turn.node.book.tasks().classes();
        let special = classes.filter_map(|class| Some((class.demand?.clone(), class.n_tasks)));
        let special = special.collect::<Vec<_>>();
        if special.is_empty() {
            return;
        }
        self.placing.last = now;
        self.placing.n_rounds += 1;
        for (demand, n_tasks) in special {
            if !turn.node.processes.ready || !turn.node.processes.pool.fits(Some(&demand), 0) {
                self.place_class(&demand, n_tasks, turn);
            }
        }
    }

    fn place_class(&mut self, demand: &Demand, n_tasks: u64, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let up = turn.node.peers.iter().filter(|member| member.presence == Presence::Up);
        let able = up.filter(|member| demand.fits(&member.capacity));
        let able = able.filter(|it| !self.lending.refusals.holds(it.id, Some(demand), now));
        // Who has refused before is asked for one: each refusal is written down twice.
        let n_of = |it: &Member| match self.lending.refusals.has_refused(it.id, demand) {
            true => 1,
            false => n_at_once(demand, &it.capacity),
        };
        let mut able = able.map(|it| (it.id, n_of(it))).collect::<Vec<_>>();
        if able.is_empty() {
            return;
        }
        let n_able = able.len();
        able.rotate_left(self.placing.n_rounds % n_able);
        let mut n_left = u32::try_from(n_tasks).unwrap_or(u32::MAX);
        for (node, n_at_once) in able.into_iter().take(N_NODES_MAX) {
            n_left -= self.lending.lend_class(node, n_at_once.min(n_left), demand, turn);
            if n_left == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_runs_as_many_as_its_scarcest_resource_allows() {
        let capacity = Resources { cpus: 8, memory_bytes: 100, gpus: 2, ..Resources::nothing() };
        let one = |cpus, memory_bytes, gpus| Resources {
            cpus,
            memory_bytes,
            gpus,
            ..Resources::default()
        };
        let check = |variants: Vec<Resources>, expected| {
            let demand = Demand { variants, ..Demand::default() };
            assert_eq!(n_at_once(&demand, &capacity), expected);
        };
        check(vec![one(3, 0, 0)], 2);
        check(vec![one(1, 30, 0)], 3);
        check(vec![one(1, 0, 1), one(2, 0, 0)], 4);
        check(vec![one(1, 0, 3)], 0);
    }

    #[test]
    fn a_node_that_refuses_again_is_left_alone_for_longer() {
        let (node, demand) = (NodeId(1), Demand { is_unpinned: true, ..Demand::default() });
        let mut refusals = Refusals::default();
        let at = |ms: u64| Moment(ms * 1_000_000);
        refusals.refused(node, &demand, at(0));
        assert!(refusals.holds(node, Some(&demand), at(99)));
        assert!(
            !refusals.holds(node, Some(&demand), at(100)) && !refusals.holds(node, None, at(0))
        );
        refusals.refused(node, &demand, at(100));
        assert!(refusals.holds(node, Some(&demand), at(299)));
        refusals.taken(node, &demand);
        assert!(!refusals.holds(node, Some(&demand), at(299)));
    }
}
