//! Reads the regions of a run from its record; functions that are measured by themselves divide the computation
//! between MPI calls.

use anyhow::{Context, bail};
use events::{ProbePoint, RecordKind};
use experiment::Measurement;
use experiment::call_paths::{self, SampledPath, without_arguments};
use experiment::journal::RunPlacement;
use experiment::regions::{
    FunctionBoundary, FunctionShare, SiteTime, TOTAL, TimelineMpiCall, inside, measurements,
};
use run_record::sample_file::SEPARATOR;
use run_record::summary::{CallSite, RankTotals};
use run_record::{Event, FunctionEvent, RunRecord, SampleRow, Summary, TableError};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Thread that initialized MPI: its time counts as that of the rank.
const FIRST_THREAD: u32 = 0;
/// Name for all calls whose place is unknown.
const PLACE_UNKNOWN: &str = "place unknown";
/// Call before whose end nothing is measured.
const BEFORE: &str = " MPI_Init";
/// Call that ends the computation after the last other call.
const LAST: &str = " MPI_Finalize";

/// Measurements of one run.
#[derive(Debug)]
pub(super) struct RunMeasurements {
    pub(super) elapsed_s: f64,
    /// Version of the MPI library in its own words.
    pub(super) mpi: String,
    pub(super) placement: RunPlacement,
    pub(super) measurements: Vec<Measurement>,
}

/// Reads the record; an incomplete run is an error.
pub(super) fn read_measurements(
    record: &Path,
    with_functions: bool,
) -> anyhow::Result<RunMeasurements> {
    let record = RunRecord::open(record)?;
    let summary = record.read_summary()?;
    check(&summary, with_functions)?;
    let places = Places::of(&summary);
    let mut parts = parts(&record, &places)?;
    if with_functions {
        take_functions(&mut parts, &record, &places)?;
    }
    parts.sort_by_key(|part| (part.rank, order(&part.place)));
    let mut measurements = measurements(&parts, summary.elapsed_s);
    if !with_functions {
        let blocked_s: Vec<f64> = summary
            .ranks
            .iter()
            .map(|rank| rank.usage.as_ref().map_or(0.0, |it| it.compute_blocked_s))
            .collect();
        let sampled = sampled_paths(&record, &places)?;
        measurements.extend(call_paths::measurements(&parts, &sampled, &blocked_s));
    }
    measurements.extend(memory(&summary));
    Ok(RunMeasurements {
        elapsed_s: summary.elapsed_s,
        mpi: summary.mpi.clone(),
        placement: placement(&summary),
        measurements,
    })
}

/// Returns where the ranks ran.
fn placement(summary: &Summary) -> RunPlacement {
    let mut by_node: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for rank in &summary.ranks {
        let (n_ranks, n_cores) = by_node.entry(&rank.node).or_default();
        *n_ranks += 1;
        *n_cores = rank.usage.as_ref().map_or(*n_cores, |usage| usage.n_online);
    }
    RunPlacement {
        ranks: by_node.values().map(|(n_ranks, _)| n_ranks).sum(),
        nodes: u32::try_from(by_node.len()).unwrap_or(u32::MAX),
        ranks_per_node: by_node.values().map(|(n_ranks, _)| *n_ranks).max().unwrap_or(0),
        cores_per_node: by_node.values().map(|(_, n_cores)| *n_cores).min().unwrap_or(0),
    }
}

/// Returns the largest resident memory of a rank, in bytes, if the system tells.
fn memory(summary: &Summary) -> Option<Measurement> {
    let usages = summary.ranks.iter().filter_map(|rank| rank.usage.as_ref());
    let bytes = usages.map(|usage| usage.memory_max_bytes).max().filter(|bytes| 0 < *bytes)?;
    let (callpath, value) = (TOTAL.to_owned(), bytes as f64);
    Some(Measurement { callpath, metric: "memory", value, samples: None })
}

/// Reads the samples of all ranks; those in calls whose place is unknown are left out.
fn sampled_paths(record: &RunRecord, places: &Places) -> anyhow::Result<Vec<SampledPath>> {
    let rows = record.read_samples()?;
    let path = |row: &SampleRow| {
        let place = row.call_site.and_then(|site| places.labels.get(&site).cloned());
        let is_left_out = row.call_site.is_some() && place.is_none();
        (!is_left_out).then_some(SampledPath {
            rank: *places.ranks.get(&(row.world, row.rank))?,
            functions: row.call_path.split(SEPARATOR).map(str::to_owned).collect(),
            place,
            samples: row.samples,
        })
    };
    Ok(rows.iter().filter_map(path).collect())
}

/// Checks that the run was observed completely; otherwise its measurements would be wrong.
fn check(summary: &Summary, with_functions: bool) -> anyhow::Result<()> {
    if summary.ranks.is_empty() {
        let why = summary.tool.warnings.first().map_or("", String::as_str);
        bail!("no MPI process was seen {why}");
    }
    if let Some(rank) = summary.ranks.iter().find(|rank| rank.end != "finalized") {
        bail!("rank {} {}", rank.rank, rank.end);
    }
    let tool = &summary.tool;
    if 0 < tool.calls_without_region + tool.threads_refused {
        bail!("the program has more call sites or threads than are recorded");
    }
    if with_functions && 0 < tool.records_dropped {
        bail!(
            "{} calls and passages were not recorded in time; measure functions that are called less often",
            tool.records_dropped
        );
    }
    Ok(())
}

/// Names of places by call site, and positions of ranks.
struct Places {
    labels: BTreeMap<u32, String>,
    ranks: HashMap<(u32, u32), usize>,
}

impl Places {
    fn of(summary: &Summary) -> Self {
        let mut n_alike: HashMap<String, usize> = HashMap::new();
        let mut sites: Vec<&CallSite> = summary.call_sites.iter().collect();
        sites.sort_by_key(|site| site.place.offset);
        let label =
            |site: &CallSite| Some((u32::try_from(site.id).ok()?, label(site, &mut n_alike)));
        let rank = |(idx, rank): (usize, &RankTotals)| {
            Some(((u32::try_from(rank.world).ok()?, rank.rank), idx))
        };
        Self {
            labels: sites.into_iter().filter_map(label).collect(),
            ranks: summary.ranks.iter().enumerate().filter_map(rank).collect(),
        }
    }

    fn label(&self, site: Option<u32>) -> &str {
        site.and_then(|site| self.labels.get(&site)).map_or(PLACE_UNKNOWN, String::as_str)
    }
}

/// Returns `heat.c:12 MPI_Recv`, or `exchange MPI_Recv` without lines; further ones in a function are numbered.
fn label(site: &CallSite, n_alike: &mut HashMap<String, usize>) -> String {
    if !site.place.file.is_empty() || site.place.function.is_empty() {
        return report::call_label(site);
    }
    let function = without_arguments(&site.place.function);
    let n = n_alike.entry(format!("{function} {}", site.operation)).or_default();
    *n += 1;
    let number = if *n == 1 { String::new() } else { format!("#{n}") };
    format!("{function}{number} {}", site.operation)
}

/// Key that sorts places by file and line, so that regions come as in the source.
fn order(place: &str) -> (String, u32, String) {
    let (location, operation) = place.split_once(' ').unwrap_or((place, ""));
    let (file, line) = location.rsplit_once(':').unwrap_or((location, ""));
    (file.to_owned(), line.parse().unwrap_or(0), operation.to_owned())
}

fn parts(record: &RunRecord, places: &Places) -> anyhow::Result<Vec<SiteTime>> {
    let mut parts: BTreeMap<(usize, &str), SiteTime> = BTreeMap::new();
    for row in record.read_regions()?.iter().filter(|row| row.thread == FIRST_THREAD) {
        let rank = *places.ranks.get(&(row.world, row.rank)).context("a region has no rank")?;
        let place = places.label(row.call_site);
        if place.contains(BEFORE) {
            continue;
        }
        let part = parts.entry((rank, place)).or_default();
        (part.rank, part.place) = (rank, place.to_owned());
        part.computation_s += row.compute_s;
        part.mpi_s += row.mpi_s;
        part.calls += row.calls;
        part.bytes += row.bytes;
    }
    Ok(parts.into_values().collect())
}

/// Takes the recorded functions out of the computation that they are part of.
fn take_functions(
    parts: &mut [SiteTime],
    record: &RunRecord,
    places: &Places,
) -> Result<(), TableError> {
    let mut calls = calls(record, places)?;
    for (rank, boundaries) in boundaries(record, places)? {
        let calls = calls.remove(&rank).unwrap_or_default();
        let own = parts.iter_mut().filter(|part| part.rank == rank).collect();
        divide(own, &calls, &boundaries);
    }
    Ok(())
}

/// MPI call and the name of its place.
type Placed = (TimelineMpiCall, String);

fn calls(record: &RunRecord, places: &Places) -> Result<BTreeMap<usize, Vec<Placed>>, TableError> {
    let mut calls: BTreeMap<usize, Vec<Placed>> = BTreeMap::new();
    let Some(reader) = record.events()? else { return Ok(calls) };
    for batch in reader.batches() {
        for Event { start_ns, end_ns, call_site, world, rank, thread, kind, .. } in batch? {
            if let Some(rank) = places.ranks.get(&(world, rank))
                && thread == FIRST_THREAD
                && kind == RecordKind::Call
            {
                let call = TimelineMpiCall { start_ns, end_ns, place: 0 };
                calls.entry(*rank).or_default().push((call, places.label(call_site).to_owned()));
            }
        }
    }
    Ok(calls)
}

fn boundaries(
    record: &RunRecord,
    places: &Places,
) -> Result<BTreeMap<usize, Vec<FunctionEvent>>, TableError> {
    let mut boundaries: BTreeMap<usize, Vec<FunctionEvent>> = BTreeMap::new();
    let Some(reader) = record.function_events()? else { return Ok(boundaries) };
    for batch in reader.batches() {
        for event in batch? {
            let rank = places.ranks.get(&(event.world, event.rank));
            if let Some(rank) = rank.filter(|_| event.thread == FIRST_THREAD) {
                boundaries.entry(*rank).or_default().push(event);
            }
        }
    }
    Ok(boundaries)
}

/// Gives each part of a rank its share of the functions.
fn divide(mut parts: Vec<&mut SiteTime>, calls: &[Placed], events: &[FunctionEvent]) {
    let position = |place: &str| parts.iter().position(|part| part.place == place);
    let placed = calls
        .iter()
        .filter_map(|(call, name)| Some(TimelineMpiCall { place: position(name)?, ..*call }));
    let mut calls: Vec<TimelineMpiCall> = placed.collect();
    calls.sort_by_key(|call| call.start_ns);
    let mut functions: Vec<Arc<str>> = Vec::new();
    let mut boundaries: Vec<FunctionBoundary> = Vec::new();
    for event in events {
        let known = functions.iter().position(|name| *name == event.function);
        let function = known.unwrap_or_else(|| {
            functions.push(Arc::clone(&event.function));
            functions.len() - 1
        });
        let is_entry = event.place == ProbePoint::Entry;
        boundaries.push(FunctionBoundary { time_ns: event.time_ns, function, is_entry });
    }
    boundaries.sort_by_key(|boundary| boundary.time_ns);
    let end = parts.iter().position(|part| part.place.ends_with(LAST));
    if let (Some(place), Some(last)) = (end, boundaries.last()) {
        let start_ns = calls.last().map_or(0, |call| call.end_ns).max(last.time_ns);
        calls.push(TimelineMpiCall { start_ns, end_ns: start_ns, place });
    }
    for one in inside(&calls, &boundaries) {
        let share = FunctionShare {
            function: functions[one.function].to_string(),
            calls: one.calls,
            time_s: one.time_ns as f64 * 1e-9,
        };
        parts[one.place].functions.push(share);
    }
}
