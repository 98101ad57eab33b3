//! Message sizes: a histogram over all operations, and one for each of the operations with the most time.

use super::section;
use crate::ranking::operations_by_time;
use crate::svg;
use crate::terminal::{size_tick, sizes_of_all, sizes_of_messages};
use display::text::harmless;
use display::units::{bytes, count};
use maud::{Markup, html};
use run_record::Summary;

/// Maximum number of histograms of single operations.
const N_OPERATIONS_MAX: usize = 11;
const HEIGHT: f64 = 60.0;
/// Number of bars per size label.
const TICK_EVERY: usize = 4;
/// Space to the right of the last bar, for a label that starts under it.
const TICK_ROOM: usize = 12;

pub(super) fn draw(summary: &Summary) -> Markup {
    let all = sizes_of_messages(summary);
    if all.is_empty() {
        return html! {};
    }
    let with_sizes = operations_by_time(summary)
        .into_iter()
        .filter(|(_, totals)| !totals.sizes.is_empty() && totals.class != "completion");
    let content = html! {
        div.histograms {
            (histogram("all operations", &all))
            @for (name, totals) in with_sizes.take(N_OPERATIONS_MAX) {
                (histogram(&harmless(name), &on_axis(&totals.sizes, &all)))
            }
        }
    };
    section("sizes", "Message sizes", "calls by bytes of one call", &content)
}

/// Returns the calls of an operation by the sizes of all operations: all pictures have the same axis.
fn on_axis(sizes: &[(u64, u64)], all: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let known = sizes_of_all(std::iter::once(sizes));
    let calls = |size: u64| known.iter().find(|(known, _)| *known == size).map_or(0, |(_, n)| *n);
    all.iter().map(|(size, _)| (*size, calls(*size))).collect()
}

fn histogram(name: &str, sizes: &[(u64, u64)]) -> Markup {
    let most = sizes.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1);
    let n_calls = sizes.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    html! {
        figure {
            figcaption { code { (name) } " " small { (count(n_calls)) " calls" } }
            svg.histogram viewBox={ "0 0 " (sizes.len() * 10 + TICK_ROOM) " 74" } {
                @for (idx, (size, n)) in sizes.iter().enumerate() {
                    g {
                        title { (range(*size)) ": " (count(*n)) " calls" }
                        rect.hit x=(idx * 10) width="10" height="60" {}
                        @let height = if *n == 0 { 0.0 } else { (*n as f64 / most as f64 * HEIGHT).max(1.0) };
                        rect.mpi x=(idx * 10) y=(svg::short(HEIGHT - height)) width="9" height=(svg::short(height)) {}
                    }
                    @if idx.is_multiple_of(TICK_EVERY) { text x=(idx * 10) y="71" { (size_tick(*size)) } }
                }
                line x1="0" y1="60.5" x2=(sizes.len() * 10) y2="60.5" {}
            }
        }
    }
}

fn range(smallest: u64) -> String {
    match smallest {
        0 | 1 => bytes(smallest),
        _ => format!("{} to below {}", bytes(smallest), bytes(smallest.saturating_mul(2))),
    }
}
