//! Grid of a plan: all combinations of values, without those that are excluded.

use super::{Parameters, Plan, PlanError, Point};
use crate::Expression;
use std::collections::BTreeMap;

/// Largest number of combinations before `where`: more would be a typing mistake.
const N_COMBINATIONS_MAX: usize = 1_000_000;

pub(super) fn points(plan: &Plan) -> Result<Vec<Point>, PlanError> {
    let condition = plan.condition.as_deref().map(Expression::read).transpose()?;
    let mut points: Vec<Point> = Vec::new();
    let further = plan.holdout.iter().map(|given| {
        let mut values = plan.parameters.clone();
        values.extend(given.clone());
        (values, true)
    });
    for (values, is_holdout) in [(plan.parameters.clone(), false)].into_iter().chain(further) {
        for parameters in combinations(&values)? {
            let is_wanted = match &condition {
                Some(condition) => condition.value(&parameters)? != 0.0,
                None => true,
            };
            let is_new = !is_holdout || points.iter().all(|point| point.parameters != parameters);
            if is_wanted && is_new && !is_excluded(plan, &parameters) {
                points.push(Point { parameters, is_holdout });
            }
        }
    }
    if points.iter().all(|point| point.is_holdout) { Err(PlanError::NoPoints) } else { Ok(points) }
}

fn is_excluded(plan: &Plan, parameters: &Parameters) -> bool {
    let has =
        |excluded: &Parameters| excluded.iter().all(|(name, at)| parameters.get(name) == Some(at));
    plan.exclude.iter().any(has)
}

/// Returns all combinations; the last parameter varies fastest.
fn combinations(values: &BTreeMap<String, Vec<f64>>) -> Result<Vec<Parameters>, PlanError> {
    let n = values.values().map(Vec::len).try_fold(1_usize, usize::checked_mul);
    if n.is_none_or(|n| N_COMBINATIONS_MAX < n) {
        return Err(PlanError::TooManyRuns { most: N_COMBINATIONS_MAX });
    }
    let mut all = vec![Parameters::new()];
    for (name, values) in values {
        let with = |before: &Parameters, value: f64| {
            let mut point = before.clone();
            point.insert(name.clone(), value);
            point
        };
        all = all.iter().flat_map(|it| values.iter().map(move |value| with(it, *value))).collect();
    }
    Ok(all)
}
