//! Efficiencies of worlds, and of a run of several worlds.
//!
//! A world's efficiencies are TALP's (`models::pop`). A job script may run several programs, and a program may
//! spawn others: the efficiency of the whole run is the mean over its worlds, weighted by their rank time (ranks
//! times elapsed time). Parallel efficiency thus keeps its meaning for one world: the useful time of all ranks
//! divided by the time they existed. Load balance is defined so that the product holds: MPI parallel efficiency
//! divided by communication efficiency. Core availability and the factor of OpenMP, which is what remains of parallel
//! efficiency, multiply to it; the latter is not split over several worlds.

use super::roster::{RankProcess, Roster};
use super::usage::{self, CoreWait};
use events::OpenMpCounters;
use models::pop::{self, OpenMpEfficiencies, RankTime, TeamTime};
use run_record::summary::Efficiencies;

/// Returns the efficiencies of a world; `None` if it has no elapsed time.
pub(super) fn of_ranks(ranks: &[RankProcess<'_>]) -> Option<Efficiencies> {
    let longest_s = ranks.iter().map(RankProcess::elapsed_s).fold(0.0, f64::max);
    let waits: Option<Vec<CoreWait>> = ranks.iter().map(usage::core_wait).collect();
    let time = |(at, rank): (usize, &RankProcess<'_>)| {
        let (elapsed_s, mpi_s) = (rank.elapsed_s(), rank.mpi_s());
        // Time outside MPI counts as useful until the end of the longest rank. For a rank that died, the
        // time after its end does not.
        let dead_s = if rank.report.finalizing { 0.0 } else { longest_s - elapsed_s };
        let waiting_s = waits.as_ref().map_or(0.0, |waits| waits[at].compute_s);
        RankTime { node: rank.node, elapsed_s, mpi_s: mpi_s + dead_s + waiting_s }
    };
    let times: Vec<RankTime> = ranks.iter().enumerate().map(time).collect();
    let openmp = openmp(ranks);
    let pop = pop::efficiencies(&times)?;
    let efficiencies = Efficiencies {
        parallel_efficiency: pop.parallel * openmp.map_or(1.0, |openmp| openmp.parallel),
        openmp_parallel_efficiency: openmp.map(|openmp| openmp.parallel),
        openmp_load_balance: openmp.map(|openmp| openmp.load_balance),
        openmp_scheduling_efficiency: openmp.map(|openmp| openmp.scheduling),
        openmp_serialization_efficiency: openmp.map(|openmp| openmp.serialization),
        mpi_parallel_efficiency: pop.parallel,
        communication_efficiency: pop.communication,
        load_balance: pop.load_balance,
        load_balance_in: pop.load_balance_in,
        load_balance_out: pop.load_balance_out,
        ..Efficiencies::default()
    };
    let waited_s = waits.map(|waits| waits.iter().map(|wait| wait.compute_s + wait.mpi_s).sum());
    let all_s = longest_s * ranks.len() as f64;
    Some(match waited_s {
        Some(waited_s) => with_cores(efficiencies, 1.0 - share(waited_s, all_s)),
        None => efficiencies,
    })
}

/// Returns the factors of OpenMP; `None` in a world without its regions.
fn openmp(ranks: &[RankProcess<'_>]) -> Option<OpenMpEfficiencies> {
    ranks.iter().any(|rank| !rank.report.openmp.is_empty()).then_some(())?;
    let times: Vec<TeamTime> = ranks.iter().map(team_time).collect();
    pop::openmp_efficiencies(&times)
}

/// Splits the share of time with a core off from the efficiencies, so that the factors still multiply.
///
/// Without waiting for cores, communication efficiency is the longest useful time over the elapsed time; with it, over
/// the average time that a rank had a core, and not more than 1.
fn with_cores(pop: Efficiencies, core_availability: f64) -> Efficiencies {
    let communication = share(pop.communication_efficiency, core_availability);
    let load_balance = share(pop.mpi_parallel_efficiency, communication * core_availability);
    let load_balance_in = pop.load_balance_in.max(load_balance);
    Efficiencies {
        mpi_parallel_efficiency: load_balance * communication,
        core_availability: Some(core_availability),
        communication_efficiency: communication,
        load_balance,
        load_balance_in,
        load_balance_out: share(load_balance, load_balance_in),
        ..pop
    }
}

/// Splits communication efficiency into serialization and transfer efficiency; `transfer` is that of the replay.
pub(super) fn split(pop: &Efficiencies, transfer: f64) -> (f64, f64) {
    let serialization = share(pop.communication_efficiency, transfer);
    (serialization, share(pop.communication_efficiency, serialization))
}

/// Returns the efficiencies of a run from those of its worlds.
pub(super) fn of_run(roster: &Roster<'_>, by_world: &[Option<Efficiencies>]) -> Efficiencies {
    let weight = |idx: usize| {
        let ranks = roster.of_world(&roster.worlds[idx]);
        ranks.iter().map(RankProcess::elapsed_s).fold(0.0, f64::max) * ranks.len() as f64
    };
    let worlds = by_world.iter().enumerate();
    let weighted: Vec<(f64, Efficiencies)> =
        worlds.filter_map(|(idx, pop)| Some((weight(idx), (*pop)?))).collect();
    match weighted[..] {
        [] => Efficiencies::default(),
        [(_, only)] => only,
        _ => mean(&weighted),
    }
}

fn mean(worlds: &[(f64, Efficiencies)]) -> Efficiencies {
    let total: f64 = worlds.iter().map(|(weight, _)| weight).sum();
    let mean = |of: fn(&Efficiencies) -> f64| {
        worlds.iter().map(|(weight, pop)| weight * of(pop)).sum::<f64>() / total
    };
    let parallel = mean(|pop| pop.parallel_efficiency);
    let communication = mean(|pop| pop.communication_efficiency);
    let mpi_parallel = mean(|pop| pop.mpi_parallel_efficiency);
    let cores = |(weight, pop): &(f64, Efficiencies)| Some(weight * pop.core_availability?);
    let cores: Option<f64> = worlds.iter().map(cores).sum();
    let core_availability = cores.map(|sum| sum / total);
    let load_balance = share(mpi_parallel, communication);
    let has_openmp = worlds.iter().any(|(_, pop)| pop.openmp_parallel_efficiency.is_some());
    let without_openmp = mpi_parallel * core_availability.unwrap_or(1.0);
    // Clamped to at least `load_balance`, so that the factor between nodes does not exceed 1.
    let load_balance_in = mean(|pop| pop.load_balance_in).max(load_balance);
    Efficiencies {
        parallel_efficiency: parallel,
        mpi_parallel_efficiency: mpi_parallel,
        openmp_parallel_efficiency: has_openmp.then(|| share(parallel, without_openmp)),
        core_availability,
        communication_efficiency: communication,
        load_balance,
        load_balance_in,
        load_balance_out: share(load_balance, load_balance_in),
        ..split_of_worlds(worlds, communication)
    }
}

/// Returns serialization and transfer efficiency if every world has them.
fn split_of_worlds(worlds: &[(f64, Efficiencies)], communication: f64) -> Efficiencies {
    let total: f64 = worlds.iter().map(|(weight, _)| weight).sum();
    let ideal = |(weight, pop): &(f64, Efficiencies)| Some(weight * pop.transfer_efficiency?);
    let transfer: Option<f64> = worlds.iter().map(ideal).sum();
    let transfer = transfer.map(|sum| sum / total);
    Efficiencies {
        transfer_efficiency: transfer,
        serialization_efficiency: transfer.map(|transfer| share(communication, transfer)),
        ..Efficiencies::default()
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 { 1.0 } else { (part / whole).min(1.0) }
}

/// Returns the times of a rank's threads.
pub(super) fn team_time(rank: &RankProcess<'_>) -> TeamTime {
    let sum = |ticks: fn(&OpenMpCounters) -> u64| {
        rank.clock.seconds(rank.report.openmp.iter().map(ticks).sum())
    };
    let n_threads = rank.report.openmp.iter().map(|region| region.n_threads_max).max();
    let first_in_mpi = |region: &OpenMpCounters| {
        let n_threads = region.team_ticks as f64 / region.elapsed_ticks.max(1) as f64;
        n_threads * rank.clock.seconds(region.mpi_first_ticks)
    };
    let in_mpi_s: f64 = rank.report.openmp.iter().map(first_in_mpi).sum();
    TeamTime {
        n_threads: n_threads.unwrap_or(1) as f64,
        outside_mpi_s: rank.elapsed_s() - rank.mpi_s(),
        regions_s: sum(|region| region.elapsed_ticks.saturating_sub(region.mpi_first_ticks)),
        teams_s: (sum(|region| region.team_ticks) - in_mpi_s).max(0.0),
        busy_s: sum(|region| region.busy_ticks),
        late_s: sum(|region| region.late_ticks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{SECOND, measured, process_with, region};
    use wire::ProcessReport;

    fn rank(world: u64, rank: u32, mpi_s: f64) -> ProcessReport {
        process_with(world, rank, vec![region(rank, (0, 0x10), "MPI_Recv", 1, (mpi_s, 1.0))])
    }

    /// Checks parallel and communication efficiency, load balance, and load balance within and between nodes.
    #[track_caller]
    fn check(processes: Vec<ProcessReport>, expected: [f64; 5]) {
        let measured = measured(processes);
        let roster = Roster::new(&measured, 0.0);
        let worlds = roster.worlds.iter().map(|world| of_ranks(roster.of_world(world)));
        let pop = of_run(&roster, &worlds.collect::<Vec<_>>());
        let found = [
            pop.parallel_efficiency,
            pop.communication_efficiency,
            pop.load_balance,
            pop.load_balance_in,
            pop.load_balance_out,
        ];
        let close = found.iter().zip(expected).all(|(found, e)| (found - e).abs() < 1e-6);
        assert!(close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn one_world_has_the_efficiencies_of_talp() {
        check(vec![], [0.0; 5]);
        check(vec![rank(0, 0, 2.0), rank(0, 1, 6.0)], [0.6, 0.8, 0.75, 0.75, 1.0]);
        let mut other_node = rank(0, 1, 6.0);
        other_node.node = "node1".into();
        check(vec![rank(0, 0, 2.0), other_node], [0.6, 0.8, 0.75, 1.0, 0.75]);
    }

    #[test]
    fn a_rank_that_died_is_not_useful_after_its_end() {
        let mut dead = rank(0, 1, 1.0);
        dead.finalizing = false;
        dead.finalize_begin = None;
        dead.now.0 -= 7 * SECOND;
        dead.threads[0].since = dead.now;
        // It lived 4 s, 3 of them useful; the other rank has 8 useful seconds of 10.
        check(vec![rank(0, 0, 2.0), dead], [0.55, 0.8, 0.6875, 0.6875, 1.0]);
    }

    #[test]
    fn several_worlds_weigh_by_the_time_of_their_ranks() {
        // 20 s of rank time at 0.6 and 10 s at 0.3.
        let worlds = vec![rank(0, 0, 2.0), rank(0, 1, 6.0), rank(1, 0, 7.0)];
        let communication = (20.0 * 0.8 + 10.0 * 0.3) / 30.0;
        let (within, load_balance) = ((20.0 * 0.75 + 10.0) / 30.0, 0.5 / communication);
        check(worlds, [0.5, communication, load_balance, within, load_balance / within]);
    }

    #[track_caller]
    fn check_cores((average, longest): (f64, f64), cores: f64, expected: [f64; 2]) {
        let pop = Efficiencies {
            parallel_efficiency: average,
            mpi_parallel_efficiency: average,
            communication_efficiency: longest,
            load_balance: average / longest,
            load_balance_in: 1.0,
            ..Efficiencies::default()
        };
        let pop = with_cores(pop, cores);
        let found = [pop.load_balance, pop.communication_efficiency];
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near, "{pop:?}");
        let product = found[0] * found[1] * cores;
        assert!((product - average).abs() < 1e-12, "{pop:?}");
    }

    #[test]
    fn factors_multiply_with_the_share_of_time_with_a_core() {
        check_cores((0.2, 0.2), 0.25, [1.0, 0.8]);
        check_cores((0.6, 0.8), 1.0, [0.75, 0.8]);
        // One rank was never kept from its core, and computed for longer than the average rank had one.
        check_cores((0.4, 0.8), 0.5, [0.8, 1.0]);
    }
}
