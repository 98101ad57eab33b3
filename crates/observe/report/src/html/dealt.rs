//! Report of dealt work: iterations, idle times and their causes, chunk sizes, and the slowest
//! iteration chunk by chunk.

mod chunks;
mod course;

use super::section;
use super::table::draw_some;
use crate::svg::stacked;
use dealing_report::{DealingReport, Sums, Worker};
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{bytes, count, percent, seconds, share_of, whole};
use maud::{Markup, html};

const N_WORKERS_MAX: usize = 256;
const N_CHANGES_MAX: usize = 200;

pub(super) fn draw(dealt: Option<&DealingReport>) -> Markup {
    let Some(dealt) = dealt.filter(|dealt| dealt.sums.n_iterations != 0) else { return html! {} };
    let content = html! {
        (facts(&dealt.sums))
        (course::draw(dealt))
        (workers(dealt))
        @if let Some(slowest) = &dealt.slowest { (chunks::draw(slowest)) }
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
