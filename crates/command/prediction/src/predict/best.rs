//! Finds the best number of processes: the fastest, the smallest that is fast enough, or the largest that is efficient.

use super::context::PredictionContext;
use super::options::BestOptions;
use crate::values::{self, ParameterPoint, Values};
use anyhow::ensure;
use fitting::Prediction;
use user_io::ensure_option;

/// Most values that are tried where none were given.
const N_TRIED_MAX: usize = 100_000;
/// Largest value tried where none were given, as a multiple of the largest measured one.
const BEYOND: f64 = 4.0;

/// Returns whether this program chooses the values to be tried.
pub(super) fn is_free(options: &BestOptions, set: &[Values]) -> bool {
    options.parameter().is_some_and(|name| set.iter().all(|values| values.name != name))
}

/// Best value for one combination of the other parameters.
pub(super) struct Best<'a> {
    pub(super) others: ParameterPoint<'a>,
    /// `None` if no value meets the condition.
    pub(super) found: Option<BestValue>,
}

/// Value that meets the condition.
pub(super) struct BestValue {
    pub(super) value: f64,
    pub(super) prediction: Prediction,
    /// Efficiency against the smallest value tried.
    pub(super) efficiency: f64,
    pub(super) core_hours: Option<f64>,
    pub(super) warnings: Vec<String>,
}

/// Finds the best value for each combination of the other parameters; empty if none was asked for.
pub(super) fn best<'a>(
    context: &PredictionContext<'_>,
    set: &'a [Values],
) -> anyhow::Result<Vec<Best<'a>>> {
    let options = &context.options.best;
    let Some(name) = options.parameter() else { return Ok(Vec::new()) };
    let (own, others): (Vec<&Values>, Vec<&Values>) =
        set.iter().partition(|values| values.name == name);
    let mut tried = match own.first() {
        Some(values) => values.values.clone(),
        None => whole_numbers(context, name)?,
    };
    ensure_option!(
        tried.iter().all(|value| 0.0 < *value),
        "`--best {name}` compares values above 0: leave others out of `--set {name}`"
    );
    tried.sort_by(f64::total_cmp);
    let best = |others: ParameterPoint<'a>| {
        Ok(Best { found: found(context, name, &tried, &others)?, others })
    };
    let all = values::points_of(&others)?.into_iter().map(best);
    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(
        all.iter().any(|best| best.found.is_some()),
        "no `{name}` from {} to {} reaches the target: allow others with `--set {name}=VALUES`",
        tried.first().unwrap_or(&0.0),
        tried.last().unwrap_or(&0.0)
    );
    Ok(all)
}

/// Whole numbers from 1 to [`BEYOND`] times the largest measured value.
fn whole_numbers(context: &PredictionContext<'_>, name: &str) -> anyhow::Result<Vec<f64>> {
    let ranges =
        context.file.models.iter().flat_map(|model| model.parameters.iter().zip(&model.ranges));
    let largest =
        ranges.filter(|(other, _)| *other == name).map(|(_, range)| range.high).fold(1.0, f64::max);
    let last = (BEYOND * largest).floor();
    ensure_option!(
        last <= N_TRIED_MAX as f64,
        "`{name}` has too many values to try: give some with `--set {name}=VALUES`"
    );
    Ok((1..).map(f64::from).take_while(|value| *value <= last).collect())
}

fn found(
    context: &PredictionContext<'_>,
    name: &str,
    tried: &[f64],
    others: &[(&str, f64)],
) -> anyhow::Result<Option<BestValue>> {
    let at = |value: f64| [others, &[(name, value)]].concat();
    let total = |value: &f64| Ok((*value, context.total(&at(*value))?));
    let predictions = tried.iter().map(total).collect::<anyhow::Result<Vec<_>>>()?;
    let Some((first, at_first)) = predictions.first().copied() else { return Ok(None) };
    // A program that takes no time is fully efficient.
    let efficiency = |(value, prediction): &(f64, Prediction)| {
        let efficiency = first * at_first.value / (value * prediction.value);
        if efficiency.is_finite() { efficiency } else { 1.0 }
    };
    let options = &context.options.best;
    let chosen = match (options.target_time, options.efficiency) {
        (Some(time_s), _) => predictions.iter().find(|(_, prediction)| prediction.value <= time_s),
        (None, Some(share)) => predictions.iter().rev().find(|one| share <= efficiency(one)),
        (None, None) => predictions.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)),
    };
    let Some(chosen) = chosen else { return Ok(None) };
    let point = at(chosen.0);
    let row = context.row(&point)?;
    Ok(Some(BestValue {
        value: chosen.0,
        prediction: chosen.1,
        efficiency: efficiency(chosen),
        core_hours: row.core_hours,
        warnings: row.warnings.iter().map(ToString::to_string).collect(),
    }))
}
