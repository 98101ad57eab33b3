//! Prints the comparison for people: a row for each point, as in the tables of the source.

use crate::text::{short, wrapped};
use fitting::{Compared, Summary};

/// Longest name of a region, in characters; longer ones are cut.
const N_NAME_MAX: usize = 40;

/// Result of the comparison.
pub(super) struct Outcome {
    pub(super) parameters: Vec<String>,
    pub(super) metric: String,
    /// Share of measurements that intervals are meant to hold.
    pub(super) rate: f64,
    pub(super) compared: Vec<Compared>,
}

impl Outcome {
    /// Points of the whole program, or, if that was not measured, of the regions.
    fn summed(&self) -> impl Iterator<Item = &Compared> {
        let has_program = self.compared.iter().any(|one| one.region.is_none());
        self.compared.iter().filter(move |one| one.region.is_none() == has_program)
    }

    pub(super) fn summary(&self) -> Summary {
        Summary::of(self.summed())
    }
}

/// Table of all points that are shown, and the summary of the whole program, or of all regions.
pub(super) fn table(
    outcome: &Outcome,
    is_shown: impl Fn(&Compared) -> bool,
    n_columns: usize,
) -> String {
    let has_program = outcome.compared.iter().any(|one| one.region.is_none());
    // Without the whole program, all regions are shown.
    let shown: Vec<&Compared> =
        outcome.compared.iter().filter(|one| !has_program || is_shown(one)).collect();
    let mut text = String::new();
    let mut region = None;
    for one in shown {
        if region != Some(&one.region) {
            text += &heading(outcome, one, text.is_empty());
            region = Some(&one.region);
        }
        text += &row(one);
    }
    text + &summary(outcome, &outcome.summary(), n_columns)
}

fn heading(outcome: &Outcome, first: &Compared, is_first: bool) -> String {
    let name = first.region.as_deref().unwrap_or("the program");
    let name: String =
        name.chars().rev().take(N_NAME_MAX).collect::<Vec<_>>().into_iter().rev().collect();
    let name = if name.is_empty() { "(all)" } else { &name };
    let gap = if is_first { "" } else { "\n" };
    let parameters: String = outcome.parameters.iter().map(|name| format!("{name:>12} ")).collect();
    format!(
        "{gap}{name}\n{parameters}{:>12} {:>12} {:>10}  WITHIN\n",
        "MEASURED", "PREDICTED", "ERROR"
    )
}

fn row(one: &Compared) -> String {
    let at: String = one.at.iter().map(|value| format!("{value:>12} ")).collect();
    let [measured, predicted] = [one.measured, one.predicted.value].map(short);
    let within = if one.is_within() { "yes" } else { "no" };
    format!("{at}{measured:>12} {predicted:>12} {:>+8.2} %  {within}\n", one.error_percent())
}

fn summary(outcome: &Outcome, summary: &Summary, n_columns: usize) -> String {
    let held = 100.0 * summary.coverage();
    let rate = (1000.0 * outcome.rate).round() / 10.0;
    let sentence = format!(
        "{} points: SMAPE {:.2} %, mean error {:.2} %, at most {:.2} %; {} of {} intervals held ({held:.1} %, meant for {rate} %)",
        summary.n_points,
        summary.smape_percent,
        summary.mean_error_percent,
        summary.largest_error_percent,
        summary.n_within,
        summary.n_points,
    );
    format!("\n{}\n", wrapped(&sentence, n_columns.max(60)).join("\n"))
}
