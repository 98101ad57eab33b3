//! Prints the comparison for people: a row for each point, as in the tables of the source.

use crate::text::short;
use display::table::Table;
use display::text::wrap;
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
    let tables = shown.chunk_by(|one, next| one.region == next.region);
    let text: Vec<String> = tables.map(|points| region(outcome, points)).collect();
    let text = text.join("\n");
    text + &summary(outcome, &outcome.summary(), n_columns)
}

/// Table of the points of a region.
fn region(outcome: &Outcome, points: &[&Compared]) -> String {
    let name = points[0].region.as_deref().unwrap_or("the program");
    let name: String =
        name.chars().rev().take(N_NAME_MAX).collect::<Vec<_>>().into_iter().rev().collect();
    let name = if name.is_empty() { "(all)" } else { &name };
    let mut table = Table::new(points);
    for (idx, parameter) in outcome.parameters.iter().enumerate() {
        let cell = |one: &&&Compared| one.at.get(idx).map_or(String::new(), f64::to_string);
        table = table.right(parameter.as_str(), cell);
    }
    let table = table
        .right("MEASURED", |one| short(one.measured))
        .right("PREDICTED", |one| short(one.predicted.value))
        .right("ERROR", |one| format!("{:+.2} %", one.error_percent()))
        .left("WITHIN", |one| if one.is_within() { "yes" } else { "no" });
    format!("{name}\n{table}")
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
    format!("\n{}\n", wrap(&sentence, n_columns.max(60)).join("\n"))
}
