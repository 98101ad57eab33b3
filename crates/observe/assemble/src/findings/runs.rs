//! Hand-made summaries for tests of the rules: ranks of one world, each 10 s long.

use events::CoreSet;
use resize_api::{Resize, Seconds};
use run_record::summary::{
    CallSite, Delays, NodeUsage, OperationTotals, RankTotals, RankUsage, Region, SourceLocation,
    Summary, Traffic, World,
};
use std::collections::BTreeSet;

/// Builder of a summary.
pub(super) struct SummaryBuilder(Summary);

const ELAPSED_S: f64 = 10.0;

impl SummaryBuilder {
    /// Starts with ranks of these useful times, in s.
    pub(super) fn ranks(useful_s: &[f64]) -> Self {
        let rank = |(rank, useful_s): (u32, &f64)| RankTotals {
            rank,
            node: "node0".into(),
            elapsed_s: ELAPSED_S,
            useful_s: *useful_s,
            mpi_s: ELAPSED_S - useful_s,
            end: "finalized".into(),
            ..RankTotals::default()
        };
        let ranks: Vec<RankTotals> = (0..).zip(useful_s).map(rank).collect();
        let n_ranks = ranks.len();
        let world = World { n_ranks, size: n_ranks, elapsed_s: ELAPSED_S, ..World::default() };
        let mut summary = Summary {
            elapsed_s: ELAPSED_S,
            wall_s: ELAPSED_S + 1.0,
            n_ranks,
            ranks,
            worlds: vec![world],
            ..Summary::default()
        };
        summary.outcome.complete = true;
        let average_s = useful_s.iter().sum::<f64>() / useful_s.len().max(1) as f64;
        let longest_s = useful_s.iter().copied().fold(0.0, f64::max);
        summary.pop.parallel_efficiency = average_s / ELAPSED_S;
        summary.pop.communication_efficiency = longest_s / ELAPSED_S;
        summary.pop.load_balance = average_s / longest_s.max(f64::MIN_POSITIVE);
        Self(summary)
    }

    /// Adds a call site; its line is its id.
    pub(super) fn site(
        mut self,
        operation: &str,
        calls: u64,
        bytes: u64,
        by_rank_s: &[f64],
    ) -> Self {
        let id = self.0.call_sites.len();
        let time_s = by_rank_s.iter().sum();
        let line = u32::try_from(id).expect("few sites");
        let known = mpi_abi::find(operation).and_then(mpi_abi::operation).expect("an operation");
        let class = crate::operations::class_name(known.class).to_owned();
        let totals = self
            .0
            .operations
            .entry(operation.to_owned())
            .or_insert(OperationTotals { class, ..OperationTotals::default() });
        totals.calls += calls;
        totals.bytes += bytes;
        totals.time_s += time_s;
        self.0.call_sites.push(CallSite {
            id,
            operation: operation.to_owned(),
            place: SourceLocation {
                file: "a.c".into(),
                line,
                function: "f".into(),
                ..SourceLocation::default()
            },
            calls,
            bytes,
            time_s,
            time_by_rank_s: by_rank_s.to_vec(),
            ..CallSite::default()
        });
        self
    }

    /// Adds a region that ends at a site.
    pub(super) fn region(mut self, to: usize, by_rank_s: &[f64]) -> Self {
        self.0.regions.push(Region {
            to: Some(to),
            compute_s: by_rank_s.iter().sum(),
            compute_by_rank_s: by_rank_s.to_vec(),
            ..Region::default()
        });
        self
    }

    /// Adds messages between a hub and every other rank, both ways.
    pub(super) fn star(mut self, hub: u32, messages: u64) -> Self {
        let n_ranks = u32::try_from(self.0.n_ranks).expect("few ranks");
        for other in (0..n_ranks).filter(|rank| *rank != hub) {
            for (from, to) in [(hub, other), (other, hub)] {
                self.0.traffic.push(Traffic { world: 0, from, to, messages, bytes: messages });
            }
        }
        self
    }

    /// Adds a change of the number of ranks that stopped the program for `wait` seconds.
    pub(super) fn resize(mut self, from: u32, wait: f64) -> Self {
        let seconds = Seconds { wait, ..Seconds::default() };
        self.0.resizes.push(Resize { from, to: 1, seconds, ..Resize::default() });
        self
    }

    /// Adds causes of waiting from a trace.
    pub(super) fn delays(mut self, delays: Delays) -> Self {
        self.0.delays = Some(delays);
        self
    }

    /// Lets the ranks wait for a core for these times, in s: while computing, and in MPI.
    pub(super) fn waiting(mut self, waits_s: &[(f64, f64)]) -> Self {
        for (rank, (compute_s, mpi_s)) in self.0.ranks.iter_mut().zip(waits_s) {
            let usage = rank.usage.get_or_insert_with(usage);
            usage.compute_runqueue_s = *compute_s;
            usage.mpi_runqueue_s = *mpi_s;
            usage.runqueue_s = compute_s + mpi_s;
        }
        self.cores("0-63", 64)
    }

    /// Binds all ranks to these cores of a node that has `n_online`.
    pub(super) fn cores(self, mask: &str, n_online: u32) -> Self {
        let n_ranks = self.0.ranks.len();
        self.bound(&vec![mask; n_ranks], n_online)
    }

    /// Binds each rank to its cores of a node that has `n_online`.
    pub(super) fn bound(mut self, masks: &[&str], n_online: u32) -> Self {
        let set = |mask: &str| CoreSet::parse(mask).expect("a list of cores");
        for (rank, mask) in self.0.ranks.iter_mut().zip(masks) {
            let usage = rank.usage.get_or_insert_with(usage);
            usage.cores = (*mask).to_owned();
            usage.cores_allowed = set(mask).n_cores() as f64;
            usage.n_online = n_online;
        }
        let cores: BTreeSet<u32> =
            masks.iter().flat_map(|mask| set(mask).cores().collect::<Vec<_>>()).collect();
        self.node(cores.len() as f64)
    }

    /// Limits the ranks to so many cores, which stopped them for a time, in s.
    pub(super) fn quota(mut self, n_cores: f64, throttled_s: f64) -> Self {
        for usage in self.0.ranks.iter_mut().filter_map(|rank| rank.usage.as_mut()) {
            (usage.cores_allowed, usage.throttled_s) = (n_cores, throttled_s);
        }
        self.node(n_cores)
    }

    /// Lets each rank have so many busy threads.
    pub(super) fn threads(self, n_busy: u64) -> Self {
        let n_cores = self.0.nodes.first().map_or(64.0, |node| node.n_cores);
        self.usage(|usage| usage.n_busy_threads = n_busy).node(n_cores)
    }

    /// Lets other programs use so many cores.
    pub(super) fn foreign(mut self, n_cores: f64) -> Self {
        self.0.nodes.iter_mut().for_each(|node| node.foreign_cores = n_cores);
        self
    }

    /// Changes what each rank used.
    pub(super) fn usage(mut self, change: impl Fn(&mut RankUsage)) -> Self {
        for rank in &mut self.0.ranks {
            change(rank.usage.get_or_insert_with(usage));
        }
        self
    }

    fn node(mut self, n_cores: f64) -> Self {
        let usages = self.0.ranks.iter().filter_map(|rank| rank.usage.as_ref());
        let n_busy: u64 = usages.map(|usage| usage.n_busy_threads).sum();
        self.0.nodes = vec![NodeUsage {
            node: "node0".into(),
            n_ranks: self.0.n_ranks,
            n_cores,
            ranks_per_core: self.0.n_ranks as f64 / n_cores,
            threads_per_core: n_busy as f64 / n_cores,
            foreign_cores: 0.0,
        }];
        self
    }

    pub(super) fn summary(self) -> Summary {
        self.0
    }
}

/// Usage of a rank with one busy thread.
fn usage() -> RankUsage {
    RankUsage { n_busy_threads: 1, ..RankUsage::default() }
}

/// Checks the findings of a rule: share, call site, and words contained in each of them.
#[track_caller]
pub(super) fn check(
    rule: impl Fn(&super::Run<'_>) -> Vec<super::Finding>,
    made: SummaryBuilder,
    expected: &[(f64, Option<usize>, &[&str])],
) {
    let summary = made.summary();
    let found = rule(&super::Run::new(&summary));
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (share, site, words)) in found.iter().zip(expected) {
        assert!((found.share - share).abs() < 1e-3, "{found:?}");
        assert_eq!(found.call_site, *site, "{found:?}");
        for word in *words {
            assert!(found.text.contains(word), "`{word}` is not in {found:?}");
        }
    }
}
