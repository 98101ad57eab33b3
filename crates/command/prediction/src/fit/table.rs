//! Prints models for people: a row for each region, and warnings below it.

use super::list::{self, Fitted};
use display::text::wrap;
use display::units::plural;
use fitting::Measurements;
use user_io::print::escape_line;

/// Widest name of a region, in columns, before its row is broken.
const N_REGION_MAX: usize = 36;
/// Columns between the region and the model.
const N_FIGURES: usize = 30;
/// Shortest line length, in columns.
const N_COLUMNS_MIN: usize = 72;

/// Table of all models.
pub(super) fn table(measured: &Measurements, all: &[Fitted], n_columns: usize) -> String {
    let n_columns = n_columns.max(N_COLUMNS_MIN);
    let names: Vec<String> = all.iter().map(name).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = longest.clamp("REGION".len(), N_REGION_MAX);
    let mut text = heading(measured, all);
    text += &format!(
        "{:width$}  {:>8}  {:>6}  {:>8}  MODEL\n",
        "REGION", "HELD OUT", "POINTS", "DROPPED"
    );
    for (one, name) in all.iter().zip(&names) {
        text += &row(one, name, width, n_columns);
    }
    text + &unseen(all)
}

/// Sentence about what was measured.
fn heading(measured: &Measurements, all: &[Fitted]) -> String {
    let n_points: usize = all.iter().map(|one| one.n_points).max().unwrap_or(0);
    let regions = if all.len() == 1 { "model" } else { "models" };
    let parameters = match &measured.parameters[..] {
        [] => "no parameter".to_owned(),
        names => names.join(", "),
    };
    format!(
        "{} {regions} over {parameters}, from up to {} each\n\n",
        all.len(),
        plural(n_points, "point")
    )
}

fn name(one: &Fitted) -> String {
    let region = if one.region.is_empty() { "(all)" } else { &one.region };
    let region = escape_line(region);
    match one.metric.as_str() {
        "" | "time" | "<default>" | "value" => region.into_owned(),
        metric => format!("{region} [{}]", escape_line(metric)),
    }
}

fn row(one: &Fitted, name: &str, width: usize, n_columns: usize) -> String {
    let indent = width + N_FIGURES;
    let (figures, model) = match &one.model {
        Ok(model) => {
            let held_out = format!("{:.2} %", 100.0 * model.held_out_error);
            let dropped = format!("{}/{}", model.n_dropped, model.n_samples);
            (format!("{held_out:>8}  {:>6}  {dropped:>8}", one.n_points), model.text.as_str())
        }
        Err(_) => (format!("{:>8}  {:>6}  {:>8}", "", one.n_points, ""), "none"),
    };
    let lines = wrap(model, n_columns.saturating_sub(indent));
    let mut text = if name.chars().count() <= width {
        format!("{name:width$}  {figures}  ")
    } else {
        format!("{name}\n{:width$}  {figures}  ", "")
    };
    text += &lines.join(&format!("\n{:indent$}", ""));
    text.push('\n');
    for warning in list::warnings(one) {
        let lines = wrap(&warning, n_columns.saturating_sub(4));
        text += &format!("  ! {}\n", lines.join("\n    "));
    }
    text
}

/// Lines about how well the points that were kept back were predicted.
fn unseen(all: &[Fitted]) -> String {
    let mut text = String::new();
    for one in all {
        let Some(unseen) = &one.unseen else { continue };
        if text.is_empty() {
            text += "\nPoints kept back by --holdout, and how well they are predicted:\n";
        }
        text += &format!(
            "  {}: SMAPE {:.2} %, at most {:.2} % off, {} of {} within their intervals\n",
            name(one),
            unseen.smape_percent,
            unseen.largest_error_percent,
            unseen.n_within,
            unseen.n_points
        );
    }
    text
}
