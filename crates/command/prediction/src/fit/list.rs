//! Writes models as lists for other programs: JSON and CSV.

use fitting::formats::csv::quoted;
use fitting::{FitError, FittedModel};
use serde_json::{Value, json};

/// Result for one region.
pub(super) struct Fitted {
    pub(super) region: String,
    pub(super) metric: String,
    pub(super) n_points: usize,
    pub(super) model: Result<FittedModel, FitError>,
    /// Errors of the predictions at points that were kept back.
    pub(super) unseen: Option<fitting::Summary>,
}

/// JSON object for each region.
///
/// # Errors
/// If a number of a model is not finite.
pub(super) fn as_json(all: &[Fitted]) -> anyhow::Result<Value> {
    let list = all.iter().map(|one| {
        let model = one.model.as_ref().ok();
        let ranges = model.map(|model| {
            let ranges = model.parameters.iter().zip(&model.ranges);
            ranges
                .map(|(name, range)| (name.clone(), json!([range.low, range.high])))
                .collect::<serde_json::Map<_, _>>()
        });
        Ok(json!({
            "region": one.region,
            "metric": one.metric,
            "model": model.map(|model| &model.text),
            "held_out_error": model.map(|model| model.held_out_error),
            "n_points": one.n_points,
            "n_samples": model.map(|model| model.n_samples),
            "n_dropped": model.map(|model| model.n_dropped),
            "dropped": model.map(|model| model.n_dropped),
            "parameters": model.map(|model| &model.parameters),
            "measured_between": ranges,
            "breakpoints": model.map(|model| model.breakpoints()),
            "warnings": warnings(one),
            "unseen": one.unseen.map(|unseen| json!({
                "n_points": unseen.n_points,
                "n_within": unseen.n_within,
                "smape_percent": unseen.smape_percent,
                "mean_error_percent": unseen.mean_error_percent,
                "largest_error_percent": unseen.largest_error_percent,
            })),
            "fitted": model.map(serde_json::to_value).transpose()?,
        }))
    });
    Ok(Value::from(list.collect::<anyhow::Result<Vec<_>>>()?))
}

/// Warnings of a model, or the reason why there is none.
pub(super) fn warnings(one: &Fitted) -> Vec<String> {
    match &one.model {
        Ok(model) => model.warnings.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// CSV row for each region.
pub(super) fn as_csv(all: &[Fitted]) -> String {
    let mut text =
        "region,metric,model,held_out_error,n_points,n_samples,n_dropped,warnings\n".to_owned();
    for one in all {
        let model = one.model.as_ref().ok();
        let number = |number: Option<String>| number.unwrap_or_default();
        let cells = [
            quoted(&one.region),
            quoted(&one.metric),
            quoted(model.map_or("", |model| &model.text)),
            number(model.map(|model| model.held_out_error.to_string())),
            one.n_points.to_string(),
            number(model.map(|model| model.n_samples.to_string())),
            number(model.map(|model| model.n_dropped.to_string())),
            quoted(&warnings(one).join("; ")),
        ];
        text += &(cells.join(",") + "\n");
    }
    text
}
