//! Functions that were counted and timed, as a sortable table.

use super::{rest, section, svg};
use crate::functions::{notes, slowest, time};
use crate::units::{count, percent, share_of};
use crate::{place, ranking, text::harmless};
use maud::{Markup, html};
use run_record::{FunctionTotals, Summary};

/// Maximum number of rows in the table.
const N_ROWS_MAX: usize = 1000;

pub(super) fn draw(summary: &Summary) -> Markup {
    if summary.functions.is_empty() {
        return html! {};
    }
    let total_s = ranking::time_of_all_s(summary);
    let has_ranks = 1 < summary.n_ranks;
    let table = html! {
        table.sortable {
            thead { tr {
                th { "function" } th { "place" } th.number { "calls" } th.number { "time" } th.number { "share" }
                th.number { "per call" } th.number { "shortest" } th.number { "longest" } th.number { "deviation" }
                @if has_ranks { th.number { "slowest rank" } th.fixed { "time by rank" } }
            } }
            tbody {
                @for function in summary.functions.iter().take(N_ROWS_MAX) { (row(summary, function, total_s)) }
            }
        }
        (rest(summary.functions.len(), N_ROWS_MAX))
        @for note in notes(summary) { p.note { (note) } }
    };
    let note = "from entry to exit, with all that they call, over all ranks";
    section("functions", "Functions", note, &table)
}

fn row(summary: &Summary, function: &FunctionTotals, total_s: f64) -> Markup {
    let (times, place) = (&function.total, &function.place);
    let share = share_of(times.time_s, total_s);
    let full = harmless(&format!("{}:{} ({})", place.file, place.line, place.module));
    let time_cell = |time_s: f64| html! { td.number data-value=(time_s) { (time(times, time_s)) } };
    html! {
        tr {
            td.name title=(place::function(place)) { code { (place::function(place)) } }
            td.name title=(full) { code { (place::location(place)) } }
            td.number data-value=(times.calls) { (count(times.calls)) }
            (time_cell(times.time_s))
            td.number data-value=(share) { (percent(share)) }
            (time_cell(times.mean_s))
            (time_cell(times.min_s))
            (time_cell(times.max_s))
            (time_cell(times.deviation_s))
            @if 1 < summary.n_ranks {
                @let imbalance = function.imbalance(summary.n_ranks).unwrap_or(0.0);
                td.number data-value=(imbalance) { (slowest(summary, function)) }
                td { (svg::spark(&by_rank_s(summary, function), "time in this function, by rank")) }
            }
        }
    }
}

/// Returns the time of each rank in s; empty if not recorded.
fn by_rank_s(summary: &Summary, function: &FunctionTotals) -> Vec<f64> {
    if function.by_rank.is_empty() {
        return Vec::new();
    }
    let mut all = vec![0.0; summary.ranks.len()];
    for (idx, times) in &function.by_rank {
        if let Some(time_s) = all.get_mut(*idx) {
            *time_s = times.time_s;
        }
    }
    all
}
