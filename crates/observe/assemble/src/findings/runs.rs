//! Hand-made summaries for tests of the rules: ranks of one world, each 10 s long.

use resize_api::{Resize, Seconds};
use run_record::summary::{
    CallSite, OperationTotals, RankTotals, Region, SourceLocation, Summary, Traffic, World,
};

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

    pub(super) fn summary(self) -> Summary {
        self.0
    }
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
