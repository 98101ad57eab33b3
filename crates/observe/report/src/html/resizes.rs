//! Resizes of a malleable program: ranks over time, and the phases of each resize.

mod rank_history;

use super::svg::stacked;
use super::{rest, section};
use crate::resizes::{RankHistory, caution, moved, note, outcome};
use crate::text::harmless;
use crate::units::{count, seconds, share_of};
use maud::{Markup, html};
use resize_api::{Outcome, Phase, Resize};

const N_RESIZES_MAX: usize = 500;

/// Draws the section; `program` is the start and end of the program, if known.
pub(super) fn draw(resizes: &[Resize], program: Option<(f64, f64)>) -> Markup {
    if resizes.is_empty() {
        return html! {};
    }
    let content = html! {
        @if let Some(history) = RankHistory::new(resizes, program) { (rank_history::draw(&history, resizes)) }
        p.legend {
            @for phase in Phase::ALL { span class={ "key " (class(phase)) } {} (phase.words()) }
        }
        table.sortable.decisions.resizes {
            thead { tr {
                th.number { "iteration" } th { "ranks" } th { "why" } th.wide.fixed { "where its time went" } th.number { "in all" }
                th.number { "wait" } th.number { "iterations meanwhile" } th { "moved" } th { "outcome" }
            } }
            tbody { @for resize in resizes.iter().take(N_RESIZES_MAX) { (row(resize)) } }
        }
        (rest(resizes.len(), N_RESIZES_MAX))
        @if let Some(caution) = caution(resizes) { p.note { (caution) } }
    };
    section("resizes", "Resizes", &note(resizes), &content)
}

/// Returns the color class of a phase.
fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Decide => "decide",
        Phase::Spawn => "other",
        Phase::Connect => "first",
        Phase::Moving => "useful",
        Phase::Approach => "approach",
        Phase::Wait => "wait",
        Phase::Release => "over",
    }
}

fn row(resize: &Resize) -> Markup {
    let phases = resize.phases();
    let sum_s: f64 = phases.iter().map(|(_, time_s)| time_s).sum();
    let parts: Vec<(f64, &str)> =
        phases.iter().map(|(phase, time_s)| (share_of(*time_s, sum_s), class(*phase))).collect();
    let (total_s, wait_s) = (resize.seconds.total, resize.seconds.wait);
    html! {
        tr {
            td.number data-value=(resize.iteration) { (resize.iteration) }
            td data-value=(resize.to) { (resize.from) " → " (resize.to) }
            td { (harmless(&resize.reason)) }
            td.wide title=(in_words(&phases)) { (stacked(&parts)) }
            td.number data-value=(total_s) { (seconds(total_s)) }
            td.number data-value=(wait_s) { (seconds(wait_s)) }
            td.number data-value=(resize.iterations_meanwhile) { (count(resize.iterations_meanwhile)) }
            td data-value=(resize.bytes.moved) { (moved(resize)) }
            td { (ending(resize)) }
        }
    }
}

/// Returns the outcome, the estimate that was made, and the reason of a failure.
fn ending(resize: &Resize) -> Markup {
    html! {
        @if resize.outcome == Outcome::Done { (outcome(resize)) }
        @else { strong { (outcome(resize)) } ": " (harmless(&resize.sentence)) }
        @if let Some(decision) = &resize.decision { "; " (harmless(&decision.sentence)) }
    }
}

fn in_words(phases: &[(Phase, f64)]) -> String {
    let words =
        phases.iter().map(|(phase, time_s)| format!("{} {}", phase.words(), seconds(*time_s)));
    words.collect::<Vec<_>>().join(", ")
}
