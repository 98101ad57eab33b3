//! Tuning: iteration times over the run with the changes marked, values of the tuning points below, and every
//! decision with its reason.

mod chart;

use super::{rest, section, table};
use crate::tuning_text;
use display::table::{Cell, Table};
use display::text::harmless;
use maud::{Markup, html};
use run_record::Summary;
use run_record::tuning::TuningSummary;

const N_ROWS_MAX: usize = 500;

pub(super) fn draw(summary: &Summary) -> Markup {
    let Some(tuning) = &summary.tuning else { return html! {} };
    let content = html! {
        p { (tuning_text::tunlets(tuning)) @if !tuning.tunlets.is_empty() { "; " (tuning_text::tally(tuning)) } }
        @if let Some(trend) = tuning_text::iteration_trend(tuning) { p.note { "Iterations: " (tuning_text::trend_words(&trend)) "." } }
        (chart::iterations(tuning))
        (chart::values(tuning))
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
    html! { (table::draw(&table, "decisions")) (rest(tuning.decisions.len(), N_ROWS_MAX)) }
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
