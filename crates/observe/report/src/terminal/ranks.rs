//! Computation versus MPI, rank by rank, or the extremes and the median of many.

use super::page::{INDENT, Page};
use crate::ranking::{self, useful_share};
use display::bars;
use display::ink::Tone;
use display::text;
use display::units::{count, percent, plural, seconds, share_of};
use run_record::Summary;
use run_record::summary::RankTotals;

/// Number of ranks above which the list is shortened.
const N_RANKS_MAX: usize = 16;
/// Number of ranks shown at each end of a shortened list.
const N_ENDS: usize = 4;
/// Width of the numbers after the bar: ` 100.0 %    120 s   12.3 k`.
const N_NUMBERS: usize = 30;

pub(super) fn write(page: &mut Page, summary: &Summary) {
    page.heading("Ranks", "█ computing  ▒ in MPI");
    if summary.ranks.len() <= N_RANKS_MAX {
        let all: Vec<usize> = (0..summary.ranks.len()).collect();
        let widths = widths(page, summary, &all);
        write_titles(page, widths);
        write_rows(page, summary, &all, widths);
    } else {
        write_spread(page, summary);
        write_folded(page, summary);
    }
}

/// Writes one character per group of neighbors, to show patterns over ranks.
fn write_spread(page: &mut Page, summary: &Summary) {
    let shares: Vec<f64> = summary.ranks.iter().map(useful_share).collect();
    let shown = bars::averaged(&shares, page.width() - INDENT);
    let per_column = shares.len().div_ceil(shown.len().max(1));
    let line = page.paint(Tone::Useful, &bars::columns(&shown));
    page.line(&line);
    let each = if per_column == 1 {
        "computing by rank, a column for each".to_owned()
    } else {
        format!("computing by rank, a column for {per_column} ranks")
    };
    let quantiles = quantiles(shares);
    page.sentence("", &format!("{each}: {quantiles}"), Tone::Dim);
}

fn quantiles(mut shares: Vec<f64>) -> String {
    shares.sort_by(f64::total_cmp);
    let at = |idx: usize| percent(shares.get(idx).copied().unwrap_or(0.0));
    let last = shares.len().saturating_sub(1);
    format!("min {}, median {}, max {}", at(0), at(last / 2), at(last))
}

fn write_folded(page: &mut Page, summary: &Summary) {
    let chosen = ranking::representatives(summary, N_ENDS);
    let median: Vec<usize> = chosen.median.into_iter().collect();
    let shown: Vec<usize> = [&chosen.busiest[..], &median, &chosen.idlest].concat();
    let widths = widths(page, summary, &shown);
    let n_hidden = summary.ranks.len() - shown.len();
    page.unindented("");
    write_titles(page, widths);
    let parts = [
        ("most computing", &chosen.busiest),
        ("median", &median),
        ("least computing", &chosen.idlest),
    ];
    for (title, part) in parts {
        let title = page.paint(Tone::Dim, title);
        page.line(&title);
        write_rows(page, summary, part, widths);
    }
    let hidden =
        page.paint(Tone::Dim, &format!("{} between them not shown", plural(n_hidden, "rank")));
    page.line(&hidden);
}

#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    node: usize,
    bar: usize,
}

fn widths(page: &Page, summary: &Summary, shown: &[usize]) -> Widths {
    let ranks = || shown.iter().map(|idx| &summary.ranks[*idx]);
    let name = ranks().map(|rank| ranking::name(summary, rank).len()).max().unwrap_or(0).max(4);
    let node = ranks()
        .map(|rank| text::width(&text::harmless(&rank.node)))
        .max()
        .unwrap_or(0)
        .clamp(4, 16);
    let bar = page.width().saturating_sub(INDENT + name + node + N_NUMBERS + 4).min(48);
    Widths { name, node, bar }
}

fn write_titles(page: &mut Page, widths: Widths) {
    let titles = format!(
        "{}  {}  {}{}{}{}",
        text::right("rank", widths.name),
        text::left("node", widths.node),
        text::spaces(widths.bar),
        text::right("computing", 10),
        text::right("time", 12),
        text::right("calls", 8),
    );
    let line = page.paint(Tone::Dim, &titles);
    page.line(&line);
}

fn write_rows(page: &mut Page, summary: &Summary, shown: &[usize], widths: Widths) {
    let longest_s = summary.ranks.iter().map(|rank| rank.elapsed_s).fold(0.0, f64::max);
    for rank in shown.iter().map(|idx| &summary.ranks[*idx]) {
        let node = text::shorten(&text::harmless(&rank.node), widths.node);
        let line = format!(
            "{}  {}  {}{}{}{}",
            text::right(&ranking::name(summary, rank), widths.name),
            text::left(&node, widths.node),
            bar(page, rank, longest_s, widths.bar),
            text::right(&percent(useful_share(rank)), 10),
            text::right(&seconds(rank.elapsed_s), 12),
            text::right(&count(rank.calls), 8),
        );
        page.line(&line);
    }
}

/// Draws computing and MPI time on the scale of the longest rank.
fn bar(page: &Page, rank: &RankTotals, longest_s: f64, n_columns: usize) -> String {
    let shares = [share_of(rank.useful_s, longest_s), share_of(rank.mpi_s, longest_s)];
    let [n_useful, n_mpi] = bars::split(shares, n_columns);
    let useful = page.paint(Tone::Useful, &"█".repeat(n_useful));
    let mpi = page.paint(Tone::Mpi, &"▒".repeat(n_mpi));
    format!("{useful}{mpi}{}", text::spaces(n_columns - n_useful - n_mpi))
}
