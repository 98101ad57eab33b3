//! Tuning: iteration times as a line of blocks, with decisions marked below and listed.

use super::page::{INDENT, Page};
use crate::tuning_text;
use display::bars;
use display::ink::Tone;
use display::text;
use run_record::Summary;
use run_record::tuning::{DecisionOutcome, DecisionSummary, TuningSummary};

/// Number of decisions listed at each end.
const N_LISTED_ENDS: usize = 5;
const N_WARNINGS_MAX: usize = 5;
const NAME: &str = "iteration time ";

pub(super) fn write(page: &mut Page, summary: &Summary) {
    let Some(tuning) = &summary.tuning else { return };
    page.heading("Tuning", tuning_text::mode_words(tuning));
    write_facts(page, tuning);
    write_course(page, tuning);
    write_decisions(page, tuning);
    for warning in tuning.warnings.iter().take(N_WARNINGS_MAX) {
        page.sentence("! ", warning, Tone::Fair);
    }
}

fn write_facts(page: &mut Page, tuning: &TuningSummary) {
    if !tuning.tunlets.is_empty() {
        let facts = format!("{}; {}", tuning_text::tunlets(tuning), tuning_text::tally(tuning));
        page.sentence("", &facts, Tone::Plain);
    }
    if let Some(source) = &tuning.iteration_source {
        page.sentence("", source, Tone::Dim);
    }
    if tuning.n_events_unheard != 0 {
        let text = format!(
            "{} events arrived too fast for the tunlets; all of them are in the record",
            tuning.n_events_unheard
        );
        page.sentence("! ", &text, Tone::Fair);
    }
}

fn write_course(page: &mut Page, tuning: &TuningSummary) {
    let Some(trend) = tuning_text::iteration_trend(tuning) else { return };
    let n_columns = (page.width() - INDENT - text::width(NAME)).min(tuning.iterations.len());
    let times: Vec<f64> = tuning.iterations.iter().map(|one| one.duration_s).collect();
    let line = bars::sparkline(&bars::averaged(&times, n_columns));
    page.line(&format!("{NAME}{}", page.paint(Tone::Useful, &line)));
    let marks = marks(tuning, text::width(&line));
    if !marks.trim().is_empty() {
        let legend = text::left("changes", text::width(NAME));
        page.line(&format!("{legend}{}", page.paint(Tone::Strong, &marks)));
    }
    page.sentence("", &tuning_text::trend_words(&trend), Tone::Dim);
}

/// Returns a line of marks under the picture: `▲` for a change, `x` for a change that was undone.
fn marks(tuning: &TuningSummary, n_columns: usize) -> String {
    let mut marks = vec![' '; n_columns];
    let n_iterations = tuning.iterations.len().max(1);
    for decision in tuning.decisions.iter().filter(|one| one.applied_s.is_some()) {
        let Some(iteration) = decision.iteration else { continue };
        let position = tuning.iterations.partition_point(|one| one.number < iteration);
        let column = (position * n_columns / n_iterations).min(n_columns.saturating_sub(1));
        if let Some(mark) = marks.get_mut(column) {
            let is_undone = decision.outcome == DecisionOutcome::Undone;
            *mark = if is_undone || *mark == 'x' { 'x' } else { '▲' };
        }
    }
    marks.into_iter().collect()
}

fn write_decisions(page: &mut Page, tuning: &TuningSummary) {
    let decisions = &tuning.decisions;
    let n_hidden = decisions.len().saturating_sub(2 * N_LISTED_ENDS);
    for (idx, decision) in decisions.iter().enumerate() {
        let is_hidden = n_hidden > 1 && (N_LISTED_ENDS..N_LISTED_ENDS + n_hidden).contains(&idx);
        if !is_hidden {
            write_decision(page, decision);
        } else if idx == N_LISTED_ENDS {
            let text = format!("… {n_hidden} more, in `tuning.jsonl` of the record");
            page.sentence("", &text, Tone::Dim);
        }
    }
}

fn write_decision(page: &mut Page, decision: &DecisionSummary) {
    let room = page.width() - INDENT;
    let change = text::shorten(&tuning_text::change(decision), room);
    let moment = format!("  {} ({})", tuning_text::moment_words(decision), decision.tunlet);
    let moment = text::harmless(&text::shorten(&moment, room - text::width(&change)));
    page.line(&format!("{}{}", page.paint(Tone::Strong, &change), page.paint(Tone::Dim, &moment)));
    page.sentence("  because ", &decision.reason, Tone::Plain);
    page.sentence("  ", &tuning_text::outcome_words(decision), tuning_text::tone(decision.outcome));
}
