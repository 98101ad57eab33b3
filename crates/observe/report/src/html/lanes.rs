//! The timeline: its element on the page and its data.

use super::packed::{Packed, or_none};
use super::{json, section};
use crate::timeline::{Lane, Timeline};
use crate::{place, ranking};
use display::text::harmless;
use display::units::{count, seconds};
use maud::{Markup, html};
use run_record::Summary;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const HELP: &str = "Click into it first. Wheel or + and −: zoom. Drag or ← →: move in time. ↑ ↓ or Shift+wheel: other ranks. \
    F: all ranks at once. 0: the whole run.";

pub(super) fn draw(summary: &Summary, timeline: &Timeline) -> Markup {
    if timeline.lanes.is_empty() {
        return section("when", "Timeline", "", &html! { p.note { "No call was recorded." } });
    }
    let n_events = count(timeline.n_events() as u64);
    let content = html! {
        @if timeline.n_left_out > 0 {
            p.warning {
                "The " (n_events) " longest calls are shown; " (count(timeline.n_left_out)) " calls of at most "
                (seconds(timeline.left_out_ns_max as f64 * 1e-9)) " are left out."
            }
        }
        noscript { p.warning { "The timeline needs JavaScript." } }
        div #timeline {
            p.legend {}
            canvas tabindex="0" aria-label="timeline of MPI calls by rank" {}
            p.readout aria-live="polite" { "\u{a0}" }
            p.note { (HELP) }
            script.head type="application/json" { (json(&head(summary, timeline))) }
            script.data type="application/octet-stream" { (data(timeline)) }
        }
    };
    section("when", "Timeline", &format!("{n_events} calls"), &content)
}

fn head(summary: &Summary, timeline: &Timeline) -> Value {
    let operations: Vec<Value> = timeline
        .operations
        .iter()
        .map(|operation| json!({ "name": harmless(&operation.name), "class": harmless(&operation.class) }))
        .collect();
    let lanes: Vec<Value> = timeline
        .lanes
        .iter()
        .map(|lane| json!({ "label": label(summary, lane), "n": lane.n_events() }))
        .collect();
    json!({ "endNs": timeline.end_ns, "operations": operations, "lanes": lanes, "sites": sites(summary, timeline) })
}

fn label(summary: &Summary, lane: &Lane) -> String {
    let key = lane.key;
    let world = if summary.worlds.len() > 1 { format!("{}.", key.world) } else { String::new() };
    let thread = if key.thread > 0 { format!(" t{}", key.thread) } else { String::new() };
    let known = summary.ranks.iter().find(|rank| rank.world == key.world && rank.rank == key.rank);
    let rank =
        known.map_or_else(|| format!("{world}{}", key.rank), |rank| ranking::name(summary, rank));
    format!("{rank}{thread}")
}

/// Returns the names of the call sites that occur.
fn sites(summary: &Summary, timeline: &Timeline) -> BTreeMap<usize, String> {
    let ids: std::collections::BTreeSet<usize> =
        timeline.lanes.iter().flat_map(|lane| lane.call_site.iter().flatten().copied()).collect();
    ids.into_iter()
        .filter_map(|id| Some((id, place::place(&place::call_site(summary, id)?.place))))
        .collect()
}

/// Returns all lanes, each column by column, in the order in which `assets/lane.js` reads them.
fn data(timeline: &Timeline) -> String {
    let mut packed = Packed::default();
    timeline.lanes.iter().for_each(|lane| pack(&mut packed, lane));
    packed.into_text()
}

fn pack(packed: &mut Packed, lane: &Lane) {
    let mut before_ns = 0;
    for start_ns in &lane.start_ns {
        packed.push(start_ns - before_ns);
        before_ns = *start_ns;
    }
    for (start_ns, end_ns) in lane.start_ns.iter().zip(&lane.end_ns) {
        packed.push(end_ns.saturating_sub(*start_ns));
    }
    lane.operation.iter().for_each(|operation| packed.push(u64::from(*operation)));
    packed.push_differences(lane.call_site.iter().map(|site| or_none(*site)));
    packed.push_differences(lane.peer.iter().map(|peer| or_none(peer.map(|peer| peer as usize))));
    lane.bytes.iter().for_each(|bytes| packed.push(*bytes));
    packed.push_differences(lane.received_at.iter().map(|at| or_none(at.map(|(lane, _)| lane))));
    packed.push_differences(lane.received_at.iter().map(|at| or_none(at.map(|(_, event)| event))));
}
