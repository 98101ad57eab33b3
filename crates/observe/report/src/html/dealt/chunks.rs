//! The slowest iteration chunk by chunk: who computed what and when, and the sizes of chunks.

use crate::svg::{across, course, label_at, level, short};
use dealing_report::{Chunk, Slowest};
use display::units::seconds;
use maud::{Markup, html};
use std::collections::BTreeMap;

const LANES: f64 = 320.0;
const LANE_MAX: f64 = 22.0;
const SIZES: f64 = 150.0;
const N_LANES_MAX: usize = 128;

pub(super) fn draw(slowest: &Slowest) -> Markup {
    if slowest.chunks.is_empty() || slowest.duration_s <= 0.0 {
        return html! {};
    }
    html! {
        (gantt(slowest))
        (sizes(slowest))
    }
}

/// Draws a lane for each worker with a bar for each chunk; gaps are waiting times.
fn gantt(slowest: &Slowest) -> Markup {
    let mut lanes: BTreeMap<u32, Vec<&Chunk>> = BTreeMap::new();
    for chunk in &slowest.chunks {
        lanes.entry(chunk.rank).or_default().push(chunk);
    }
    let n_lanes = lanes.len().min(N_LANES_MAX);
    let height = (LANES / n_lanes as f64).min(LANE_MAX);
    let bottom = height * n_lanes as f64;
    let x = |at_s: f64| across(at_s / slowest.duration_s);
    let n_apart = n_lanes.div_ceil(24);
    let caption = html! {
        "Iteration " (slowest.iteration) ", the slowest: who computed which chunk when; the paler, the later its batch"
        @if slowest.n_chunks_left_out != 0 { " (its first " (slowest.chunks.len()) " chunks)" }
        @if N_LANES_MAX < lanes.len() { " (the first " (N_LANES_MAX) " of " (lanes.len()) " workers)" }
    };
    let content = html! {
        @for (lane, (rank, chunks)) in lanes.iter().take(N_LANES_MAX).enumerate() {
            @let top = height * lane as f64;
            @if lane % n_apart == 0 { (label_at(top + height / 2.0 + 4.0, &rank.to_string())) }
            rect.empty x=(across(0.0)) width=(across(1.0) - across(0.0)) y=(short(top + 1.0)) height=(short(height - 2.0)) {}
            @for chunk in chunks {
                @let (from, to) = (x(chunk.began_s), x(chunk.ended_s));
                rect.useful.chunk x=(short(from)) y=(short(top + 1.0)) width=(short((to - from).max(0.3)))
                    height=(short(height - 2.0)) opacity=(paleness(chunk)) {
                    title {
                        "worker " (rank) ": " (chunk.n_tasks) " tasks of batch " (chunk.batch) ", "
                        (seconds(chunk.ended_s - chunk.began_s)) " from " (seconds(chunk.began_s)) " on"
                    }
                }
            }
        }
    };
    course(&caption, bottom, Some(["0 s".to_owned(), seconds(slowest.duration_s)]), &content)
}

fn paleness(chunk: &Chunk) -> String {
    short(0.4 + 0.6 * 0.75_f64.powf(f64::from(chunk.batch.min(20))))
}

/// Draws the size of each chunk over the number of tasks left when it was dealt.
fn sizes(slowest: &Slowest) -> Markup {
    let largest = slowest.chunks.iter().map(|chunk| chunk.n_tasks).max().unwrap_or(1).max(1) as f64;
    let n_tasks = slowest.n_tasks.max(1) as f64;
    let mut n_dealt = 0;
    let placed: Vec<(f64, f64, &Chunk)> = slowest
        .chunks
        .iter()
        .map(|chunk| {
            let from = n_dealt as f64 / n_tasks;
            n_dealt += chunk.n_tasks;
            (from.min(1.0), chunk.n_tasks as f64, chunk)
        })
        .collect();
    let y = |size: f64| 8.0 + (SIZES - 8.0) * (1.0 - size / largest);
    let content = html! {
        @for size in [0.0, largest] { (level(y(size), &size.to_string())) }
        @for (from, size, chunk) in &placed {
            @let (from, to) = (across(*from), across(from + size / n_tasks));
            rect.mpi x=(short(from)) y=(short(y(*size))) width=(short((to - from - 0.6).max(0.4)))
                height=(short(SIZES - y(*size))) {
                title { (chunk.n_tasks) " tasks to worker " (chunk.rank) ", batch " (chunk.batch) }
            }
        }
    };
    let caption =
        html! { "Tasks in its chunks, over the tasks that were left when they were dealt" };
    let ends = [format!("{} tasks left", slowest.n_tasks), "none left".to_owned()];
    course(&caption, SIZES, Some(ends), &content)
}
