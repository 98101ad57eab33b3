//! Report of dealt work: iterations, idle times and their causes, chunk sizes, and the slowest
//! iteration chunk by chunk.

mod chunks;
mod course;

use super::svg::stacked;
use super::{rest, section};
use crate::text::harmless;
use crate::units::{bytes, count, percent, seconds, share_of, whole};
use dealing_report::{DealingReport, IterationChange, Sums, Worker};
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
    html! {
        p.legend {
            @for (what, class, _) in PARTS { span class={ "key " (class) } {} (what) }
        }
        table.sortable.dealt {
            thead { tr {
                th.number { "worker" } th.wide.fixed { "time of its iterations" } th.number { "computes" }
                th.number { "tasks" } th.number { "chunks" } th.number { "idle" } th.number { "parked" }
            } }
            tbody { @for worker in dealt.workers.iter().take(N_WORKERS_MAX) { (row(worker)) } }
        }
        (rest(dealt.workers.len(), N_WORKERS_MAX))
    }
}

fn row(worker: &Worker) -> Markup {
    let share = |part_s| share_of(part_s, worker.duration_s);
    let parts: Vec<(f64, &str)> =
        PARTS.iter().map(|(_, class, part)| (share(part(worker)), *class)).collect();
    let idle_s = (worker.duration_s - worker.compute_s).max(0.0);
    html! {
        tr {
            td.number data-value=(worker.rank) { (worker.rank) @if worker.rank == 0 { " (master)" } }
            td.wide { (stacked(&parts)) }
            td.number data-value=(share(worker.compute_s)) { (percent(share(worker.compute_s))) }
            td.number data-value=(worker.n_tasks) { (count(worker.n_tasks)) }
            td.number data-value=(worker.n_chunks) { (count(worker.n_chunks)) }
            td.number data-value=(idle_s) { (seconds(idle_s)) }
            td.number data-value=(worker.parked_s) { (seconds(worker.parked_s)) }
        }
    }
}

fn changes(dealt: &DealingReport) -> Markup {
    if dealt.changes.is_empty() {
        return html! {};
    }
    html! {
        table.sortable.decisions {
            thead { tr { th.number { "iteration" } th { "what changed" } th.number { "from" } th.number { "to" } th { "because" } } }
            tbody { @for change in dealt.changes.iter().take(N_CHANGES_MAX) { (change_row(change)) } }
        }
        (rest(dealt.changes.len(), N_CHANGES_MAX))
    }
}

fn change_row(change: &IterationChange) -> Markup {
    let number = |value: Option<f64>| match value {
        Some(value) if value.fract().abs() < 1e-9 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
        None => "its own".to_owned(),
    };
    html! {
        tr {
            td.number data-value=(change.iteration) { (change.iteration) }
            td { (harmless(&change.what)) }
            td.number { (number(change.old)) }
            td.number { (number(change.new)) }
            td { (harmless(&change.reason)) }
        }
    }
}
