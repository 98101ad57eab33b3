//! What the forms foretell where the largest values of a parameter are held out.

use super::{ERROR_MAX, form::FormKind, observed::Observed, sum::Columns};
use crate::design::distinct_values;

/// Points of which those with the largest values of one parameter are held out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) parameter_idx: usize,
    /// Whether the parameter has fewer than four values.
    pub(crate) is_of_few: bool,
    /// For each point, whether it is used.
    pub(crate) is_used: Vec<bool>,
}

/// What was foretold at the held-out points, and the errors.
pub(super) struct Fold {
    pub(super) parameter_idx: usize,
    /// For each held-out point, what each form said and the measured value, as logarithms.
    pub(super) said: Vec<(Vec<Option<f64>>, f64)>,
    /// Distance of each held-out point from the largest value used.
    pub(super) distances: Vec<f64>,
    /// Root mean square of each form's errors.
    pub(super) errors: Vec<f64>,
}

/// Returns the largest value of each parameter held out, and the two and three largest where there are enough.
pub(crate) fn held_out(points: &[&[f64]], n_parameters: usize) -> Vec<Held> {
    let mut folds = Vec::new();
    for parameter_idx in 0..n_parameters {
        let values = distinct_values(points, parameter_idx);
        let n_max = match values.len() {
            0..=2 => 0,
            3..=4 => 1,
            5..=6 => 2,
            _ => 3,
        };
        for n in 1..=n_max {
            let edge = values[values.len() - n];
            let is_used: Vec<bool> = points.iter().map(|at| at[parameter_idx] < edge).collect();
            if 2 <= is_used.iter().filter(|used| **used).count() {
                folds.push(Held { parameter_idx, is_of_few: values.len() < 4, is_used });
            }
        }
    }
    folds
}

impl Fold {
    /// Refits the forms without the held-out points; `formula` is what the formula foretold there.
    pub(super) fn of(
        held: &Held,
        formula: &[Option<f64>],
        forms: &[FormKind],
        all: &Observed,
        columns: &Columns<'_>,
    ) -> Self {
        let used = all.only(&held.is_used);
        let refitted: Vec<Option<FormKind>> =
            forms.iter().map(|form| form.fitted(&used, columns, Some(&held.is_used))).collect();
        let unseen = (0..all.logs.len()).filter(|idx| !held.is_used[*idx]);
        let mut distances = Vec::new();
        let mut said = Vec::new();
        for (idx, formula) in unseen.zip(formula) {
            let asked = &all.logs[idx];
            let at: Vec<f64> = asked.iter().map(|x| x.exp()).collect();
            let of_form =
                |form: &Option<FormKind>| form.as_ref()?.ln_value(&used, &at, asked, *formula);
            said.push((refitted.iter().map(of_form).collect::<Vec<_>>(), all.values[idx]));
            distances.push(used.beyond(asked)[held.parameter_idx]);
        }
        let error = |form: usize| {
            let squares = said.iter().map(|(said, measured)| {
                said[form].map_or(ERROR_MAX, |said| (said - measured).abs().min(ERROR_MAX)).powi(2)
            });
            (squares.sum::<f64>() / said.len().max(1) as f64).sqrt()
        };
        let errors = (0..forms.len()).map(error).collect();
        Self { parameter_idx: held.parameter_idx, said, distances, errors }
    }
}
