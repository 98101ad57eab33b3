//! Findings about shortage of cores: ranks or threads that share them, quotas, bindings, other programs.
//!
//! A thread that waits for a core delays the ranks that wait for its messages. So waiting in MPI is charged to the
//! shortage as well, in the proportion in which the ranks' own pace suffers, but each second of waiting for a core
//! holds up each other rank for one second at most. In the same way, threads of a rank that wait for a core hold up those
//! that wait for them in OpenMP.

use super::{Finding, Run};
use display::units::percent;
use events::CoreSet;
use run_record::summary::{NodeUsage, RankTotals, RankUsage, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// Share of their time for which ranks may wait for a core without any reason to look for.
const JITTER: f64 = 0.02;
/// Cores that other processes must use to be named.
const FOREIGN_MIN: f64 = 0.1;
/// Ranks that are named one by one.
const N_NAMED_MAX: usize = 4;

/// Time lost to a shortage of cores, in s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shortage {
    /// Waiting for a core, over the ranks.
    pub(super) waiting_s: f64,
    /// Waiting in MPI for ranks that wait for a core.
    pub(super) induced_s: f64,
    /// Waiting in OpenMP for threads that wait for a core.
    pub(super) openmp_s: f64,
    /// Part of the time in MPI with neither of them, 0..=1.
    pub(super) mpi_share_left: f64,
}

impl Shortage {
    pub(super) fn of(summary: &Summary) -> Self {
        let ranks = &*summary.ranks;
        let sum = |of: &dyn Fn(&RankTotals) -> f64| ranks.iter().map(of).sum::<f64>();
        let elapsed_s = sum(&|rank| rank.elapsed_s);
        let waiting_s = sum(&RankTotals::runqueue_s).max(stopped_s(ranks));
        let mpi_s = sum(&|rank| rank.mpi_s);
        if waiting_s <= JITTER * elapsed_s {
            return Self { waiting_s, mpi_share_left: 1.0, ..Self::default() };
        }
        let usage = |rank: &RankTotals| rank.usage.as_ref().map_or(0.0, |it| it.mpi_runqueue_s);
        let mpi_without_s = (mpi_s - sum(&usage)).max(0.0);
        let computing_s = sum(&RankTotals::computing_s);
        let pace_lost = waiting_s / (waiting_s + computing_s).max(f64::MIN_POSITIVE);
        let n_others = ranks.len().saturating_sub(1) as f64;
        let induced_s = (mpi_without_s * pace_lost).min(waiting_s * n_others);
        let left_s = mpi_without_s - induced_s;
        let mpi_share_left = if mpi_s <= 0.0 { 1.0 } else { (left_s / mpi_s).clamp(0.0, 1.0) };
        let of_threads = |rank: &RankTotals| {
            let all_s = rank.usage.as_ref().map_or(0.0, |usage| usage.runqueue_s);
            (all_s - rank.runqueue_s()).max(0.0)
        };
        let openmp_s = super::openmp::waiting_s(summary).min(sum(&of_threads));
        Self { waiting_s, induced_s, openmp_s, mpi_share_left }
    }
}

/// Time for which quotas stopped the ranks, in s: that of a control group is over all its cores.
fn stopped_s(ranks: &[RankTotals]) -> f64 {
    let stopped = ranks.iter().filter_map(|rank| {
        let usage = rank.usage.as_ref()?;
        let is_limited = 0.0 < usage.throttled_s && is_limited(usage);
        is_limited.then(|| usage.throttled_s / mask(usage).n_cores().max(1) as f64)
    });
    stopped.zip(ranks).map(|(stopped_s, rank)| stopped_s.min(rank.elapsed_s)).sum()
}

/// Returns whether a quota, not the affinity mask, limits a rank.
fn is_limited(usage: &RankUsage) -> bool {
    usage.cores_allowed < mask(usage).n_cores() as f64
}

fn mask(usage: &RankUsage) -> CoreSet {
    CoreSet::parse(&usage.cores).unwrap_or_default()
}

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let shortage = run.shortage;
    let share = run.share(shortage.waiting_s + shortage.induced_s + shortage.openmp_s);
    if run.share(shortage.waiting_s) <= JITTER {
        return Vec::new();
    }
    let text = format!("{} {}", cause(run), cost(run));
    vec![Finding { text, call_site: None, share }]
}

/// Returns `for 75.0 % of their time ...`.
fn cost(run: &Run<'_>) -> String {
    let waiting = run.share(run.shortage.waiting_s);
    let induced = run.share(run.shortage.induced_s + run.shortage.openmp_s);
    let whom = if run.shortage.openmp_s == 0.0 { "ranks" } else { "ranks and threads" };
    let others = if induced < super::SHARE_MIN {
        String::new()
    } else {
        format!(", and for {} for {whom} that do", percent(induced))
    };
    format!("For {} of their time the ranks wait for a core{others}.", percent(waiting))
}

/// Returns the reason with the remedy: that of the node where ranks wait most.
fn cause(run: &Run<'_>) -> String {
    let mut nodes: BTreeMap<&str, Vec<&RankTotals>> = BTreeMap::new();
    for rank in &run.summary.ranks {
        nodes.entry(&rank.node).or_default().push(rank);
    }
    let waiting_s = |ranks: &[&RankTotals]| ranks.iter().map(|rank| rank.runqueue_s()).sum::<f64>();
    let worst = nodes.into_iter().max_by(|a, b| waiting_s(&a.1).total_cmp(&waiting_s(&b.1)));
    let known = worst.and_then(|(name, ranks)| {
        let node = run.summary.nodes.iter().find(|node| node.node == name)?;
        Some(Place { node, ranks })
    });
    let unknown = "The ranks have fewer cores than they need: start fewer on each node, or give the job more cores.";
    known.map_or_else(|| unknown.to_owned(), |place| place.cause(run))
}

/// Node with its ranks.
struct Place<'a> {
    node: &'a NodeUsage,
    ranks: Vec<&'a RankTotals>,
}

impl Place<'_> {
    fn cause(&self, run: &Run<'_>) -> String {
        let (doubled, confined) = (self.doubled(), self.confined());
        match () {
            () if self.is_quota() => self.quota(),
            () if doubled.is_some() => doubled.unwrap_or_default(),
            () if confined.is_some() => confined.unwrap_or_default(),
            () if 1.0 < self.node.ranks_per_core - 1e-6 => self.ranks_share(),
            () if 1.2 < self.node.threads_per_core => self.threads_share(),
            () if FOREIGN_MIN <= self.node.foreign_cores => self.foreign(run),
            () => format!(
                "The ranks on {} have as many cores as they need, and are still interrupted: look for other programs, \
                 and bind each rank to its core.",
                self.node.node
            ),
        }
    }

    fn usages(&self) -> impl Iterator<Item = &RankUsage> {
        self.ranks.iter().filter_map(|rank| rank.usage.as_ref())
    }

    fn n_busy(&self) -> u64 {
        self.usages().map(|usage| usage.n_busy_threads.max(1)).sum()
    }

    fn is_quota(&self) -> bool {
        let is_stopped = |usage: &RankUsage| 0.0 < usage.throttled_s && is_limited(usage);
        self.usages().any(is_stopped) && self.node.n_cores < self.n_busy() as f64
    }

    fn quota(&self) -> String {
        format!(
            "The quota of their control group allows {} on {} only {}: give the job (or container) a larger one, or start fewer \
             ranks.",
            self.who(),
            self.node.node,
            cores(self.node.n_cores),
        )
    }

    /// Returns the sentence about cores that several ranks are bound to while others have none.
    fn doubled(&self) -> Option<String> {
        let mut groups: BTreeMap<CoreSet, Vec<&RankTotals>> = BTreeMap::new();
        for rank in &self.ranks {
            groups.entry(mask(rank.usage.as_ref()?)).or_default().push(rank);
        }
        let used: BTreeSet<u32> = groups.keys().flat_map(CoreSet::cores).collect();
        let n_online = self.usages().map(|usage| usage.n_online).max()? as usize;
        let n_free = n_online.saturating_sub(used.len());
        let n_busy = |ranks: &[&RankTotals]| -> u64 {
            let usages = ranks.iter().filter_map(|rank| rank.usage.as_ref());
            usages.map(|usage| usage.n_busy_threads.max(1)).sum()
        };
        let (mask, ranks) =
            groups.iter().max_by_key(|(mask, ranks)| ranks.len() / mask.n_cores().max(1))?;
        // All ranks on some of the node's cores: that is what the job was given.
        let is_bound = 1 < groups.len() || mask.n_cores() == 1;
        let is_crowded = mask.n_cores() < ranks.len() && mask.n_cores() < n_online && is_bound;
        // On a shared machine the free cores may belong to other jobs, but there a core for each rank is asked for.
        let is_elsewhere_room = n_free != 0 || n_busy(&self.ranks) <= used.len() as u64;
        (is_crowded && is_elsewhere_room).then(|| {
            format!(
                "{} are bound to {} ({mask}) of {}, which has {n_online}: bind each rank to its own (`mpirun --bind-to core`), \
                 jobs beside each other to different ones, or let the job use more of them.",
                names(ranks),
                cores(mask.n_cores() as f64),
                self.node.node,
            )
        })
    }

    /// Returns the sentence about a rank with fewer cores than busy threads while others are free.
    fn confined(&self) -> Option<String> {
        let masks: Vec<CoreSet> = self.usages().map(mask).collect();
        let used: BTreeSet<u32> = masks.iter().flat_map(CoreSet::cores).collect();
        let n_online = self.usages().map(|usage| usage.n_online).max()? as usize;
        // All ranks on the same cores: that is what the job was given.
        let is_bound = 1 == masks.len() || masks.windows(2).any(|pair| pair[0] != pair[1]);
        let usages = self.ranks.iter().filter_map(|rank| Some((rank.rank, rank.usage.as_ref()?)));
        let lacking =
            |usage: &RankUsage| usage.n_busy_threads.saturating_sub(mask(usage).n_cores() as u64);
        let worst = usages.max_by_key(|(_, usage)| lacking(usage));
        let is_lacking =
            |usage: &RankUsage| is_bound && lacking(usage) != 0 && used.len() < n_online;
        let (rank, usage) = worst.filter(|(_, usage)| is_lacking(usage))?;
        let (mask, n_threads) = (mask(usage), usage.n_busy_threads);
        Some(format!(
            "Rank {rank} with {n_threads} busy threads is bound to {} ({mask}) of {}, which has {n_online}: give each rank a core \
             for each thread (`mpirun --map-by slot:PE={n_threads}`), or do not bind it (`--bind-to none`).",
            cores(mask.n_cores() as f64),
            self.node.node,
        ))
    }

    fn ranks_share(&self) -> String {
        let n_fit = self.node.n_cores.floor().max(1.0);
        format!(
            "{} share {} on {}: start at most {n_fit:.0} there, or give the job more cores.",
            self.who(),
            cores(self.node.n_cores),
            self.node.node,
        )
    }

    fn threads_share(&self) -> String {
        let n_fit = (self.node.n_cores / self.ranks.len() as f64).floor().max(1.0);
        format!(
            "{} with {} busy threads share {} on {}: let each rank use {n_fit:.0} (`OMP_NUM_THREADS={n_fit:.0}`), and idle threads \
             sleep (`OMP_WAIT_POLICY=passive`).",
            self.who(),
            self.n_busy(),
            cores(self.node.n_cores),
            self.node.node,
        )
    }

    fn foreign(&self, run: &Run<'_>) -> String {
        let slowest = self.ranks.iter().max_by(|a, b| a.runqueue_s().total_cmp(&b.runqueue_s()));
        let slowest = slowest.map(|rank| run.rank_in_words(rank)).unwrap_or_default();
        format!(
            "Other programs use {:.1} of the {} of {} on {}, most at the cost of {slowest}: end them, or run where the cores are \
             this job's own.",
            self.node.foreign_cores,
            cores(self.node.n_cores),
            self.who(),
            self.node.node,
        )
    }

    /// Returns `8 ranks`.
    fn who(&self) -> String {
        match self.ranks.len() {
            1 => "1 rank".to_owned(),
            n => format!("{n} ranks"),
        }
    }
}

/// Returns `Ranks 0 and 1`, or `12 ranks`.
fn names(ranks: &[&RankTotals]) -> String {
    let names: Vec<String> = ranks.iter().map(|rank| rank.rank.to_string()).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() && names.len() <= N_NAMED_MAX => {
            format!("Ranks {} and {last}", before.join(", "))
        }
        _ => format!("{} ranks", ranks.len()),
    }
}

/// Returns `2 cores`, `0.5 cores`.
fn cores(n_cores: f64) -> String {
    let is_whole = (n_cores - n_cores.round()).abs() < 0.05;
    match n_cores {
        n if is_whole && n.round() < 1.5 => "1 core".to_owned(),
        n if is_whole => format!("{n:.0} cores"),
        n => format!("{n:.1} cores"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;
    use run_record::summary::OpenMpRegion;

    /// Eight ranks that wait for 7.5 of 10 s, half of it in MPI, where they are for another 1.5 s.
    fn crowded() -> SummaryBuilder {
        SummaryBuilder::ranks(&[4.75; 8]).waiting(&[(3.75, 3.75); 8])
    }

    #[test]
    fn waiting_for_ranks_that_have_no_core_is_shortage_too() {
        let shortage = Shortage::of(&crowded().summary());
        assert!((shortage.waiting_s - 60.0).abs() < 1e-9, "{shortage:?}");
        let induced_s = 8.0 * 1.5 * 7.5 / 8.5;
        assert!((shortage.induced_s - induced_s).abs() < 1e-9, "{shortage:?}");
        let left = (12.0 - induced_s) / 42.0;
        assert!((shortage.mpi_share_left - left).abs() < 1e-9, "{shortage:?}");
    }

    #[test]
    fn a_little_waiting_holds_up_nobody() {
        let made = SummaryBuilder::ranks(&[5.0; 2]).waiting(&[(0.1, 0.0); 2]);
        assert!(Shortage::of(&made.summary()).mpi_share_left >= 1.0);
        let made = SummaryBuilder::ranks(&[5.0; 2]).waiting(&[(0.1, 0.0); 2]);
        check(findings, made, &[]);
        check(findings, SummaryBuilder::ranks(&[5.0; 2]), &[]);
    }

    #[test]
    fn threads_without_a_core_hold_up_their_team() {
        let mut summary = SummaryBuilder::ranks(&[9.0]).waiting(&[(2.0, 0.0)]).summary();
        summary.ranks[0].usage.as_mut().unwrap().runqueue_s = 5.0;
        let region =
            OpenMpRegion { time_s: 9.0, team_s: 18.0, waiting_s: 8.0, ..Default::default() };
        summary.openmp_regions = vec![region];
        assert!((Shortage::of(&summary).openmp_s - 3.0).abs() < 1e-9);
        let found = findings(&Run::new(&summary));
        assert!((found[0].share - 0.5).abs() < 1e-9, "{found:?}");
        assert!(found[0].text.contains("for 30.0 % for ranks and threads that do"), "{found:?}");
    }

    #[test]
    fn the_reason_is_that_of_the_worst_node() {
        let share = 0.75 + 0.15 * 7.5 / 8.5;
        let words = &["8 ranks share 2 cores on node0", "at most 2 there", "75.0 % of their time"];
        check(findings, crowded().cores("0-1", 2), &[(share, None, words)]);
        let words = &["8 ranks are bound to 1 core (0) of node0, which has 8"];
        check(findings, crowded().cores("0", 8), &[(share, None, words)]);
        let words = &["as many cores as they need"];
        check(findings, crowded().cores("0-7", 8), &[(share, None, words)]);
    }
}
