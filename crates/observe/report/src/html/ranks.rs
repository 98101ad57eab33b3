//! Computation versus MPI by rank: a row for each of a few ranks, a column for each of many.

use super::{draw_some, section};
use crate::ranking::{self, useful_share};
use crate::svg;
use display::bars;
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{percent, share_of};
use maud::{Markup, html};
use run_record::Summary;
use run_record::summary::RankTotals;

/// Number of ranks above which columns are drawn, and only the extremes and the median are listed.
const N_ROWS_MAX: usize = 32;
const N_ENDS: usize = 8;
/// Number of columns that a screen can show; with more ranks, several share a column.
const N_COLUMNS_MAX: usize = 1024;
const HEIGHT: f64 = 100.0;

pub(super) fn draw(summary: &Summary) -> Markup {
    let all: Vec<usize> = (0..summary.ranks.len()).collect();
    let content = html! {
        p.legend { span.key.useful {} " computing " span.key.mpi {} " in MPI" }
        @if all.len() <= N_ROWS_MAX {
            (table(summary, &all))
        } @else {
            (columns(summary))
            @let shown = ends_and_middle(summary);
            (table(summary, &shown))
            p.note { (all.len() - shown.len()) " ranks between these are not listed." }
        }
    };
    section("ranks", "Ranks", "", &content)
}

fn ends_and_middle(summary: &Summary) -> Vec<usize> {
    let chosen = ranking::representatives(summary, N_ENDS);
    let median: Vec<usize> = chosen.median.into_iter().collect();
    [chosen.busiest, median, chosen.idlest].concat()
}

fn table(summary: &Summary, shown: &[usize]) -> Markup {
    let longest_s = summary.ranks.iter().map(|rank| rank.elapsed_s).fold(0.0, f64::max);
    let bar = |rank: &RankTotals| {
        let useful = (share_of(rank.useful_s, longest_s), "useful");
        svg::stacked(&[useful, (share_of(rank.mpi_s, longest_s), "mpi")]).into_string()
    };
    let table = Table::new(shown.iter().map(|idx| &summary.ranks[*idx]))
        .right("rank", |rank| ranking::name(summary, rank))
        .left("node", |rank| harmless(&rank.node))
        .column("", Align::Bar, |rank| bar(rank))
        .right("computing", |rank| Cell::percent(useful_share(rank)))
        .right("time", |rank| Cell::seconds(rank.elapsed_s))
        .right("calls", |rank| Cell::count(rank.calls))
        .right("bytes", |rank| Cell::bytes(rank.bytes));
    draw_some(table, "", shown.len())
}

/// Draws average shares of groups of neighboring ranks as columns.
fn columns(summary: &Summary) -> Markup {
    let shares: Vec<f64> = summary.ranks.iter().map(useful_share).collect();
    let per_column = shares.len().div_ceil(N_COLUMNS_MAX);
    let columns = bars::averaged(&shares, N_COLUMNS_MAX);
    html! {
        svg.columns viewBox={ "0 0 " (columns.len()) " 100" } preserveAspectRatio="none" role="img"
            aria-label="share of time computing, by rank" {
            @for (idx, share) in columns.iter().enumerate() {
                @let height = share.clamp(0.0, 1.0) * HEIGHT;
                g {
                    title { (group(summary, idx, per_column)) ": computing " (percent(*share)) }
                    rect.mpi x=(idx) width="1.02" height=(svg::short(HEIGHT - height)) {}
                    rect.useful x=(idx) y=(svg::short(HEIGHT - height)) width="1.02" height=(svg::short(height)) {}
                }
            }
        }
        p.note { "Ranks from left to right" @if per_column > 1 { ", " (per_column) " to a column" } ", share of each one's time from bottom to top." }
    }
}

fn group(summary: &Summary, column_idx: usize, per_column: usize) -> String {
    let first = &summary.ranks[column_idx * per_column];
    let last_idx = ((column_idx + 1) * per_column).min(summary.ranks.len()) - 1;
    let first_name = ranking::name(summary, first);
    if per_column == 1 {
        return format!("rank {first_name} on {}", harmless(&first.node));
    }
    format!("ranks {first_name} to {}", ranking::name(summary, &summary.ranks[last_idx]))
}
