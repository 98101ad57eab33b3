//! Tuning: iteration times over the run with the changes marked, values of the tuning points below, and every
//! decision with its reason.

use super::{draw_table, rest, section};
use crate::svg::{across, course, label_at, level, short, steps};
use crate::tuning_text;
use display::table::{Cell, Table};
use display::text::harmless;
use display::units::seconds;
use maud::{Markup, html};
use run_record::Summary;
use run_record::tuning::{DecisionSummary, TuningSummary};

const N_ROWS_MAX: usize = 500;

pub(super) fn draw(summary: &Summary) -> Markup {
    let Some(tuning) = &summary.tuning else { return html! {} };
    let content = html! {
        p { (tuning_text::tunlets(tuning)) @if !tuning.tunlets.is_empty() { "; " (tuning_text::tally(tuning)) } }
        @if let Some(source) = &tuning.iteration_source { p.note { (harmless(source)) } }
        @if let Some(trend) = tuning_text::iteration_trend(tuning) { p.note { "Iterations: " (tuning_text::trend_words(&trend)) "." } }
        (iterations(tuning))
        (values(tuning))
        (decisions(tuning))
        (warnings(tuning))
    };
    section("tuning", "Tuning", tuning_text::mode_words(tuning), &content)
}

fn decisions(tuning: &TuningSummary) -> Markup {
    if tuning.decisions.is_empty() {
        return html! {};
    }
    let table = Table::new(tuning.decisions.iter().take(N_ROWS_MAX))
        .right("after", |it| Cell::seconds(it.applied_s.unwrap_or(it.t_s)))
        .right("iteration", |it| it.iteration.map(|n| n.to_string()).unwrap_or_default())
        .left("tunlet", |it| harmless(&it.tunlet))
        .name("change", |it| tuning_text::change(it))
        .left("because", |it| harmless(&it.reason))
        .left("what came of it", |it| {
            Cell::from(tuning_text::outcome_words(it)).tone(tuning_text::tone(it.outcome))
        })
        .with_rows(|it| format!("decision-{}", it.decision));
    html! { (draw_table(&table, "decisions")) (rest(tuning.decisions.len(), N_ROWS_MAX)) }
}

fn warnings(tuning: &TuningSummary) -> Markup {
    let n_unheard = tuning.n_events_unheard;
    html! {
        @if n_unheard != 0 || !tuning.warnings.is_empty() {
            div.warning {
                @if n_unheard != 0 {
                    p { (n_unheard) " events arrived too fast for the tunlets; all of them are in the record." }
                }
                ul { @for warning in tuning.warnings.iter().take(20) { li { (harmless(warning)) } } }
            }
        }
    }
}

const HEIGHT: f64 = 190.0;
const LANE: f64 = 46.0;
/// Maximum number of iterations drawn individually; more are averaged in groups.
const N_DOTS_MAX: usize = 1500;
const N_POINTS_MAX: usize = 8;

/// Horizontal time axis.
#[derive(Clone, Copy)]
struct Axis {
    start_s: f64,
    end_s: f64,
}

impl Axis {
    fn of(tuning: &TuningSummary) -> Option<Self> {
        let first = tuning.iterations.first()?;
        let last = tuning.iterations.last()?;
        let axis = Self { start_s: first.end_s - first.duration_s, end_s: last.end_s };
        (axis.start_s < axis.end_s).then_some(axis)
    }

    fn x(self, at_s: f64) -> f64 {
        across((at_s - self.start_s) / (self.end_s - self.start_s))
    }
}

/// Draws iteration times as dots, and a line at each change.
fn iterations(tuning: &TuningSummary) -> Markup {
    let Some(axis) = Axis::of(tuning) else { return html! {} };
    let longest_s = tuning.iterations.iter().map(|one| one.duration_s).fold(0.0, f64::max);
    let y =
        |duration_s: f64| 8.0 + (HEIGHT - 8.0) * (1.0 - (duration_s / longest_s).clamp(0.0, 1.0));
    let n_group = tuning.iterations.len().div_ceil(N_DOTS_MAX).max(1);
    let content = html! {
        @for share in [0.0, 0.5, 1.0] { (level(y(share * longest_s), &seconds(share * longest_s))) }
        @for decision in tuning.decisions.iter().filter(|one| one.applied_s.is_some()) { (mark(axis, decision)) }
        @for group in tuning.iterations.chunks(n_group) {
            @let duration_s = group.iter().map(|one| one.duration_s).sum::<f64>() / group.len() as f64;
            @let last = group[group.len() - 1];
            circle cx=(short(axis.x(last.end_s))) cy=(short(y(duration_s))) r="2.6" {
                title { "iteration " (last.number) ": " (seconds(duration_s)) }
            }
        }
    };
    let caption = html! { "Iteration times; lines are changes, in the color of what came of them" };
    course(&caption, HEIGHT, Some([axis.start_s, axis.end_s].map(seconds)), &content)
}

fn mark(axis: Axis, decision: &DecisionSummary) -> Markup {
    let x = short(axis.x(decision.applied_s.unwrap_or(decision.t_s)));
    html! {
        a href={ "#decision-" (decision.decision) } {
            line class={ "change " (tuning_text::tone(decision.outcome).grade()) } x1=(x) x2=(x) y1="4" y2=(HEIGHT) {
                title { (tuning_text::change(decision)) " (" (harmless(&decision.tunlet)) "): " (tuning_text::outcome_words(decision)) }
            }
        }
    }
}

/// Draws the value of each changed tuning point as steps over the run.
fn values(tuning: &TuningSummary) -> Markup {
    let Some(axis) = Axis::of(tuning) else { return html! {} };
    let changed: Vec<(&str, Vec<(f64, f64)>)> = tuning
        .points
        .iter()
        .map(|point| (point.as_str(), changes(tuning, point, axis)))
        .filter(|(_, steps)| !steps.is_empty())
        .take(N_POINTS_MAX)
        .collect();
    if changed.is_empty() {
        return html! {};
    }
    let content = html! {
        @for (lane, (point, steps)) in changed.iter().enumerate() { (step_line(lane, point, steps, axis)) }
    };
    course(&html! { "Values of tuning points" }, LANE * changed.len() as f64 + 4.0, None, &content)
}

/// Returns times and values of a point: before the first change, at each change, and at each undo.
fn changes(tuning: &TuningSummary, point: &str, axis: Axis) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let applied = tuning.decisions.iter().filter(|one| one.point == point);
    for decision in applied {
        let (Some(at_s), Some(new)) = (decision.applied_s, tuning_text::as_f64(decision.new))
        else {
            continue;
        };
        let old = decision.old.and_then(tuning_text::as_f64);
        if let (true, Some(old)) = (steps.is_empty(), old) {
            steps.push((axis.start_s, old));
        }
        steps.push((at_s, new));
        let is_undone = decision.outcome == run_record::tuning::DecisionOutcome::Undone;
        if let (true, Some(old), Some(undone_s)) = (is_undone, old, decision.outcome_s) {
            steps.push((undone_s, old));
        }
    }
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
}

fn step_line(lane: usize, point: &str, values: &[(f64, f64)], axis: Axis) -> Markup {
    let bounds =
        |pick: fn(f64, f64) -> f64, from| values.iter().map(|step| step.1).fold(from, pick);
    let (low, high) = (bounds(f64::min, f64::INFINITY), bounds(f64::max, f64::NEG_INFINITY));
    let top = LANE * lane as f64 + 8.0;
    let span = if low < high { high - low } else { 1.0 };
    let y = |value: f64| top + (LANE - 16.0) * (1.0 - (value - low) / span);
    let points: Vec<(f64, f64)> =
        values.iter().map(|(at_s, value)| (axis.x(*at_s), y(*value))).collect();
    let last = values.last().map_or(0.0, |step| step.1);
    let title = format!("{point}: from {low} to {high}, at last {last}");
    html! {
        (label_at(top + 18.0, &harmless(point)))
        path.steps d=(steps(&points, across(1.0))) { title { (harmless(&title)) } }
    }
}
