//! Tuning: iteration times over the run with the changes marked, values of the tuning points below, and every
//! decision with its reason.

mod chart;

use super::{rest, section};
use crate::text::harmless;
use crate::tuning_text;
use crate::units::seconds;
use maud::{Markup, html};
use run_record::Summary;
use run_record::tuning::{DecisionSummary, Outcome, TuningSummary};

const N_ROWS_MAX: usize = 500;

pub(super) fn draw(summary: &Summary) -> Markup {
    let Some(tuning) = &summary.tuning else { return html! {} };
    let content = html! {
        p { (tuning_text::tunlets(tuning)) @if !tuning.tunlets.is_empty() { "; " (tuning_text::tally(tuning)) } }
        @if let Some(trend) = tuning_text::iteration_trend(tuning) { p.note { "Iterations: " (tuning_text::trend_words(&trend)) "." } }
        (chart::iterations(tuning))
        (chart::values(tuning))
        (table(tuning))
        (warnings(tuning))
    };
    section("tuning", "Tuning", tuning_text::mode_words(tuning), &content)
}

fn table(tuning: &TuningSummary) -> Markup {
    if tuning.decisions.is_empty() {
        return html! {};
    }
    html! {
        table.sortable.decisions {
            thead { tr {
                th.number { "after" } th.number { "iteration" } th { "tunlet" } th { "change" } th { "because" }
                th { "what came of it" }
            } }
            tbody { @for decision in tuning.decisions.iter().take(N_ROWS_MAX) { (row(decision)) } }
        }
        (rest(tuning.decisions.len(), N_ROWS_MAX))
    }
}

fn row(decision: &DecisionSummary) -> Markup {
    let at_s = decision.applied_s.unwrap_or(decision.t_s);
    let iteration = decision.iteration.map(|iteration| iteration.to_string()).unwrap_or_default();
    html! {
        tr id={ "decision-" (decision.decision) } {
            td.number data-value=(at_s) { (seconds(at_s)) }
            td.number data-value=(iteration) { (iteration) }
            td { (harmless(&decision.tunlet)) }
            td { code { (tuning_text::change(decision)) } }
            td { (harmless(&decision.reason)) }
            td class=(class(decision.outcome)) { (tuning_text::outcome_words(decision)) }
        }
    }
}

/// Returns the color class of an outcome.
fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "good",
        Outcome::Undone | Outcome::Lost => "poor",
        Outcome::Declined => "fair",
        Outcome::Would | Outcome::Open => "",
    }
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
