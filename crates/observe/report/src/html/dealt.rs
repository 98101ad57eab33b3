//! Report of dealt work: iterations, idle times and their causes, chunk sizes, and the slowest
//! iteration chunk by chunk.

use super::{draw_some, section};
use crate::svg::{self, across, course, label_at, level, short, stacked, steps};
use dealing_report::{ChunkRecord, DealingReport, IterationLine, Slowest, Sums, Worker};
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{bytes, count, percent, seconds, share_of, whole};
use maud::{Markup, html};
use std::collections::BTreeMap;

const N_WORKERS_MAX: usize = 256;
const N_CHANGES_MAX: usize = 200;

pub(super) fn draw(dealt: Option<&DealingReport>) -> Markup {
    let Some(dealt) = dealt.filter(|dealt| dealt.sums.n_iterations != 0) else { return html! {} };
    let content = html! {
        (facts(&dealt.sums))
        (iteration_times(dealt))
        (workers(dealt))
        @if let Some(slowest) = dealt.slowest.as_ref().filter(|it| !it.chunks.is_empty() && 0.0 < it.duration_s) {
            (gantt(slowest)) (sizes(slowest))
        }
        (changes(dealt))
    };
    let note = format!("dealt by {}", harmless(&dealt.policy));
    section("dealt", "Master and workers", &note, &content)
}

fn facts(sums: &Sums) -> Markup {
    let per_chunk = |total: f64| total / sums.n_chunks.max(1) as f64;
    let way_s = sums.way_s / sums.n_ways.max(1) as f64;
    html! {
        dl.facts {
            div { dd { (percent(sums.efficiency())) } dt { "of the workers' time was work" } }
            div { dd { (seconds(sums.duration_s)) } dt { (count(sums.n_iterations)) " iterations; ideal " (seconds(sums.ideal_s)) } }
            div { dd { (count(sums.n_chunks)) } dt { "chunks of " (count(sums.n_tasks)) " tasks" } }
            div {
                dd { (seconds(way_s)) }
                dt {
                    "on the way per chunk: " (format!("{:.1}", per_chunk(sums.n_messages as f64))) " messages, "
                    (bytes(whole(per_chunk(sums.input_bytes as f64)))) " there and "
                    (bytes(whole(per_chunk(sums.output_bytes as f64)))) " back"
                }
            }
        }
        @if sums.n_retracted + sums.n_retried + sums.n_lost != 0 {
            p.note {
                (sums.n_retracted) " chunks were taken back before they were begun, " (sums.n_retried)
                " failed and were tried again, " (sums.n_lost) " workers were lost."
            }
        }
    }
}

/// Part of a worker's time: label, color class, and duration.
type Part = (&'static str, &'static str, fn(&Worker) -> f64);

/// Parts of a worker's time during its iterations.
const PARTS: [Part; 5] = [
    ("computes", "useful", |one| one.compute_s),
    ("waits for its first chunk", "first", |one| one.start_s),
    ("waits between chunks", "between", |one| one.waited_s),
    ("nothing is left, others compute", "over", |one| one.end_s),
    ("messages", "other", Worker::other_s),
];

fn workers(dealt: &DealingReport) -> Markup {
    let share = |worker: &Worker, part_s| share_of(part_s, worker.duration_s);
    let table = Table::new(dealt.workers.iter().take(N_WORKERS_MAX))
        .right("worker", |it| {
            let master = if it.rank == 0 { " (master)" } else { "" };
            Cell::from(format!("{}{master}", it.rank)).value(it.rank.into())
        })
        .column("time of its iterations", Align::Bar, |it| {
            let parts = PARTS.map(|(_, class, part)| (share(it, part(it)), class));
            stacked(&parts).into_string()
        })
        .right("computes", |it| Cell::percent(share(it, it.compute_s)))
        .right("tasks", |it| Cell::count(it.n_tasks))
        .right("chunks", |it| Cell::count(it.n_chunks))
        .right("idle", |it| Cell::seconds((it.duration_s - it.compute_s).max(0.0)))
        .right("parked", |it| Cell::seconds(it.parked_s));
    html! {
        p.legend {
            @for (what, class, _) in PARTS { span class={ "key " (class) } {} (what) }
        }
        (draw_some(table, "dealt", dealt.workers.len()))
    }
}

fn changes(dealt: &DealingReport) -> Markup {
    if dealt.changes.is_empty() {
        return html! {};
    }
    let number = |value: Option<f64>| match value {
        Some(value) if value.fract().abs() < 1e-9 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
        None => "its own".to_owned(),
    };
    let table = Table::new(dealt.changes.iter().take(N_CHANGES_MAX))
        .right("iteration", |it| it.iteration.to_string())
        .left("what changed", |it| harmless(&it.what))
        .right("from", |it| number(it.old))
        .right("to", |it| number(it.new))
        .left("because", |it| harmless(&it.reason));
    draw_some(table, "decisions", dealt.changes.len())
}

const LANES: f64 = 320.0;
const LANE_MAX: f64 = 22.0;
const SIZES: f64 = 150.0;
const N_LANES_MAX: usize = 128;

/// Draws a lane for each worker with a bar for each chunk; gaps are waiting times.
fn gantt(slowest: &Slowest) -> Markup {
    let mut lanes: BTreeMap<u32, Vec<&ChunkRecord>> = BTreeMap::new();
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

fn paleness(chunk: &ChunkRecord) -> String {
    short(0.4 + 0.6 * 0.75_f64.powf(f64::from(chunk.batch.min(20))))
}

/// Draws the size of each chunk over the number of tasks left when it was dealt.
fn sizes(slowest: &Slowest) -> Markup {
    let largest = slowest.chunks.iter().map(|chunk| chunk.n_tasks).max().unwrap_or(1).max(1) as f64;
    let n_tasks = slowest.n_tasks.max(1) as f64;
    let mut n_dealt = 0;
    let placed: Vec<(f64, f64, &ChunkRecord)> = slowest
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

const TIMES: f64 = 150.0;
const LANE: f64 = 56.0;
/// Space above the lane of workers.
const GAP: f64 = 16.0;
const TOP: f64 = 8.0;

/// Draws the time of each iteration over its ideal time, and the number of workers below.
fn iteration_times(dealt: &DealingReport) -> Markup {
    let lines = &dealt.iterations;
    if lines.len() < 2 {
        return html! {};
    }
    let longest_s = lines.iter().map(|line| line.duration_s).fold(f64::MIN_POSITIVE, f64::max);
    let most = lines.iter().map(|line| f64::from(line.n_workers)).fold(1.0, f64::max);
    let (top, bottom) = (TIMES + GAP, TIMES + GAP + LANE);
    let y = |time_s: f64| TOP + (TIMES - TOP) * (1.0 - (time_s / longest_s).clamp(0.0, 1.0));
    let x = |place: usize| across(place as f64 / lines.len() as f64);
    let workers_y = |n: f64| top + LANE * (1.0 - n / most);
    let (first, last) = (lines[0].iteration, lines[lines.len() - 1].iteration);
    let points = |y: &dyn Fn(&IterationLine) -> f64| -> Vec<(f64, f64)> {
        lines.iter().enumerate().map(|(place, line)| (x(place), y(line))).collect()
    };
    let ideal = points(&|line| y(line.ideal_s));
    let crew = points(&|line| workers_y(f64::from(line.n_workers)));
    let content = html! {
        @for share in [0.0, 0.5, 1.0] { (level(y(share * longest_s), &seconds(share * longest_s))) }
        path.ideal d=(svg::area(&ideal, across(1.0), y(0.0))) {}
        path.taken d=(steps(&points(&|line| y(line.duration_s)), across(1.0))) {}
        path.crew d=(svg::area(&crew, across(1.0), bottom)) {}
        (label_at(top + 10.0, &most.to_string()))
        (level(bottom, ""))
        @if lines.len() <= 400 { (readings(lines, &x, bottom)) }
    };
    let caption = html! {
        "What iterations took, as a line; what their work alone takes, shared by all who took part, as an area; below, how many took part"
    };
    svg::course(&caption, bottom, Some([format!("iteration {first}"), last.to_string()]), &content)
}

/// Returns the areas to point at, each with its numbers.
fn readings(lines: &[IterationLine], x: &dyn Fn(usize) -> f64, bottom: f64) -> Markup {
    html! {
        @for (place, line) in lines.iter().enumerate() {
            g {
                rect.hit x=(short(x(place))) y="0" width=(short(x(place + 1) - x(place))) height=(short(bottom)) {
                    title {
                        "iteration " (line.iteration) ": " (seconds(line.duration_s)) ", ideal " (seconds(line.ideal_s)) "; "
                        (line.n_tasks) " tasks in " (line.n_chunks) " chunks, " (line.n_workers) " workers"
                    }
                }
            }
        }
    }
}
