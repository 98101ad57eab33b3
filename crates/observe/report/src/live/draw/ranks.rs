//! Ranks tab: computation versus MPI in the last interval, and the current call of every rank.

use super::{colored, dim};
use crate::live::{LiveState, RankNow, Tab};
use display::bars;
use display::text;
use display::units::{percent, rate, seconds};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

const KEY: &str = "█ computing ▒ MPI";
const N_RANK: usize = 6;
const N_NODE: usize = 10;
/// Width for `100.0 %  12.3 k/s`.
const N_RATES: usize = 19;
/// Width for `MPI_Neighbor…toall 12.3 s`.
const N_NOW: usize = 26;

pub(super) fn lines(state: &LiveState, body: Rect) -> Vec<Line<'static>> {
    let n_columns = usize::from(body.width);
    let n_room = usize::from(body.height).saturating_sub(1);
    let ranks = &state.snapshot.ranks;
    let first = state.scrolled[Tab::Ranks as usize].min(ranks.len().saturating_sub(n_room));
    let wide = n_columns >= 90;
    let shown = ranks.iter().skip(first).take(n_room);
    let several_worlds = ranks.iter().any(|rank| rank.world > 0);
    std::iter::once(titles(n_columns, wide))
        .chain(shown.map(|rank| line(state, rank, Widths { n_columns, wide, several_worlds })))
        .collect()
}

#[derive(Clone, Copy)]
struct Widths {
    n_columns: usize,
    /// True if there is room for the node's name.
    wide: bool,
    several_worlds: bool,
}

fn n_bar(n_columns: usize, wide: bool) -> usize {
    let fixed = N_RANK + N_RATES + N_NOW + 3 + if wide { N_NODE + 1 } else { 0 };
    n_columns.saturating_sub(fixed)
}

fn titles(n_columns: usize, wide: bool) -> Line<'static> {
    let node = if wide { text::left("node", N_NODE + 1) } else { String::new() };
    let n_bar = n_bar(n_columns, wide);
    let key = if n_bar < text::width(KEY) { "" } else { KEY };
    let bar = text::left(key, n_bar);
    let rates = format!("{:>9} {:>9}", "computing", "calls/s");
    Line::from(dim(format!("{:>5} {node}{bar} {rates}  now", "rank")))
}

fn line(state: &LiveState, rank: &RankNow, widths: Widths) -> Line<'static> {
    let name = if widths.several_worlds {
        format!("{}.{}", rank.world, rank.rank)
    } else {
        rank.rank.to_string()
    };
    let node = text::shorten(&text::harmless(&rank.node), N_NODE);
    let node = if widths.wide { text::left(&node, N_NODE + 1) } else { String::new() };
    let n_bar = n_bar(widths.n_columns, widths.wide);
    let [n_useful, n_mpi] = bars::split([rank.useful_share, rank.mpi_share], n_bar);
    let rates = format!(" {:>9} {:>9}  ", percent(rank.useful_share), rate(rank.calls_per_s));
    Line::from(vec![
        Span::raw(format!("{name:>5} {node}")),
        colored(state.color, Color::Green, "█".repeat(n_useful)),
        colored(state.color, Color::Blue, "▒".repeat(n_mpi)),
        Span::raw(text::spaces(n_bar - n_useful - n_mpi)),
        Span::raw(rates),
        Span::raw(now(rank)),
    ])
}

fn now(rank: &RankNow) -> String {
    if rank.ended {
        return "ended".to_owned();
    }
    let since = seconds(rank.since_s);
    let call =
        rank.call.as_ref().map_or_else(|| "computing".to_owned(), |call| text::harmless(call));
    let room = N_NOW.saturating_sub(text::width(&since) + 2);
    format!("{} {since}", text::shorten(&call, room))
}
