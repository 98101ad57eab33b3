//! Use of processors, memory and files by ranks, and the cores of nodes.

use super::roster::{RankProcess, Roster};
use events::{CoreSet, Cores, SampledTime};
use run_record::summary::{FileTotals, NodeUsage, RankUsage};
use std::collections::{BTreeMap, BTreeSet};

/// Time in which the thread that called `MPI_Init` waited for a core, in s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CoreWait {
    pub(super) compute_s: f64,
    pub(super) mpi_s: f64,
}

/// Returns how long a rank waited for a core; `None` where the system does not tell.
pub(super) fn core_wait(rank: &RankProcess<'_>) -> Option<CoreWait> {
    let usage = &rank.report.usage;
    if usage.is_empty() {
        return None;
    }
    let (elapsed_s, mpi_s) = (rank.elapsed_s(), rank.mpi_s());
    let waited_s = seconds(usage.main_runqueue_ns).min(elapsed_s);
    let sampled = |share: fn(SampledTime) -> Option<f64>| parts(rank, share);
    let (compute, mpi) = sampled(SampledTime::runqueue_share);
    // The kernel tells the sum exactly; the samples tell where it was.
    let share =
        if 0.0 < compute + mpi { compute / (compute + mpi) } else { 1.0 - mpi_s / elapsed_s };
    let compute_s = (waited_s * share).min(elapsed_s - mpi_s).max(0.0);
    Some(CoreWait { compute_s, mpi_s: (waited_s - compute_s).clamp(0.0, mpi_s) })
}

/// Returns the parts of the main thread's computing and MPI time with this sampled share, in s.
fn parts(rank: &RankProcess<'_>, share: fn(SampledTime) -> Option<f64>) -> (f64, f64) {
    let regions = rank.main_thread().map_or(&[][..], |thread| &thread.regions);
    regions.iter().fold((0.0, 0.0), |(compute_s, mpi_s), region| {
        let compute = share(region.compute).unwrap_or(0.0);
        let mpi = share(region.mpi).unwrap_or(0.0);
        (
            compute_s + compute * rank.clock.seconds(region.compute_ticks),
            mpi_s + mpi * rank.call_s(region, region.mpi_ticks),
        )
    })
}

fn blocked_share(time: SampledTime) -> Option<f64> {
    Some((1.0 - time.cpu_share()? - time.runqueue_share()?).max(0.0))
}

/// Returns what a rank used; `None` where the system does not tell.
pub(super) fn of_rank(rank: &RankProcess<'_>) -> Option<RankUsage> {
    let (usage, cores) = (&rank.report.usage, &rank.report.cores);
    let wait = core_wait(rank)?;
    let blocked_s =
        rank.elapsed_s() - seconds(usage.main_cpu_ns.saturating_add(usage.main_runqueue_ns));
    let blocked_s = blocked_s.max(0.0);
    Some(RankUsage {
        cpu_s: seconds(usage.cpu_ns),
        system_s: seconds(usage.system_ns),
        runqueue_s: seconds(usage.runqueue_ns),
        compute_runqueue_s: wait.compute_s,
        mpi_runqueue_s: wait.mpi_s,
        blocked_s,
        compute_blocked_s: parts(rank, blocked_share).0.min(blocked_s),
        page_faults: usage.n_minor_faults.saturating_add(usage.n_major_faults),
        context_switches: usage.n_voluntary_switches.saturating_add(usage.n_involuntary_switches),
        memory_max_bytes: usage.memory_max_bytes,
        files: FileTotals {
            read_bytes: usage.read_bytes,
            written_bytes: usage.written_bytes,
            calls: usage.n_reads.saturating_add(usage.n_writes),
        },
        n_busy_threads: usage.n_busy_threads,
        cores_allowed: cores.n_allowed(),
        cores: cores.mask.to_string(),
        n_online: cores.n_online,
        throttled_s: seconds(cores.throttled_ns),
    })
}

/// Returns the nodes with their cores; those of which nothing is known are omitted.
pub(super) fn of_nodes(roster: &Roster<'_>) -> Vec<NodeUsage> {
    let mut nodes: BTreeMap<usize, Vec<&RankProcess<'_>>> = BTreeMap::new();
    for rank in &roster.ranks {
        if 0.0 < rank.report.cores.n_allowed() {
            nodes.entry(rank.node).or_default().push(rank);
        }
    }
    nodes.values().filter_map(|ranks| of_node(ranks)).collect()
}

fn of_node(ranks: &[&RankProcess<'_>]) -> Option<NodeUsage> {
    let cores = || ranks.iter().map(|rank| &rank.report.cores);
    let n_cores = n_cores(cores());
    let n_busy: u64 = ranks.iter().map(|rank| rank.report.usage.n_busy_threads.max(1)).sum();
    let elapsed_s = ranks.iter().map(|rank| rank.elapsed_s()).fold(0.0, f64::max);
    Some(NodeUsage {
        node: ranks.first()?.report.host.clone(),
        n_ranks: ranks.len(),
        n_cores,
        ranks_per_core: ranks.len() as f64 / n_cores,
        threads_per_core: n_busy as f64 / n_cores,
        // The last reading may come after the end of a short run.
        foreign_cores: (foreign_s(ranks) / elapsed_s.max(f64::MIN_POSITIVE)).min(n_in_masks(ranks)),
    })
}

/// Returns the cores that these processes may use together; quotas are those of a control group of all of them.
fn n_cores<'a>(cores: impl Iterator<Item = &'a Cores> + Clone) -> f64 {
    let union: BTreeSet<u32> = cores.clone().flat_map(|cores| cores.mask.cores()).collect();
    let quotas: Option<Vec<f64>> = cores.map(|cores| cores.quota).collect();
    let quota = quotas.map_or(f64::INFINITY, |quotas| quotas.into_iter().fold(0.0, f64::max));
    let n_cores = if union.is_empty() { f64::INFINITY } else { union.len() as f64 };
    n_cores.min(quota)
}

/// Returns the number of cores that some rank may use, quotas aside.
fn n_in_masks(ranks: &[&RankProcess<'_>]) -> f64 {
    let cores = ranks.iter().flat_map(|rank| rank.report.cores.mask.cores());
    cores.collect::<BTreeSet<u32>>().len() as f64
}

/// Returns the processor time of other processes on the cores of these ranks, in s.
fn foreign_s(ranks: &[&RankProcess<'_>]) -> f64 {
    let mut groups: BTreeMap<&CoreSet, Vec<&RankProcess<'_>>> = BTreeMap::new();
    for rank in ranks {
        groups.entry(&rank.report.cores.mask).or_default().push(rank);
    }
    let n_cores = groups.keys().flat_map(|mask| mask.cores()).collect::<BTreeSet<u32>>().len();
    let is_apart = groups.keys().map(|mask| mask.n_cores()).sum::<usize>() == n_cores;
    if is_apart {
        return groups.values().map(|group| foreign_of_group_s(group, group)).sum();
    }
    // Masks that overlap: the largest one stands for all.
    let largest = groups.iter().max_by_key(|(mask, _)| mask.n_cores());
    largest.map_or(0.0, |(_, group)| foreign_of_group_s(group, ranks))
}

/// Returns the busy time of a group's cores without that of `users`, in s.
fn foreign_of_group_s(group: &[&RankProcess<'_>], users: &[&RankProcess<'_>]) -> f64 {
    let busy_s = group.iter().map(|rank| seconds(rank.report.cores.busy_ns)).fold(0.0, f64::max);
    let own_s: f64 = users.iter().map(|rank| seconds(rank.report.usage.cpu_ns)).sum();
    (busy_s - own_s).max(0.0)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{measured, process, process_with, region};
    use events::Usage;
    use wire::ProcessReport;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A rank of 10 s of which 4 s are in MPI, on these cores.
    fn rank(number: u32, mask: &str, (cpu_s, waited_s): (u64, u64)) -> ProcessReport {
        let mut region = region(number, (0, 0x10), "MPI_Recv", 1, (4.0, 6.0));
        region.compute = SampledTime { elapsed: 100, cpu: 50, runqueue: 25 };
        region.mpi = SampledTime { elapsed: 100, cpu: 0, runqueue: 12 };
        let usage = Usage {
            cpu_ns: cpu_s * SECOND_NS,
            main_cpu_ns: cpu_s * SECOND_NS,
            main_runqueue_ns: waited_s * SECOND_NS,
            n_busy_threads: 1,
            ..Usage::default()
        };
        let mask = CoreSet::parse(mask).unwrap();
        let cores = Cores { mask, n_online: 4, busy_ns: 15 * SECOND_NS, ..Cores::default() };
        ProcessReport { usage, cores, ..process_with(0, number, vec![region]) }
    }

    #[test]
    fn samples_tell_where_a_rank_waited_and_the_kernel_how_long() {
        let measured = measured([rank(0, "0-1", (5, 3))]);
        let roster = Roster::new(&measured, 0.0);
        let wait = core_wait(&roster.ranks[0]).unwrap();
        // 25 % of 6 s and 12 % of 4 s.
        let expected = 3.0 * 1.5 / (1.5 + 0.48);
        assert!((wait.compute_s - expected).abs() < 1e-9, "{wait:?}");
        assert!((wait.compute_s + wait.mpi_s - 3.0).abs() < 1e-9, "{wait:?}");
        let usage = of_rank(&roster.ranks[0]).unwrap();
        assert!((usage.blocked_s - 2.0).abs() < 1e-6, "{usage:?}");
        assert!((usage.compute_blocked_s - 1.5).abs() < 1e-6, "{usage:?}");
    }

    #[test]
    fn a_rank_of_which_nothing_is_known_has_no_usage() {
        let measured = measured([process(0, 0)]);
        let roster = Roster::new(&measured, 0.0);
        assert_eq!(of_rank(&roster.ranks[0]), None);
        assert_eq!(of_nodes(&roster), []);
    }

    /// Checks cores, ranks per core and foreign cores of the only node.
    #[track_caller]
    fn check(processes: Vec<ProcessReport>, expected: (f64, f64, f64)) {
        let measured = measured(processes);
        let nodes = of_nodes(&Roster::new(&measured, 0.0));
        let found = (nodes[0].n_cores, nodes[0].ranks_per_core, nodes[0].foreign_cores);
        let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9;
        let pairs = [(found.0, expected.0), (found.1, expected.1), (found.2, expected.2)];
        assert!(pairs.into_iter().all(near), "{nodes:?}");
    }

    #[test]
    fn cores_of_a_node_are_those_of_its_ranks_together() {
        let two = |a, b| vec![rank(0, a, (5, 3)), rank(1, b, (5, 3))];
        check(two("0-1", "0-1"), (2.0, 1.0, 0.5));
        check(two("0", "1"), (2.0, 1.0, 2.0));
        check(two("0", "0"), (1.0, 2.0, 0.5));
        check(two("0", "0-1"), (2.0, 1.0, 0.5));
        let mut limited = two("0-3", "0-3");
        limited.iter_mut().for_each(|rank| rank.cores.quota = Some(0.5));
        check(limited, (0.5, 4.0, 0.5));
        let mut late = two("0-1", "0-1");
        late.iter_mut().for_each(|rank| rank.cores.busy_ns = 990 * SECOND_NS);
        check(late, (2.0, 1.0, 2.0));
    }
}
