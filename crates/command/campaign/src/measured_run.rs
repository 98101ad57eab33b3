//! Reads the regions of a run from its record.

mod functions;

use anyhow::{Context, bail};
use experiment::Measurement;
use experiment::regions::{SiteTime, measurements};
use run_record::summary::{CallSite, RankTotals};
use run_record::{RunRecord, Summary};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

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
        functions::take(&mut parts, &record, &places)?;
    }
    parts.sort_by_key(|part| (part.rank, order(&part.place)));
    Ok(RunMeasurements {
        elapsed_s: summary.elapsed_s,
        mpi: summary.mpi.clone(),
        measurements: measurements(&parts, summary.elapsed_s),
    })
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
        let label =
            |site: &CallSite| Some((u32::try_from(site.id).ok()?, report::call_label(site)));
        let rank = |(idx, rank): (usize, &RankTotals)| {
            Some(((u32::try_from(rank.world).ok()?, rank.rank), idx))
        };
        Self {
            labels: summary.call_sites.iter().filter_map(label).collect(),
            ranks: summary.ranks.iter().enumerate().filter_map(rank).collect(),
        }
    }

    fn label(&self, site: Option<u32>) -> &str {
        site.and_then(|site| self.labels.get(&site)).map_or(PLACE_UNKNOWN, String::as_str)
    }
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
