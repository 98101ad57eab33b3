//! Resizes of a malleable program: ranks over time, and the phases of each resize.

mod rank_history;

use super::section;
use super::table::draw_some;
use crate::resizes::{RankHistory, caution, moved, note, outcome};
use crate::svg::stacked;
use display::ink::Tone;
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{seconds, share_of};
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
        (draw_some(table(resizes), "decisions resizes", resizes.len()))
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

fn table(resizes: &[Resize]) -> Table<&Resize> {
    let parts = |resize: &Resize| {
        let phases = resize.phases();
        let sum_s: f64 = phases.iter().map(|(_, time_s)| time_s).sum();
        let part = |(phase, time_s): &(Phase, f64)| (share_of(*time_s, sum_s), class(*phase));
        let parts: Vec<(f64, &str)> = phases.iter().map(part).collect();
        Cell::from(stacked(&parts).into_string()).hint(in_words(&phases))
    };
    Table::new(resizes.iter().take(N_RESIZES_MAX))
        .right("iteration", |it| it.iteration.to_string())
        .left("ranks", |it| Cell::from(format!("{} → {}", it.from, it.to)).value(it.to.into()))
        .left("why", |it| harmless(&it.reason))
        .column("where its time went", Align::Bar, |it| parts(it))
        .right("in all", |it| Cell::seconds(it.seconds.total))
        .right("wait", |it| Cell::seconds(it.seconds.wait))
        .right("iterations meanwhile", |it| Cell::count(it.iterations_meanwhile))
        .left("moved", |it| Cell::from(moved(it)).value(it.bytes.moved as f64))
        .left("outcome", |it| ending(it))
}

/// Returns the outcome, the estimate that was made, and the reason of a failure.
fn ending(resize: &Resize) -> Cell {
    let mut words = outcome(resize).to_owned();
    let is_done = resize.outcome == Outcome::Done;
    if !is_done {
        words += &format!(": {}", harmless(&resize.sentence));
    }
    if let Some(decision) = &resize.decision {
        words += &format!("; {}", harmless(&decision.sentence));
    }
    Cell::from(words).tone(if is_done { Tone::Plain } else { Tone::Poor })
}

fn in_words(phases: &[(Phase, f64)]) -> String {
    let words =
        phases.iter().map(|(phase, time_s)| format!("{} {}", phase.words(), seconds(*time_s)));
    words.collect::<Vec<_>>().join(", ")
}
