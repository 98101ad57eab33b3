//! Use of processors and memory by all ranks between two of their reports.

use crate::sample::{Sample, Span};
use events::Rank;
use events::usage::{Cores, SMALL_PAGE_BYTES};
use std::collections::{BTreeMap, HashMap};
use tunlets::RankUsage;

/// Returns the use by each rank; ranks of which nothing was reported have zeros.
pub(super) fn usage(spans: &[Span<'_>], nodes: &BTreeMap<Rank, usize>) -> Vec<RankUsage> {
    let node_of = |rank: &Rank| nodes.get(rank).copied().unwrap_or_default();
    let mut loads: HashMap<(usize, u32), f64> = HashMap::new();
    for (rank, _, now) in spans {
        let share = 1.0 / now.cores.mask.n_cores().max(1) as f64;
        for core in now.cores.mask.cores() {
            *loads.entry((node_of(rank), core)).or_insert(0.0) += share;
        }
    }
    let mut cpu: HashMap<usize, f64> = HashMap::new();
    for span in spans {
        *cpu.entry(node_of(&span.0)).or_insert(0.0) += rate(*span, |at| at.usage.cpu_ns) * 1e-9;
    }
    let of_rank = |span: &Span<'_>| {
        let node = node_of(&span.0);
        let load = |core: u32| loads.get(&(node, core)).copied().unwrap_or_default();
        let busy = rate(*span, |at| at.cores.busy_ns) * 1e-9;
        let ranks_per_core = crowd(&span.2.cores, load);
        let foreign = (busy - cpu.get(&node).copied().unwrap_or_default()).max(0.0);
        RankUsage { node, ranks_per_core, foreign, ..of_rank_alone(*span) }
    };
    spans.iter().map(of_rank).collect()
}

fn of_rank_alone(span: Span<'_>) -> RankUsage {
    let (rank, before, now) = span;
    let elapsed_s = now.time_s - before.time_s;
    let mpi_s = (now.mpi_s - before.mpi_s).max(0.0);
    RankUsage {
        rank,
        cores_allowed: now.cores.n_allowed(),
        cores_bound: now.cores.mask.n_cores() as f64,
        cores_online: now.cores.n_online,
        n_threads: now.usage.n_threads,
        cpu: rate(span, |at| at.usage.cpu_ns) * 1e-9,
        runqueue: rate(span, |at| at.usage.main_runqueue_ns) * 1e-9,
        mpi: if 0.0 < elapsed_s { mpi_s / elapsed_s } else { 0.0 },
        faults_per_s: repeated_faults_per_s(span),
        memory_max_bytes: now.usage.memory_max_bytes,
        ..RankUsage::default()
    }
}

/// Page faults per second beyond those by which the memory grew.
fn repeated_faults_per_s(span: Span<'_>) -> f64 {
    let faults = rate(span, |at| at.usage.n_minor_faults);
    let grown = rate(span, |at| at.usage.memory_max_bytes / SMALL_PAGE_BYTES as u64);
    (faults - grown).max(0.0)
}

/// Growth of a number per second; 0 in no time.
fn rate((_, before, now): Span<'_>, number: impl Fn(&Sample) -> u64) -> f64 {
    let elapsed_s = now.time_s - before.time_s;
    let grown = number(now).saturating_sub(number(before)) as f64;
    if 0.0 < elapsed_s { grown / elapsed_s } else { 0.0 }
}

/// Ranks per core for a process with these cores, of which each has a load in ranks; a quota makes cores fewer.
fn crowd(cores: &Cores, load: impl Fn(u32) -> f64) -> f64 {
    let n_cores = cores.mask.n_cores() as f64;
    if n_cores == 0.0 {
        return 0.0;
    }
    let mean = cores.mask.cores().map(load).sum::<f64>() / n_cores;
    mean * n_cores / cores.n_allowed().max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::usage::{CoreSet, Usage};

    fn sample(time_s: f64, mask: &str, quota: Option<f64>, cpu_s: u64) -> Sample {
        let mask = CoreSet::parse(mask).unwrap();
        let cores = Cores { mask, quota, busy_ns: 3 * cpu_s * 1_000_000_000, ..Cores::default() };
        let usage = Usage { cpu_ns: cpu_s * 1_000_000_000, ..Usage::default() };
        Sample { time_s, cores, usage, ..Sample::default() }
    }

    #[track_caller]
    fn check(masks: &[&str], quota: Option<f64>, expected: &[f64]) {
        let before: Vec<Sample> = masks.iter().map(|mask| sample(0.0, mask, quota, 0)).collect();
        let now: Vec<Sample> = masks.iter().map(|mask| sample(1.0, mask, quota, 1)).collect();
        let ranks = (0..).map(Rank);
        let pairs = before.iter().zip(&now);
        let spans: Vec<Span<'_>> = ranks.zip(pairs).map(|(rank, (a, b))| (rank, a, b)).collect();
        let found = usage(&spans, &BTreeMap::new());
        let crowds: Vec<f64> = found.iter().map(|rank| rank.ranks_per_core).collect();
        assert_eq!(crowds, expected);
        assert!((found[0].cpu - 1.0).abs() < 1e-9);
        let foreign = (3.0 - masks.len() as f64).max(0.0);
        assert!((found[0].foreign - foreign).abs() < 1e-9);
    }

    #[test]
    fn ranks_share_cores_by_their_masks_and_quotas() {
        check(&["0", "1"], None, &[1.0, 1.0]);
        check(&["0", "0"], None, &[2.0, 2.0]);
        check(&["0-1", "0-1"], None, &[1.0, 1.0]);
        check(&["0-1", "0-1", "0-1", "0-1"], None, &[2.0, 2.0, 2.0, 2.0]);
        check(&["0-1", "0-1"], Some(1.0), &[2.0, 2.0]);
        check(&["", ""], None, &[0.0, 0.0]);
    }

    #[test]
    fn faults_by_which_memory_grew_do_not_count() {
        let at = |time_s, n_minor_faults, memory_max_bytes| {
            let usage = Usage { n_minor_faults, memory_max_bytes, ..Usage::default() };
            Sample { time_s, usage, ..Sample::default() }
        };
        let faults = |before: &Sample, now: &Sample| {
            usage(&[(Rank(0), before, now)], &BTreeMap::new())[0].faults_per_s
        };
        let (first, grown, steady) =
            (at(1.0, 100, 1 << 20), at(3.0, 356, 2 << 20), at(5.0, 556, 2 << 20));
        assert!(faults(&first, &grown) < 1e-9);
        assert!((faults(&grown, &steady) - 100.0).abs() < 1e-9);
    }
}
