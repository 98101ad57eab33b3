//! Writes predictions as lists for other programs: JSON and CSV.

use super::best::Best;
use super::context::{PredictionContext, Row};
use fitting::Prediction;
use fitting::formats::csv::quoted;
use serde_json::{Map, Value, json};

/// JSON object with `predictions`: for each point the whole program, with region null, then its regions.
pub(super) fn as_json(
    context: &PredictionContext<'_>,
    rows: &[Row<'_>],
    best: &[Best<'_>],
) -> Value {
    let mut predictions = Vec::new();
    for row in rows {
        let parameters = parameters(&row.at);
        let warnings: Vec<String> = row.warnings.iter().map(ToString::to_string).collect();
        let mut total = prediction(context, Value::Null, &parameters, row.total);
        total["share"] = json!(1.0);
        total["role"] = json!(row.role);
        total["warnings"] = json!(warnings);
        if let Some(core_hours) = row.core_hours {
            total["core_hours"] = json!(core_hours);
        }
        predictions.push(total);
        for region in &row.regions {
            let mut one = prediction(context, json!(region.name), &parameters, region.prediction);
            one["share"] = json!(region.share);
            one["warnings"] = json!(region.warnings);
            predictions.push(one);
        }
    }
    let rate = context.file.rate(context.metric);
    let mut all = json!({ "metric": context.metric, "rate": rate, "predictions": predictions });
    if let Some(name) = context.options.best.parameter() {
        all["best"] = best.iter().map(|best| of_best(name, best)).collect();
    }
    all
}

fn parameters(at: &[(&str, f64)]) -> Value {
    Value::Object(
        at.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect::<Map<_, _>>(),
    )
}

/// Number as JSON; whole numbers without a decimal point.
fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "a whole number that fits")]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn prediction(
    context: &PredictionContext<'_>,
    region: Value,
    parameters: &Value,
    predicted: Prediction,
) -> Value {
    json!({
        "region": region,
        "metric": context.metric,
        "parameters": parameters,
        "value": predicted.value,
        "low": predicted.low,
        "high": predicted.high,
    })
}

fn of_best(name: &str, best: &Best<'_>) -> Value {
    let found = best.found.as_ref();
    json!({
        "parameter": name,
        "parameters": parameters(&best.others),
        "best": found.map(|found| number(found.value)),
        "value": found.map(|found| found.prediction.value),
        "low": found.map(|found| found.prediction.low),
        "high": found.map(|found| found.prediction.high),
        "efficiency": found.map(|found| found.efficiency),
        "core_hours": found.and_then(|found| found.core_hours),
        "warnings": found.map(|found| &found.warnings),
    })
}

/// CSV row for each point and region; the region of the whole program is empty.
pub(super) fn as_csv(context: &PredictionContext<'_>, rows: &[Row<'_>]) -> String {
    let names: Vec<&str> =
        rows.first().map_or(Vec::new(), |row| row.at.iter().map(|(name, _)| *name).collect());
    let mut text = "region,metric".to_owned();
    names.iter().for_each(|name| text += &format!(",{}", quoted(name)));
    text += ",value,low,high,share\n";
    let metric = quoted(context.metric);
    for row in rows {
        let at: String = row.at.iter().map(|(_, value)| format!(",{value}")).collect();
        let mut add = |region: &str, Prediction { value, low, high }, share: Option<f64>| {
            let share = share.map_or(String::new(), |share| share.to_string());
            text += &format!("{},{metric}{at},{value},{low},{high},{share}\n", quoted(region));
        };
        add("", row.total, Some(1.0));
        row.regions.iter().for_each(|region| add(&region.name, region.prediction, region.share));
    }
    text
}
