//! Resizes of a malleable program: ranks over time, and the phases of each resize.

use super::{draw_some, section};
use crate::resizes::{RankHistory, caution, moved, note, outcome};
use crate::svg::{across, area, course, level, short, stacked};
use display::ink::Tone;
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{seconds, share_of};
use maud::{Markup, html};
use resize_api::{Resize, ResizeOutcome, ResizePhase};

const N_RESIZES_MAX: usize = 500;

/// Draws the section; `program` is the start and end of the program, if known.
pub(super) fn draw(resizes: &[Resize], program: Option<(f64, f64)>) -> Markup {
    if resizes.is_empty() {
        return html! {};
    }
    let content = html! {
        @if let Some(history) = RankHistory::new(resizes, program) { (rank_history(&history, resizes)) }
        p.legend {
            @for phase in ResizePhase::ALL { span class={ "key " (class(phase)) } {} (phase.words()) }
        }
        (draw_some(table(resizes), "decisions resizes", resizes.len()))
        @if let Some(caution) = caution(resizes) { p.note { (caution) } }
    };
    section("resizes", "Resizes", &note(resizes), &content)
}

/// Returns the color class of a phase.
fn class(phase: ResizePhase) -> &'static str {
    match phase {
        ResizePhase::Decide => "decide",
        ResizePhase::Spawn => "other",
        ResizePhase::Connect => "first",
        ResizePhase::Moving => "useful",
        ResizePhase::Approach => "approach",
        ResizePhase::Wait => "wait",
        ResizePhase::Release => "over",
    }
}

fn table(resizes: &[Resize]) -> Table<&Resize> {
    let parts = |resize: &Resize| {
        let phases = resize.phases();
        let sum_s: f64 = phases.iter().map(|(_, time_s)| time_s).sum();
        let part = |(phase, time_s): &(ResizePhase, f64)| (share_of(*time_s, sum_s), class(*phase));
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
    let is_done = resize.outcome == ResizeOutcome::Done;
    if !is_done {
        words += &format!(": {}", harmless(&resize.sentence));
    }
    if let Some(decision) = &resize.decision {
        words += &format!("; {}", harmless(&decision.sentence));
    }
    Cell::from(words).tone(if is_done { Tone::Plain } else { Tone::Poor })
}

fn in_words(phases: &[(ResizePhase, f64)]) -> String {
    let words =
        phases.iter().map(|(phase, time_s)| format!("{} {}", phase.words(), seconds(*time_s)));
    words.collect::<Vec<_>>().join(", ")
}

const TOP: f64 = 8.0;
const HEIGHT: f64 = 120.0;
/// Height of the lane of phases, and of the space above it.
const LANE: f64 = 16.0;
const GAP: f64 = 8.0;
/// Minimum width of a phase.
const NARROWEST: f64 = 1.2;

fn rank_history(history: &RankHistory, resizes: &[Resize]) -> Markup {
    let span_s = (history.end_s - history.start_s).max(f64::MIN_POSITIVE);
    let x = |at_s: f64| across((at_s - history.start_s) / span_s);
    let most = f64::from(history.most().max(1));
    let y = |n_ranks: u32| TOP + HEIGHT * (1.0 - f64::from(n_ranks) / most);
    let (bottom, lane) = (TOP + HEIGHT, TOP + HEIGHT + GAP);
    let points: Vec<(f64, f64)> =
        history.steps.iter().map(|(from_s, n_ranks)| (x(*from_s), y(*n_ranks))).collect();
    let content = html! {
        path.crew d=(area(&points, across(1.0), bottom)) {}
        @for n_ranks in [0, history.most()] { (level(y(n_ranks), &n_ranks.to_string())) }
        @for resize in resizes.iter().take(N_RESIZES_MAX) { (phases(resize, &x, lane)) }
    };
    let caption = html! { "Ranks over time, and below what went on in each resize" };
    course(&caption, lane + LANE, Some(["0 s".to_owned(), seconds(span_s)]), &content)
}

/// Draws the phases of a resize in order.
fn phases(resize: &Resize, x: &dyn Fn(f64) -> f64, lane: f64) -> Markup {
    let phases = resize.phases();
    let mut end_s = resize.began_s;
    let mut boxes = Vec::with_capacity(phases.len());
    for (phase, time_s) in &phases {
        let start_s = end_s;
        end_s += time_s;
        boxes.push((x(start_s), (x(end_s) - x(start_s)).max(NARROWEST), class(*phase)));
    }
    html! {
        g {
            title { (resize.from) " → " (resize.to) " before iteration " (resize.iteration) ": " (in_words(&phases)) }
            @for (left, width, class) in boxes {
                rect class=(class) x=(short(left)) y=(short(lane)) width=(short(width)) height=(LANE) {}
            }
        }
    }
}
