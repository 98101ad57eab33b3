//! Call sites, regions and operations as sortable tables.

use super::{rest, section, svg};
use crate::units::{bytes, count, percent, seconds, share_of};
use crate::{place, ranking, terminal, text::harmless};
use maud::{Markup, html};
use run_record::Summary;
use run_record::summary::{CallSite, OperationTotals, Region};

/// Maximum number of rows in a table.
const N_ROWS_MAX: usize = 200;

pub(super) fn draw_call_sites(summary: &Summary) -> Markup {
    if summary.call_sites.is_empty() {
        return html! {};
    }
    let total_s = ranking::time_of_all_s(summary);
    let table = html! {
        table.sortable {
            thead { tr {
                th { "call" } th { "function" } th { "place" } th.number { "calls" } th.number { "time" }
                th.number { "share" } th.number { "longest" } th.number { "bytes" } th.fixed { "time by rank" }
            } }
            tbody { @for site in summary.call_sites.iter().take(N_ROWS_MAX) { (call_site(site, total_s)) } }
        }
        (rest(summary.call_sites.len(), N_ROWS_MAX))
    };
    section("call-sites", "Where the MPI time goes", "over all ranks", &table)
}

fn call_site(site: &CallSite, total_s: f64) -> Markup {
    html! {
        tr id={ "site" (site.id) } {
            td { code { (harmless(&site.operation)) } }
            td.name title=(place::function(&site.place)) { code { (place::function(&site.place)) } }
            td.name title=(full_place(site)) { code { (place::location(&site.place)) } }
            td.number data-value=(site.calls) { (count(site.calls)) }
            (time_cells(site.time_s, total_s))
            td.number data-value=(site.time_max_s) { (seconds(site.time_max_s)) }
            td.number data-value=(site.bytes) { (bytes(site.bytes)) }
            td { (svg::spark(&site.time_by_rank_s, "time in this call, by rank")) }
        }
    }
}

fn full_place(site: &CallSite) -> String {
    let place = &site.place;
    harmless(&format!("{}:{} ({}+{:#x})", place.file, place.line, place.module, place.offset))
}

fn time_cells(time_s: f64, total_s: f64) -> Markup {
    let share = share_of(time_s, total_s);
    html! {
        td.number data-value=(time_s) { (seconds(time_s)) }
        td.number data-value=(share) { (percent(share)) }
    }
}

pub(super) fn draw_regions(summary: &Summary) -> Markup {
    if summary.regions.is_empty() {
        return html! {};
    }
    let total_s = ranking::time_of_all_s(summary);
    let mut regions: Vec<&Region> = summary.regions.iter().collect();
    regions.sort_by(|a, b| b.compute_s.total_cmp(&a.compute_s));
    let table = html! {
        table.sortable {
            thead { tr {
                th { "after" } th { "before" } th.number { "times" } th.number { "computing" } th.number { "share" }
                th.number { "then in MPI" } th.number { "bytes" } th.fixed { "computing by rank" }
            } }
            tbody { @for region in regions.iter().take(N_ROWS_MAX) { (region_row(summary, region, total_s)) } }
        }
        (rest(regions.len(), N_ROWS_MAX))
    };
    let note = "between the end of one MPI call and the start of the next";
    section("regions", "Where the computation goes", note, &table)
}

fn region_row(summary: &Summary, region: &Region, total_s: f64) -> Markup {
    let end = |id: Option<usize>, missing: &str| {
        id.and_then(|id| place::call(summary, id)).unwrap_or_else(|| missing.to_owned())
    };
    let (from, to) = (end(region.from, "start of the thread"), end(region.to, "end of the thread"));
    html! {
        tr {
            td.name title=(from) { code { (from) } }
            td.name title=(to) { code { (to) } }
            td.number data-value=(region.calls) { (count(region.calls)) }
            (time_cells(region.compute_s, total_s))
            td.number data-value=(region.mpi_s) { (seconds(region.mpi_s)) }
            td.number data-value=(region.bytes) { (bytes(region.bytes)) }
            td { (svg::spark(&region.compute_by_rank_s, "computing, by rank")) }
        }
    }
}

pub(super) fn draw_operations(summary: &Summary) -> Markup {
    if summary.operations.is_empty() {
        return html! {};
    }
    let total_s = ranking::time_of_all_s(summary);
    let table = html! {
        table.sortable {
            thead { tr {
                th { "operation" } th { "class" } th.number { "calls" } th.number { "time" } th.number { "share" }
                th.number { "per call" } th.number { "bytes" } th.number { "bytes per call" }
            } }
            tbody {
                @for (name, totals) in terminal::operations_by_time(summary) { (operation(name, totals, total_s)) }
            }
        }
    };
    section("operations", "Operations", "over all ranks", &table)
}

fn operation(name: &str, totals: &OperationTotals, total_s: f64) -> Markup {
    let n_calls = totals.calls.max(1);
    let call_s = totals.time_s / n_calls as f64;
    let call_bytes = totals.bytes / n_calls;
    html! {
        tr {
            td { code { (harmless(name)) } }
            td { (harmless(&totals.class)) }
            td.number data-value=(totals.calls) { (count(totals.calls)) }
            @if terminal::is_outside(name) {
                td.number data-value=(totals.time_s) { (seconds(totals.time_s)) }
                td.number data-value="0" { (terminal::OUTSIDE) }
            } @else { (time_cells(totals.time_s, total_s)) }
            td.number data-value=(call_s) { (seconds(call_s)) }
            td.number data-value=(totals.bytes) { (bytes(totals.bytes)) }
            td.number data-value=(call_bytes) { (bytes(call_bytes)) }
        }
    }
}
