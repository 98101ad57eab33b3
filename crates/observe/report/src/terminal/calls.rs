//! The call sites and regions that take the most time.

use super::ink::Tone;
use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::units::{bytes, count, percent, seconds, share_of};
use crate::{place, ranking, text};
use run_record::Summary;
use run_record::summary::{CallSite, Region};

/// Maximum number of rows in a table; the rest is counted.
const N_ROWS_MAX: usize = 8;

pub(super) fn write_call_sites(page: &mut Page, summary: &Summary) {
    if summary.call_sites.is_empty() {
        return;
    }
    page.heading("Where the MPI time goes", "time over all ranks");
    let mut table = Table::new(&[
        ("call", Align::Left),
        ("function", Align::Name),
        ("place", Align::Name),
        ("calls", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("bytes", Align::Right),
    ]);
    let total_s = ranking::time_of_all_s(summary);
    for site in summary.call_sites.iter().take(N_ROWS_MAX) {
        table.row(call_site_row(site, total_s));
    }
    table.write(page);
    write_rest(page, summary.call_sites.len(), N_ROWS_MAX);
}

fn call_site_row(site: &CallSite, total_s: f64) -> Vec<Cell> {
    vec![
        (text::shorten(&operation(&site.operation), 18), Tone::Plain),
        (place::function(&site.place), Tone::Plain),
        (place::location(&site.place), Tone::Strong),
        (count(site.calls), Tone::Plain),
        (seconds(site.time_s), Tone::Plain),
        share(site.time_s, total_s),
        (bytes(site.bytes), Tone::Plain),
    ]
}

pub(super) fn write_regions(page: &mut Page, summary: &Summary) {
    if summary.regions.is_empty() {
        return;
    }
    page.heading("Where the computation goes", "from the end of one call to the start of the next");
    let mut table = Table::new(&[
        ("after", Align::Name),
        ("before", Align::Name),
        ("times", Align::Right),
        ("computing", Align::Right),
        ("share", Align::Right),
        ("then in MPI", Align::Right),
    ]);
    let total_s = ranking::time_of_all_s(summary);
    let mut regions: Vec<&Region> = summary.regions.iter().collect();
    regions.sort_by(|a, b| b.compute_s.total_cmp(&a.compute_s));
    for region in regions.iter().take(N_ROWS_MAX) {
        let (from, to) = place::region_ends(summary, region);
        table.row(vec![
            (from, Tone::Plain),
            (to, Tone::Strong),
            (count(region.calls), Tone::Plain),
            (seconds(region.compute_s), Tone::Plain),
            share(region.compute_s, total_s),
            (seconds(region.mpi_s), Tone::Plain),
        ]);
    }
    table.write(page);
    write_rest(page, regions.len(), N_ROWS_MAX);
}

/// Returns an operation's name without the common prefix.
pub(super) fn operation(name: &str) -> String {
    text::harmless(name.strip_prefix("MPI_").unwrap_or(name))
}

/// Returns a cell with a share of all ranks' time; large ones stand out.
pub(super) fn share(part_s: f64, total_s: f64) -> Cell {
    let share = share_of(part_s, total_s);
    (percent(share), if share >= 0.05 { Tone::Strong } else { Tone::Plain })
}

/// Writes how many rows of `n` are not among the first `n_shown`.
pub(super) fn write_rest(page: &mut Page, n: usize, n_shown: usize) {
    if n > n_shown {
        let line = page.paint(Tone::Dim, &format!("… and {} more", n - n_shown));
        page.line(&line);
    }
}
