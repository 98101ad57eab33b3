//! Functions that were counted and timed.

use super::calls::{share, write_rest};
use super::ink::Tone;
use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::functions::{notes, short_names, slowest, time};
use crate::units::count;
use crate::{place, ranking};
use run_record::{FunctionTotals, Summary};

const N_ROWS_MAX: usize = 20;
/// Minimum width in columns to show places, shortest calls and deviations.
const WIDE: usize = 110;

pub(super) fn write(page: &mut Page, summary: &Summary) {
    if summary.functions.is_empty() {
        return;
    }
    page.heading("Functions", "from entry to exit, with all that they call, over all ranks");
    let is_wide = WIDE <= page.width();
    let mut table = Table::new(&columns(summary, is_wide));
    let total_s = ranking::time_of_all_s(summary);
    let named = short_names(summary).into_iter().zip(&summary.functions);
    for (name, function) in named.take(N_ROWS_MAX) {
        table.row(row(summary, (name, function), total_s, is_wide));
    }
    table.write(page);
    write_rest(page, summary.functions.len(), N_ROWS_MAX);
    for note in notes(summary) {
        page.sentence("", &note, Tone::Dim);
    }
}

fn columns(summary: &Summary, is_wide: bool) -> Vec<Column> {
    let mut columns = vec![("function", Align::Name)];
    if is_wide {
        columns.push(("place", Align::Name));
    }
    let numbers = ["calls", "time", "share", "per call"].map(|title| (title, Align::Right));
    columns.extend(numbers);
    if is_wide {
        columns.extend([("shortest", Align::Right), ("deviation", Align::Right)]);
    }
    columns.push(("longest", Align::Right));
    if 1 < summary.n_ranks {
        columns.push(("slowest", Align::Right));
    }
    columns
}

fn row(
    summary: &Summary,
    (name, function): (String, &FunctionTotals),
    total_s: f64,
    is_wide: bool,
) -> Vec<Cell> {
    let times = &function.total;
    let plain = |text: String| (text, Tone::Plain);
    let mut cells = vec![(name, Tone::Strong)];
    if is_wide {
        cells.push(plain(place::location(&function.place)));
    }
    cells.push(plain(count(times.calls)));
    cells.push(plain(time(times, times.time_s)));
    cells.push(share(times.time_s, total_s));
    cells.push(plain(time(times, times.mean_s)));
    if is_wide {
        cells.push(plain(time(times, times.min_s)));
        cells.push(plain(time(times, times.deviation_s)));
    }
    cells.push(plain(time(times, times.max_s)));
    if 1 < summary.n_ranks {
        cells.push(plain(slowest(summary, function)));
    }
    cells
}
