//! What a node has for tasks, and what is given to them.
//!
//! # Invariants
//! - No core, GPU or piece is given twice at the same time, and no more memory than there is.
//! - A task without wishes gets one core, any one: the system chooses it anew all the time.

use std::collections::BTreeMap;

use task_api::{Demand, Resources};

use crate::terms::Allocation;

/// What a node has for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCapacity {
    /// Numbers of the cores, by memory node: those of one are near each other.
    pub cores: Vec<Vec<u32>>,
    /// Memory, GPUs and other resources; its cores are those above, or as many as the user says.
    pub amounts: Resources,
}

impl NodeCapacity {
    /// Capacity of a node with cores only.
    pub fn of_cores(n_cores: u32) -> Self {
        Self {
            cores: vec![(0..n_cores).collect()],
            amounts: Resources { cpus: n_cores, ..Resources::nothing() },
        }
    }
}

/// Capacity of a node, with what is given.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    capacity: NodeCapacity,
    used: Resources,
    /// Numbers of what is given one by one, by name: cores, GPUs, and others.
    taken: BTreeMap<String, Vec<u32>>,
    n_special: usize,
    /// Time in ms for which the node is there, as far as that is known.
    left_ms: Option<u64>,
}

/// Names for what is given one by one that no other resource can have.
const CORES: &str = "";
const GPUS: &str = "gpus";

impl Pool {
    pub(crate) fn new(capacity: NodeCapacity) -> Self {
        let (used, taken) = (Resources::nothing(), BTreeMap::new());
        Self { capacity, used, taken, n_special: 0, left_ms: None }
    }

    /// Capacity of the node.
    pub(crate) fn capacity(&self) -> &Resources {
        &self.capacity.amounts
    }

    /// Sets the number of cores, which may be measured anew.
    pub(crate) fn set_n_cores(&mut self, n_cores: u32) {
        if self.capacity.amounts.cpus != n_cores {
            self.capacity.amounts.cpus = n_cores;
        }
    }

    /// Sets the time for which the node is there.
    pub(crate) fn set_left_ms(&mut self, left_ms: Option<u64>) {
        self.left_ms = left_ms;
    }

    /// Returns whether the node is there for as long as the task asks for.
    fn has_time(&self, demand: &Demand) -> bool {
        let wanted_ms = demand.time_request_ms.unwrap_or(0);
        self.left_ms.is_none_or(|left_ms| wanted_ms <= left_ms)
    }

    /// All that is given.
    pub(crate) fn used(&self) -> &Resources {
        &self.used
    }

    /// Number of allocations that are more than one core.
    pub(crate) fn n_special(&self) -> usize {
        self.n_special
    }

    /// What is free, where `n_slots` tasks without wishes may share the cores.
    fn free(&self, n_slots: u32) -> Resources {
        let mut free = self.capacity.amounts.clone();
        free.cpus = free.cpus.max(n_slots);
        free.subtract(&self.used);
        free
    }

    /// Returns whether the node could ever run a task like this.
    pub(crate) fn could_fit(&self, demand: Option<&Demand>) -> bool {
        demand.is_none_or(|it| it.fits(&self.capacity.amounts) && self.has_time(it))
    }

    /// Returns whether the task could run if all of these were given back as well.
    pub(crate) fn would_fit(&self, demand: Option<&Demand>, back: &Resources) -> bool {
        let mut free = self.free(0);
        free.add(back);
        demand.map_or(0 < free.cpus, |demand| demand.fits(&free))
    }

    /// Returns whether a task can be given what it asks for; `n_slots` is the number of tasks without wishes that the
    /// cores may share.
    pub(crate) fn fits(&self, demand: Option<&Demand>, n_slots: u32) -> bool {
        match demand {
            None => 0 < self.free(n_slots).cpus,
            Some(demand) => self.has_time(demand) && demand.fits(&self.free_for(demand, n_slots)),
        }
    }

    /// What is free for this task: cores are shared only with tasks that ask for nothing.
    fn free_for(&self, demand: &Demand, n_slots: u32) -> Resources {
        self.free(if demand.variants.is_empty() { n_slots } else { 0 })
    }

    /// Gives a task the first of its alternatives that is free; `None` where none is.
    pub(crate) fn allocate(&mut self, demand: Option<&Demand>, n_slots: u32) -> Option<Allocation> {
        let Some(demand) = demand else {
            let fits = 0 < self.free(n_slots).cpus;
            return fits.then(|| self.give(Allocation::default()));
        };
        if demand.is_spanning() || !self.has_time(demand) {
            return None;
        }
        let free = self.free_for(demand, n_slots);
        let (idx, variant) = demand.variants().iter().enumerate().find(|(_, it)| it.fit(&free))?;
        let cpus = variant.cpus.max(variant.cpus_max.min(free.cpus));
        let is_bound = !demand.is_unpinned && !demand.variants.is_empty();
        let named = variant.named.iter().filter(|(_, n)| 0 < **n);
        let allocation = Allocation {
            cpus,
            memory_bytes: variant.memory_bytes,
            variant: u32::try_from(idx).unwrap_or(0),
            cores: if is_bound { self.free_cores(cpus) } else { Vec::new() },
            gpus: self.free_ids(GPUS, self.capacity.amounts.gpus, variant.gpus),
            span: None,
            named: named
                .map(|(name, n)| {
                    let n_all = self.capacity.amounts.named.get(name).copied().unwrap_or(0);
                    (name.clone(), self.free_ids(name, n_all, *n))
                })
                .collect(),
        };
        Some(self.give(allocation))
    }

    /// Gives what was given before the daemon restarted, if nobody else has it.
    pub(crate) fn give_again(&mut self, allocation: &Allocation) -> bool {
        let is_free =
            |(name, ids): (&str, &Vec<u32>)| !ids.iter().any(|id| self.is_taken(name, *id));
        let fits = allocation.resources().fit(&self.free(0)) && one_by_one(allocation).all(is_free);
        if fits {
            self.give(allocation.clone());
        }
        fits
    }

    /// Notes that an allocation is in use.
    pub(crate) fn give(&mut self, allocation: Allocation) -> Allocation {
        if allocation.is_plain() {
            self.used.cpus = self.used.cpus.saturating_add(1);
            return allocation;
        }
        self.n_special += 1;
        self.used.add(&allocation.resources());
        for (name, ids) in one_by_one(&allocation) {
            self.taken.entry(name.to_owned()).or_default().extend(ids);
        }
        allocation
    }

    /// Takes back what was given.
    pub(crate) fn take_back(&mut self, allocation: &Allocation) {
        if allocation.is_plain() {
            self.used.cpus = self.used.cpus.saturating_sub(1);
            return;
        }
        self.n_special = self.n_special.saturating_sub(1);
        self.used.subtract(&allocation.resources());
        for (name, ids) in one_by_one(allocation) {
            if let Some(taken) = self.taken.get_mut(name) {
                taken.retain(|id| !ids.contains(id));
            }
        }
    }

    fn is_taken(&self, name: &str, id: u32) -> bool {
        self.taken.get(name).is_some_and(|taken| taken.contains(&id))
    }

    /// The first `n` pieces that are not given.
    fn free_ids(&self, name: &str, n_all: u32, n: u32) -> Vec<u32> {
        (0..n_all).filter(|id| !self.is_taken(name, *id)).take(n as usize).collect()
    }

    /// `n` cores of one memory node where one has that many, of which the fullest is taken; else of several. Empty where
    /// the node does not know its cores one by one.
    fn free_cores(&self, n: u32) -> Vec<u32> {
        let n = n as usize;
        let free = |cores: &Vec<u32>| -> Vec<u32> {
            cores.iter().copied().filter(|id| !self.is_taken(CORES, *id)).collect()
        };
        let mut by_node = self.capacity.cores.iter().map(free).collect::<Vec<_>>();
        by_node.sort_by_key(Vec::len);
        let one = by_node.iter().find(|cores| n <= cores.len());
        let all = || by_node.iter().rev().flatten().copied().take(n).collect::<Vec<_>>();
        let cores = one.map_or_else(all, |cores| cores[..n].to_vec());
        if cores.len() < n { Vec::new() } else { cores }
    }
}

fn one_by_one(allocation: &Allocation) -> impl Iterator<Item = (&str, &Vec<u32>)> {
    let named = allocation.named.iter().map(|(name, ids)| (name.as_str(), ids));
    [(CORES, &allocation.cores), (GPUS, &allocation.gpus)].into_iter().chain(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool() -> Pool {
        let named = [("fpga".to_owned(), 2)].into();
        let amounts =
            Resources { cpus: 8, memory_bytes: 100, gpus: 2, named, ..Resources::nothing() };
        Pool::new(NodeCapacity { cores: vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]], amounts })
    }

    fn cpus(cpus: u32, cpus_max: u32) -> Demand {
        let one = Resources { cpus, cpus_max, ..Resources::default() };
        Demand { variants: vec![one], ..Demand::default() }
    }

    #[test]
    fn cores_are_near_each_other_where_they_can_be() {
        let mut pool = pool();
        let two = pool.allocate(Some(&cpus(2, 0)), 8).unwrap();
        assert_eq!(two.cores, [0, 1]);
        // Not the two that are left beside them.
        assert_eq!(pool.allocate(Some(&cpus(3, 0)), 8).unwrap().cores, [4, 5, 6]);
        assert_eq!(pool.allocate(Some(&cpus(2, 0)), 8).unwrap().cores, [2, 3]);
        assert_eq!(pool.allocate(Some(&cpus(2, 0)), 8), None);
        pool.take_back(&two);
        assert_eq!(pool.allocate(Some(&cpus(3, 0)), 8).unwrap().cores.len(), 3);
    }

    #[test]
    fn a_range_of_cores_takes_what_is_free() {
        let mut pool = pool();
        assert_eq!(pool.allocate(Some(&cpus(2, 6)), 8).unwrap().cpus, 6);
        assert_eq!(pool.allocate(Some(&cpus(1, 6)), 8).unwrap().cpus, 2);
        assert_eq!(pool.allocate(Some(&cpus(1, 6)), 8), None);
    }

    #[test]
    fn the_first_alternative_that_is_free_is_given() {
        let mut pool = pool();
        let gpu = Resources { gpus: 2, ..Resources::default() };
        let fpga = Resources { named: [("fpga".to_owned(), 1)].into(), ..Resources::default() };
        let demand = Demand { variants: vec![gpu, fpga], ..Demand::default() };
        let mut given = || pool.allocate(Some(&demand), 8);
        let first = given().unwrap();
        assert_eq!((first.variant, first.gpus.as_slice()), (0, [0, 1].as_slice()));
        let second = given().unwrap();
        assert_eq!((second.variant, &second.named), (1, &vec![("fpga".to_owned(), vec![0])]));
        assert_eq!(given().unwrap().named, [("fpga".to_owned(), vec![1])]);
        assert_eq!(given(), None);
    }

    #[test]
    fn tasks_without_wishes_may_share_cores() {
        let mut pool = pool();
        let n_given = (0..20).filter(|_| pool.allocate(None, 10).is_some()).count();
        assert_eq!((n_given, pool.fits(None, 10), pool.fits(None, 11)), (10, false, true));
        assert_eq!(pool.n_special(), 0);
    }

    fn demand() -> impl Strategy<Value = Demand> {
        let one = (0_u32..5, 0_u32..9, 0_u64..60, 0_u32..3, 0_u32..3);
        let one = one.prop_map(|(cpus, more, memory_bytes, gpus, fpga)| Resources {
            cpus: cpus + 1,
            cpus_max: if more == 0 { 0 } else { cpus + 1 + more },
            memory_bytes,
            gpus,
            named: [("fpga".to_owned(), fpga)].into(),
        });
        (proptest::collection::vec(one, 0..3), any::<bool>()).prop_map(|(variants, is_unpinned)| {
            Demand { variants, is_unpinned, ..Demand::default() }
        })
    }

    proptest! {
        #[test]
        fn nothing_is_given_twice(steps in proptest::collection::vec((demand(), any::<u8>()), 1..60)) {
            let mut pool = pool();
            let mut given = Vec::<Allocation>::new();
            for (demand, chance) in steps {
                let fits = pool.fits(Some(&demand), 8);
                let allocation = pool.allocate(Some(&demand), 8);
                prop_assert_eq!(fits, allocation.is_some());
                given.extend(allocation);
                if chance < 100 && !given.is_empty() {
                    let back = given.swap_remove(usize::from(chance) % given.len());
                    pool.take_back(&back);
                }
                let mut sum = Resources::nothing();
                given.iter().for_each(|it| sum.add(&it.resources()));
                prop_assert!(sum.fit(pool.capacity()), "{:?}", given);
                for name in [CORES, GPUS, "fpga"] {
                    let ids = |it: &Allocation| -> Vec<u32> {
                        one_by_one(it).filter(|(it, _)| *it == name).flat_map(|(_, ids)| ids.clone()).collect()
                    };
                    let mut all = given.iter().flat_map(ids).collect::<Vec<_>>();
                    let n_all = all.len();
                    all.sort_unstable();
                    all.dedup();
                    prop_assert_eq!(n_all, all.len(), "{}", name);
                }
            }
            given.iter().for_each(|it| pool.take_back(it));
            prop_assert_eq!(pool.used().cpus, 0);
            prop_assert_eq!((pool.used().memory_bytes, pool.used().gpus, pool.n_special()), (0, 0, 0));
        }
    }
}
