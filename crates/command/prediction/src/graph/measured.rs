//! Reads the call sites of a run from its record.

use anyhow::Context;
use program_graph::{Run, Segment, Site, SourceLocation};
use run_record::summary::{CallSite, Summary};
use run_record::{RegionRow, RunRecord};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns whether this is the folder of a run.
pub(super) fn is_record(path: &Path) -> bool {
    path.join("run.json").is_file()
}

/// Reads the call sites of a run, and how they follow each other, in the world with most ranks.
pub(super) fn read(folder: &Path) -> anyhow::Result<Run> {
    let record = RunRecord::open(folder)?;
    let summary = record.read_summary()?;
    let rows = record.read_regions();
    let rows =
        rows.with_context(|| format!("the regions of `{}` cannot be read", folder.display()))?;
    let world = largest(&summary);
    let rows: Vec<RegionRow> = rows.into_iter().filter(|row| row.world == world).collect();
    let n_ranks = summary.worlds.get(world as usize).map_or(0, |world| world.n_ranks);
    let sites = summary.call_sites.iter().filter_map(site).collect();
    Ok(Run { n_ranks, sites, segments: segments(&rows) })
}

fn largest(summary: &Summary) -> u32 {
    let worlds = (0_u32..).zip(&summary.worlds);
    let largest = worlds.max_by_key(|(at, world)| (world.n_ranks, std::cmp::Reverse(*at)));
    largest.map_or(0, |(at, _)| at)
}

fn site(site: &CallSite) -> Option<Site> {
    let location = SourceLocation {
        file: site.place.file.clone(),
        line: site.place.line,
        end_line: site.place.line,
        function: site.place.function.clone(),
    };
    let id = u32::try_from(site.id).ok()?;
    Some(Site { id, operation: site.operation.clone(), location })
}

/// Segments of each rank, with its threads added up.
fn segments(rows: &[RegionRow]) -> Vec<Segment> {
    let mut all: BTreeMap<(u32, Option<u32>, u32), Segment> = BTreeMap::new();
    for row in rows {
        let Some(to) = row.call_site else { continue };
        let from = row.from_call_site;
        let segment = all.entry((row.rank, from, to)).or_insert(Segment {
            rank: row.rank,
            from,
            to,
            ..Segment::default()
        });
        segment.calls += row.calls;
        segment.compute_s += row.compute_s;
        segment.mpi_s += row.mpi_s;
        segment.bytes += row.bytes;
    }
    all.into_values().collect()
}
