//! Prints predictions for people: one point region by region, or many points as rows with a plot beside them.

use super::best::Best;
use super::context::{PredictedPoint, PredictionContext, Region};
use crate::text::{in_words, short};
use crate::values::n_different;
use display::table::Table;
use display::text::wrap;
use display::units;
use fitting::Warning;
use std::collections::HashSet;

/// Width of the plot beside the rows, in columns.
const N_PLOT: usize = 32;
/// Number of warnings that are shown; further ones are counted.
const N_SHOWN: usize = 6;
/// Forms are shown of up to this many regions, and from this weight on.
const N_WITH_FORMS: usize = 3;
const FORM_LEAST: f64 = 0.005;
/// Longest name, in characters; longer ones are cut.
const N_NAME_MAX: usize = 44;

/// Text of all predictions that were asked for.
pub(super) fn table(
    context: &PredictionContext<'_>,
    rows: &[PredictedPoint<'_>],
    best: &[Best<'_>],
    n_columns: usize,
) -> String {
    let mut text = match rows {
        [] => String::new(),
        [one] => point(context, one),
        many => points(context, many),
    };
    text += &of_best(context, best);
    let all: Vec<Warning> = rows.iter().flat_map(|row| row.warnings.clone()).collect();
    let found = best.iter().filter_map(|best| best.found.as_ref());
    let of_best = found.flat_map(|found| found.warnings.clone()).collect();
    let sentences = if rows.is_empty() { unique(of_best) } else { sentences(&all) };
    for sentence in sentences.iter().take(N_SHOWN) {
        text += &format!("! {}\n", wrap(sentence, n_columns.max(60)).join("\n  "));
    }
    if let Some(n_more @ 1..) = sentences.len().checked_sub(N_SHOWN) {
        text += &format!("! {n_more} more; `--json` lists all\n");
    }
    text
}

/// Index of the parameter with the most values.
pub(super) fn across(rows: &[PredictedPoint<'_>]) -> usize {
    let n_values =
        |idx: &usize| n_different(rows.iter().filter_map(|row| Some(row.at.get(*idx)?.1)));
    let n_parameters = rows.first().map_or(0, |row| row.at.len());
    (0..n_parameters).max_by_key(n_values).unwrap_or(0)
}

fn percent(rate: f64) -> String {
    format!("{} %", (1000.0 * rate).round() / 10.0)
}

/// Table of one point, with all its regions.
fn point(context: &PredictionContext<'_>, row: &PredictedPoint<'_>) -> String {
    let regions = row.regions.iter().map(|it| (cut(&it.name), it.prediction, it.share));
    let all = regions.chain([("the program".to_owned(), row.total, None)]);
    let table = Table::new(all)
        .left("REGION", |(name, ..)| name.clone())
        .right("PREDICTED", |(_, it, _)| context.with_unit(it.value))
        .right(interval_title(context), |(_, it, _)| interval(context, *it))
        .right("SHARE", |(.., share)| share.map_or(String::new(), units::percent));
    let mut text = format!("at {}\n\n{table}", in_words(row.at.iter().copied()));
    if row.regions.len() <= N_WITH_FORMS {
        row.regions.iter().for_each(|region| text += &forms(context, region));
    }
    if let Some(role) = &row.role {
        text += &format!("\nThe longest role is `{role}`.\n");
    }
    if let Some(core_hours) = row.core_hours {
        text += &format!("\nIt costs {} core-hours.\n", short(core_hours));
    }
    text
}

/// What each form of a region's curve says.
fn forms(context: &PredictionContext<'_>, region: &Region) -> String {
    let table = Table::new(region.forms.iter().filter(|form| FORM_LEAST <= form.weight))
        .left("FORM", |form| form.form.to_owned())
        .right("WEIGHT", |form| units::percent(form.weight))
        .right("SAYS", |form| context.with_unit(form.value));
    match region.forms.len() {
        0 => String::new(),
        _ => format!("\n{}: the average of\n\n{table}", cut(&region.name)),
    }
}

fn cut(name: &str) -> String {
    let name = user_io::print::escape_line(name);
    match name.chars().count() {
        0 => "(all)".to_owned(),
        n if n <= N_NAME_MAX => name.into_owned(),
        // The end of a path says more than its beginning.
        n => format!("…{}", name.chars().skip(n - N_NAME_MAX + 1).collect::<String>()),
    }
}

/// Table of the whole program at many points.
fn points(context: &PredictionContext<'_>, rows: &[PredictedPoint<'_>]) -> String {
    let high = rows.iter().map(|row| row.total.high).fold(0.0, f64::max);
    let mut table = Table::new(rows);
    for (idx, (name, _)) in rows[0].at.iter().enumerate() {
        table = table.right(*name, |row| row.at[idx].1.to_string());
    }
    let scale = format!("0{:>width$}", short(high), width = N_PLOT - 1);
    table
        .right("PREDICTED", |row| context.with_unit(row.total.value))
        .right(interval_title(context), |row| interval(context, row.total))
        .right("CORE-HOURS", |row| row.core_hours.map_or(String::new(), short))
        .when(rows[0].core_hours.is_some())
        .left(scale, |row| mark(row, high))
        .to_string()
}

fn interval_title(context: &PredictionContext<'_>) -> String {
    format!("INTERVAL ({})", percent(context.file.rate(context.metric)))
}

fn interval(context: &PredictionContext<'_>, prediction: fitting::Prediction) -> String {
    let [low, high] = [prediction.low, prediction.high].map(|it| context.with_unit(it));
    format!("{low} to {high}")
}

/// Draws the value as a mark in its interval, on a line from 0 to `high`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the columns of the plot"
)]
fn mark(row: &PredictedPoint<'_>, high: f64) -> String {
    let column = |value: f64| {
        let share = if 0.0 < high { (value / high).clamp(0.0, 1.0) } else { 0.0 };
        (share * (N_PLOT - 1) as f64).round() as usize
    };
    let [low, value, upper] = [row.total.low, row.total.value, row.total.high].map(column);
    let letter = |idx: usize| match idx {
        _ if idx == value => '●',
        _ if low <= idx && idx <= upper => '─',
        _ => ' ',
    };
    (0..N_PLOT).map(letter).collect::<String>().trim_end().to_owned()
}

fn of_best(context: &PredictionContext<'_>, best: &[Best<'_>]) -> String {
    let options = &context.options.best;
    let Some(name) = options.parameter() else { return String::new() };
    let mut text = format!("\nBest `{name}`, {}:\n", options.in_words());
    for Best { others, found } in best {
        let at = in_words(others.iter().copied());
        let at = if at.is_empty() { at } else { at + ": " };
        let Some(found) = found else {
            text += &format!("  {at}none reaches it\n");
            continue;
        };
        let (value, interval) =
            (context.with_unit(found.prediction.value), interval(context, found.prediction));
        let cost = found.core_hours.map(|it| format!(", {} core-hours", short(it)));
        text += &format!(
            "  {at}{name} = {}, {value} ({interval}), efficiency {:.1} %{}\n",
            found.value,
            100.0 * found.efficiency,
            cost.unwrap_or_default()
        );
    }
    text
}

/// Keeps each sentence once.
fn unique(all: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    all.into_iter().filter(|sentence| seen.insert(sentence.clone())).collect()
}

/// Warnings as sentences, each once; one sentence per parameter for all points outside of the measured range.
fn sentences(all: &[Warning]) -> Vec<String> {
    let mut outside: Vec<(String, [f64; 2], [f64; 2])> = Vec::new();
    let mut others = Vec::new();
    for warning in all {
        let Warning::Extrapolated { parameter, value, low, high } = warning else {
            others.push(warning.to_string());
            continue;
        };
        match outside.iter_mut().find(|(name, ..)| name == parameter) {
            None => outside.push((parameter.clone(), [*value, *value], [*low, *high])),
            Some((_, values, _)) => *values = [values[0].min(*value), values[1].max(*value)],
        }
    }
    let in_words = outside.into_iter().map(|(name, [first, last], [low, high])| {
        let values = if first < last { format!("{first} to {last}") } else { first.to_string() };
        format!("`{name}` = {values} lies outside of what was measured, {low} to {high}")
    });
    unique(in_words.chain(others).collect())
}
