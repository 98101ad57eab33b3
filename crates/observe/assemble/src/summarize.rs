//! Builds the one-page summary of a run from its measurements.

use super::roster::{OpenCall, RankProcess, Roster, TimeByRank, dense, operation_name};
use super::sites::Sites;
use super::source_lookup::SourceLookup;
use super::warnings::{self, Losses};
use super::{efficiency, openmp, operations, regions, traffic, usage};
use events::{OperationId, RegionCounters};
use mpi_abi::Class;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::summary::{
    CallSite, Efficiencies, FORMAT_VERSION, RankTotals, Region, SourceLocation, Summary, ToolCost,
    World,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// Limit on ranks times call sites (or regions) with times by rank, so that a user can still open the summary file.
const N_TIMES_MAX: usize = 200_000;
/// Share of the MPI time from which on a library without debug information is mentioned.
const SHARE_MENTIONED: f64 = 0.01;
/// Maximum number of regions in the summary; all are in the table of regions.
const N_REGIONS_MAX: usize = 500;

/// Aggregates everything except what needs the individual calls of a trace.
pub(super) fn summarize(
    measured: &MeasuredRun,
    facts: &RunFacts,
    (roster, sites): (&Roster<'_>, &Sites),
    lookup: &mut dyn SourceLookup,
) -> Summary {
    let (operations, unknown_calls) = operations::totals(roster);
    let (call_sites, without_lines) = call_sites(sites, roster.ranks.len(), lookup);
    let by_world: Vec<Option<Efficiencies>> =
        roster.worlds.iter().map(|world| efficiency::of_ranks(roster.of_world(world))).collect();
    let ranks = roster.ranks.iter().zip(&sites.books).map(|(rank, book)| {
        let site = |open: &OpenCall| book.site(open.call.address, open.call.operation);
        rank_totals(rank, |open| call_sites.get(site(open)?))
    });
    let ranks: Vec<RankTotals> = ranks.collect();
    let records = measured.n_records_lost + dropped(roster);
    let losses = Losses { records, unknown_calls, without_lines };
    let tool = ToolCost {
        warnings: warnings::sentences(measured, facts, roster, &losses),
        ..tool_cost(roster, &ranks, records)
    };
    Summary {
        format_version: FORMAT_VERSION,
        sintonia_version: facts.sintonia_version.clone(),
        command: facts.command.clone(),
        started_s: facts.started_s,
        outcome: facts.outcome.clone(),
        elapsed_s: ranks.iter().map(|rank| rank.elapsed_s).fold(0.0, f64::max),
        wall_s: facts.wall_s,
        n_ranks: ranks.len(),
        n_nodes: roster.nodes.len(),
        mpi: libraries(roster),
        pop: efficiency::of_run(roster, &by_world),
        operations,
        call_sites,
        regions: top_regions(roster, sites),
        openmp_regions: openmp::regions(roster, lookup),
        nodes: usage::of_nodes(roster),
        worlds: worlds(roster, &by_world),
        traffic: traffic::pairs(roster),
        ranks,
        tool,
        ..Summary::default()
    }
}

fn call_sites(
    sites: &Sites,
    n_ranks: usize,
    lookup: &mut dyn SourceLookup,
) -> (Vec<CallSite>, BTreeSet<String>) {
    let mut without_lines = BTreeSet::new();
    let with_ranks = N_TIMES_MAX / n_ranks.max(1);
    let mentioned_s =
        SHARE_MENTIONED * sites.totals.iter().map(|site| site.totals.time_s).sum::<f64>();
    let mut call_sites = Vec::with_capacity(sites.totals.len());
    for (id, site) in sites.totals.iter().enumerate() {
        let address = sites.address(site);
        let place = address.as_ref().map(|address| lookup.place(address)).unwrap_or_default();
        let mentioned = address.filter(|_| mentioned_s <= site.totals.time_s);
        if let Some(address) = mentioned.filter(|address| !lookup.has_lines(address)) {
            without_lines.insert(address.module.to_owned());
        }
        let n_ranks = if id < with_ranks { n_ranks } else { 0 };
        call_sites.push(CallSite {
            id,
            operation: operation_name(site.operation()).to_owned(),
            place,
            time_by_rank_s: dense(&site.time_by_rank_s, n_ranks),
            sizes: operations::filled_bins(&site.sizes),
            ..site.totals.clone()
        });
    }
    (call_sites, without_lines)
}

fn top_regions(roster: &Roster<'_>, sites: &Sites) -> Vec<Region> {
    let n_ranks = roster.ranks.len();
    let with_ranks = N_TIMES_MAX / n_ranks.max(1);
    let totals = regions::totals(roster, sites).into_iter().take(N_REGIONS_MAX).enumerate();
    let region = |(position, (region, by_rank_s)): (usize, (Region, TimeByRank))| {
        let n_ranks = if position < with_ranks { n_ranks } else { 0 };
        Region { compute_by_rank_s: dense(&by_rank_s, n_ranks), ..region }
    };
    totals.map(region).collect()
}

fn rank_totals<'s>(
    rank: &RankProcess<'_>,
    site: impl Fn(&OpenCall) -> Option<&'s CallSite>,
) -> RankTotals {
    let report = rank.report;
    let regions = || report.threads.iter().flat_map(|thread| &thread.regions);
    let (elapsed_s, mpi_s) = (rank.elapsed_s(), rank.mpi_s());
    let open = rank.main_thread().and_then(|thread| rank.open_call(thread));
    let end = match () {
        () if report.left => "detached",
        () if report.finalizing => "finalized",
        () if report.gone => "ended without MPI_Finalize",
        () => "running",
    };
    RankTotals {
        world: rank.world,
        rank: report.rank.0,
        node: report.host.clone(),
        pid: report.key.pid,
        n_threads: report.threads.len(),
        elapsed_s,
        useful_s: elapsed_s - mpi_s,
        mpi_s,
        calls: regions().map(|region| region.n_calls).sum(),
        bytes: regions().filter(|region| !is_completion(region)).map(|region| region.bytes).sum(),
        end: end.to_owned(),
        last_seen_in: open.map(|open| match site(&open) {
            Some(site) => call_in_words(site),
            None => operation_name(open.call.operation).to_owned(),
        }),
        usage: usage::of_rank(rank),
    }
}

/// Returns whether calls complete requests: their bytes are those of messages that other calls have announced.
fn is_completion(region: &RegionCounters) -> bool {
    let operation = mpi_abi::operation(OperationId(region.operation));
    operation.is_some_and(|operation| operation.class == Class::Completion)
}

/// Returns `MPI_Recv at worker.c:88 (receive_work)`, with the parts that are known.
pub(super) fn call_in_words(site: &CallSite) -> String {
    let SourceLocation { function, file, line, module, offset } = &site.place;
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut words = site.operation.clone();
    match (file.is_empty(), module.is_empty()) {
        (false, _) => words += &format!(" at {}:{line}", last(file)),
        (true, false) => words += &format!(" at {}+{offset:#x}", last(module)),
        (true, true) => {}
    }
    if !function.is_empty() {
        words += &format!(" ({function})");
    }
    words
}

fn worlds(roster: &Roster<'_>, by_world: &[Option<Efficiencies>]) -> Vec<World> {
    let world = |(world, pop): (&Range<usize>, &Option<Efficiencies>)| {
        let ranks = roster.of_world(world);
        let start_ns = ranks.iter().map(|rank| rank.clock.ns_at(rank.report.init_end)).min();
        let first = ranks.first().map(|rank| rank.report);
        World {
            n_ranks: ranks.len(),
            size: first.map_or(0, |report| report.size as usize),
            program: first.map(|report| report.program.clone()).unwrap_or_default(),
            start_s: start_ns.unwrap_or_default() as f64 * 1e-9,
            elapsed_s: ranks.iter().map(RankProcess::elapsed_s).fold(0.0, f64::max),
            pop: pop.unwrap_or_default(),
        }
    };
    roster.worlds.iter().zip(by_world).map(world).collect()
}

/// Returns the names and versions of the MPI libraries, without build details.
fn libraries(roster: &Roster<'_>) -> String {
    let names: BTreeSet<String> =
        roster.ranks.iter().map(|rank| library(&rank.report.library)).collect();
    names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" and ")
}

/// Returns `Open MPI v4.1.4`, `MPICH 4.0.2`.
fn library(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let name = line.split(',').next().unwrap_or_default();
    let words = name.split_whitespace().filter(|word| *word != "Version:");
    words.collect::<Vec<_>>().join(" ")
}

fn dropped(roster: &Roster<'_>) -> u64 {
    let threads = roster.ranks.iter().flat_map(|rank| &rank.report.threads);
    threads.map(|thread| thread.n_dropped).sum()
}

fn tool_cost(roster: &Roster<'_>, ranks: &[RankTotals], records_dropped: u64) -> ToolCost {
    let reports = || roster.ranks.iter().map(|rank| rank.report);
    let elapsed_s: f64 = ranks.iter().map(|rank| rank.elapsed_s).sum();
    let costs = roster.ranks.iter().zip(ranks);
    let cost_s: f64 =
        costs.map(|(rank, totals)| rank.report.cost_ns_per_call * totals.calls as f64 * 1e-9).sum();
    let costs_ns = reports().map(|report| report.cost_ns_per_call).filter(|ns| 0.0 < *ns);
    ToolCost {
        ns_per_call: statistics::median(costs_ns).unwrap_or(0.0),
        calls: ranks.iter().map(|rank| rank.calls).sum(),
        share_of_time: if 0.0 < elapsed_s { (cost_s / elapsed_s).min(1.0) } else { 0.0 },
        shared_memory_bytes: reports().map(|report| report.reserved_bytes).sum(),
        records_dropped,
        calls_without_region: roster.ranks.iter().map(warnings::calls_without_region).sum(),
        threads_refused: reports().map(|report| u64::from(report.threads_refused)).sum(),
        ..ToolCost::default()
    }
}

#[cfg(test)]
mod tests;
