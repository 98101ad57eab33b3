//! Functions that are measured by themselves: their entries and exits divide the computation between MPI calls.

use super::{FIRST_THREAD, LAST, Places};
use events::{ProbePoint, RecordKind};
use experiment::regions::{Call, FunctionBoundary, FunctionShare, SiteTime, inside};
use run_record::{FunctionEvent, RunRecord, TableError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes the recorded functions out of the computation that they are part of.
pub(super) fn take(
    parts: &mut [SiteTime],
    record: &RunRecord,
    places: &Places,
) -> Result<(), TableError> {
    let mut calls = calls(record, places)?;
    for (rank, boundaries) in boundaries(record, places)? {
        let calls = calls.remove(&rank).unwrap_or_default();
        let own: Vec<&mut SiteTime> = parts.iter_mut().filter(|part| part.rank == rank).collect();
        divide(own, &calls, &boundaries);
    }
    Ok(())
}

/// MPI call and the name of its place.
type Placed = (Call, String);

fn calls(record: &RunRecord, places: &Places) -> Result<BTreeMap<usize, Vec<Placed>>, TableError> {
    let mut calls: BTreeMap<usize, Vec<Placed>> = BTreeMap::new();
    let Some(reader) = record.events()? else { return Ok(calls) };
    for batch in reader.batches() {
        for event in batch? {
            let rank = places.ranks.get(&(event.world, event.rank));
            if let Some(rank) = rank
                && event.thread == FIRST_THREAD
                && event.kind == RecordKind::Call
            {
                let call = Call { start_ns: event.start_ns, end_ns: event.end_ns, place: 0 };
                let place = places.label(event.call_site).to_owned();
                calls.entry(*rank).or_default().push((call, place));
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
    let placed =
        calls.iter().filter_map(|(call, name)| Some(Call { place: position(name)?, ..*call }));
    let mut calls: Vec<Call> = placed.collect();
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
        calls.push(Call { start_ns, end_ns: start_ns, place });
    }
    for one in inside(&calls, &boundaries) {
        let time_s = one.time_ns as f64 * 1e-9;
        let share = FunctionShare {
            function: functions[one.function].to_string(),
            calls: one.calls,
            time_s,
        };
        parts[one.place].functions.push(share);
    }
}
