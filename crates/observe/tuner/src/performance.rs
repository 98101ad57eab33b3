//! Efficiencies of the last few seconds, from differences between reports.

use crate::sample::{Sample, Span, Spot};
use crate::usage::usage;
use events::{CodeAddress, ModuleMap, Rank};
use models::pop::{self, RankTime};
use std::collections::{BTreeMap, HashMap};
use tunlets::Performance;
use wire::{ProcessReport, ThreadReport};

/// Time between two computations of efficiencies, in s.
const EVERY_S: f64 = 1.0;
/// The same where levers are decided by them.
const EVERY_S_WITH_LEVERS: f64 = 0.15;
/// Maximum number of regions compared per rank.
const N_REGIONS_MAX: usize = 4096;

/// The reports of all ranks.
#[derive(Debug, Default)]
pub(super) struct EfficiencySampler {
    newest: BTreeMap<Rank, Sample>,
    last: BTreeMap<Rank, Sample>,
    nodes: BTreeMap<Rank, usize>,
    node_numbers: HashMap<String, usize>,
    modules: HashMap<Rank, ModuleMap>,
    /// Time before which no efficiencies are computed, in s.
    next_s: f64,
    /// Whether levers are decided by these numbers.
    has_levers: bool,
    n_ranks_of_world: usize,
}

impl EfficiencySampler {
    /// Creates a sampler; `has_levers` if levers are decided by its numbers.
    pub(super) fn new(has_levers: bool) -> Self {
        Self { has_levers, ..Self::default() }
    }

    /// Takes a report that was made at `time_s`.
    pub(super) fn see(&mut self, rank: Rank, report: &ProcessReport, time_s: f64) {
        if !report.modules.is_empty() {
            self.modules.insert(rank, ModuleMap::parse(&report.modules).0);
        }
        self.n_ranks_of_world = report.size as usize;
        let n_nodes = self.node_numbers.len();
        let node = *self.node_numbers.entry(report.node.clone()).or_insert(n_nodes);
        self.nodes.insert(rank, node);
        let main = report.threads.iter().find(|thread| thread.idx == report.main_thread);
        let Some(main) = main.filter(|_| 0.0 < report.clock.ns_per_tick()) else { return };
        let sample = self.sample(rank, report, main, time_s);
        self.newest.insert(rank, sample);
    }

    /// Forgets a rank that ended, so that it is not waited for.
    pub(super) fn forget(&mut self, rank: Rank) {
        self.newest.remove(&rank);
        self.last.remove(&rank);
        self.modules.remove(&rank);
    }

    fn sample(
        &self,
        rank: Rank,
        report: &ProcessReport,
        main: &ThreadReport,
        time_s: f64,
    ) -> Sample {
        let mpi_ticks: u64 = main.regions.iter().map(|region| region.mpi_ticks).sum();
        let since = main.since.0.max(report.init_end.0);
        let open_ticks = main.in_call.map_or(0, |_| report.now.0.saturating_sub(since));
        let mut compute_s = HashMap::new();
        let modules = self.modules.get(&rank);
        for region in main.regions.iter().take(N_REGIONS_MAX) {
            if let Some(spot) = modules.and_then(|modules| spot(modules, region.address)) {
                *compute_s.entry(spot).or_insert(0.0) += report.clock.seconds(region.compute_ticks);
            }
        }
        let mpi_s = report.clock.seconds(mpi_ticks.saturating_add(open_ticks));
        let (usage, cores) = (report.usage, report.cores.clone());
        Sample { time_s, mpi_s, compute_s, usage, cores }
    }

    /// Returns the efficiencies since the last ones, once every rank has a new report; `name` names the place before a
    /// return address.
    pub(super) fn take(
        &mut self,
        now_s: f64,
        n_ranks: usize,
        name: impl FnOnce(&CodeAddress<'_>) -> String,
    ) -> Option<Performance> {
        if now_s < self.next_s {
            return None;
        }
        let is_newer = |(rank, sample): (&Rank, &Sample)| {
            self.last.get(rank).is_none_or(|last| last.time_s < sample.time_s)
        };
        let n_expected =
            if self.last.is_empty() { n_ranks.max(self.n_ranks_to_begin()) } else { n_ranks };
        let is_complete = n_expected <= self.newest.len() && n_ranks != 0;
        if !is_complete || !self.newest.iter().all(is_newer) {
            if !self.has_levers {
                self.next_s = now_s + EVERY_S;
            }
            return None;
        }
        self.next_s = now_s + if self.has_levers { EVERY_S_WITH_LEVERS } else { EVERY_S };
        let last = std::mem::replace(&mut self.last, self.newest.clone());
        if last.len() < n_ranks {
            return self.at_start();
        }
        self.between(&last, name)
    }

    /// Number of ranks that have to be there before anything is told: with levers all, since they are told their cores.
    fn n_ranks_to_begin(&self) -> usize {
        if self.has_levers { self.n_ranks_of_world } else { 0 }
    }

    /// Returns what is known before anything can be compared: cores and memory; the efficiencies are those of ranks
    /// without any loss.
    fn at_start(&self) -> Option<Performance> {
        if !self.has_levers {
            return None;
        }
        let spans: Vec<Span<'_>> =
            self.newest.iter().map(|(rank, sample)| (*rank, sample, sample)).collect();
        let now_s = spans.iter().map(|span| span.2.time_s).fold(f64::NEG_INFINITY, f64::max);
        Some(Performance {
            span_s: (now_s, now_s),
            load_balance: 1.0,
            communication_efficiency: 1.0,
            parallel_efficiency: 1.0,
            useful_s: vec![0.0; spans.last()?.0.0 as usize + 1],
            culprit: None,
            usage: usage(&spans, &self.nodes),
        })
    }

    fn between(
        &self,
        last: &BTreeMap<Rank, Sample>,
        name: impl FnOnce(&CodeAddress<'_>) -> String,
    ) -> Option<Performance> {
        let spans =
            self.newest.iter().filter_map(|(rank, now)| Some((*rank, last.get(rank)?, now)));
        let spans: Vec<Span<'_>> = spans.collect();
        let time = |(rank, before, now): &Span<'_>| RankTime {
            node: self.nodes.get(rank).copied().unwrap_or_default(),
            elapsed_s: now.time_s - before.time_s,
            mpi_s: (now.mpi_s - before.mpi_s).max(0.0),
        };
        let times: Vec<RankTime> = spans.iter().map(time).collect();
        let efficiencies = pop::efficiencies(&times)?;
        let useful_s = |time: &RankTime| (time.elapsed_s - time.mpi_s).max(0.0);
        let from_s = spans.iter().map(|span| span.1.time_s).fold(f64::INFINITY, f64::min);
        let to_s = spans.iter().map(|span| span.2.time_s).fold(f64::NEG_INFINITY, f64::max);
        let culprit = culprit(&spans);
        let mut useful_by_rank_s = vec![0.0; spans.last()?.0.0 as usize + 1];
        for ((rank, ..), time) in spans.iter().zip(&times) {
            useful_by_rank_s[rank.0 as usize] = useful_s(time);
        }
        let named = culprit.map(|(rank, (module, offset), above_s)| {
            (rank, name(&CodeAddress { module: &module, file_offset: offset }), above_s)
        });
        Some(Performance {
            span_s: (from_s, to_s),
            load_balance: efficiencies.load_balance,
            communication_efficiency: efficiencies.communication,
            parallel_efficiency: efficiencies.parallel,
            useful_s: useful_by_rank_s,
            culprit: named,
            usage: usage(&spans, &self.nodes),
        })
    }
}

fn spot(modules: &ModuleMap, address: u64) -> Option<Spot> {
    let found = modules.locate(address)?;
    Some((found.module.to_owned(), found.file_offset))
}

/// Returns the rank that computed longest, the place where it exceeds the mean of the others most, and the excess in s.
fn culprit(spans: &[Span<'_>]) -> Option<(Rank, Spot, f64)> {
    let grown_s = |(_, before, now): &Span<'_>, spot: &Spot| {
        let of = |sample: &Sample| sample.compute_s.get(spot).copied().unwrap_or_default();
        (of(now) - of(before)).max(0.0)
    };
    let all_s =
        |span: &Span<'_>| -> f64 { span.2.compute_s.keys().map(|spot| grown_s(span, spot)).sum() };
    let longest = spans.iter().max_by(|a, b| all_s(a).total_cmp(&all_s(b)))?;
    let n_others = spans.len().checked_sub(1).filter(|n_others| *n_others != 0)? as f64;
    let above_s = |spot: &Spot| {
        let others = spans.iter().filter(|span| span.0 != longest.0);
        grown_s(longest, spot) - others.map(|span| grown_s(span, spot)).sum::<f64>() / n_others
    };
    let worst = longest.2.compute_s.keys().map(|spot| (above_s(spot), spot));
    let (above_s, spot) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (0.0 < above_s).then(|| (longest.0, spot.clone(), above_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time_s: f64, mpi_s: f64, compute_s: f64) -> Sample {
        let spot = ("/bin/program".to_owned(), 64);
        let compute_s = HashMap::from([(spot, compute_s)]);
        Sample { time_s, mpi_s, compute_s, ..Sample::default() }
    }

    #[test]
    fn efficiencies_are_those_between_two_reports_of_every_rank() {
        let mut efficiency = EfficiencySampler::default();
        let see = |efficiency: &mut EfficiencySampler, rank: u32, time_s: f64, mpi_s: f64| {
            efficiency.newest.insert(Rank(rank), sample(time_s, mpi_s, time_s - mpi_s));
        };
        see(&mut efficiency, 0, 10.0, 5.0);
        assert_eq!(efficiency.take(1.0, 2, |_| String::new()), None);
        see(&mut efficiency, 1, 10.0, 0.0);
        assert_eq!(efficiency.take(2.0, 2, |_| String::new()), None, "nothing to compare with");
        see(&mut efficiency, 0, 11.0, 5.5);
        assert_eq!(efficiency.take(3.0, 2, |_| String::new()), None, "a rank was not seen again");
        see(&mut efficiency, 1, 11.0, 0.0);
        let found = efficiency.take(4.0, 2, |_| String::new()).unwrap();
        assert!((found.load_balance - 0.75).abs() < 1e-9, "{found:?}");
        assert_eq!((found.span_s, found.useful_s), ((10.0, 11.0), vec![0.5, 1.0]));
        let (rank, _, above_s) = found.culprit.unwrap();
        assert_eq!((rank, above_s), (Rank(1), 0.5));
    }
}
