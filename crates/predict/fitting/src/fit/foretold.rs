//! What the formula would have foretold at the largest values, had they not been measured; and the average of all forms.

use super::Settings;
use super::pieces::{Sample, fit_pieces, problem};
use crate::{
    design::Design,
    ensemble::{Columns, Curve, FormKind, Held, ensemble, held_out},
    model::FittedModel,
    score::score,
    search::{Breadth, RegionProblem},
    vocabulary::ParameterRole,
};

/// A region whose formula has been found.
pub(super) struct Region<'a> {
    pub(super) problem: &'a RegionProblem<'a>,
    pub(super) samples: &'a [Sample<'a>],
    /// Errors of the formula at single points, each held out in turn, as shares.
    pub(super) single_errors: &'a [f64],
}

/// Points held out, and the designs over the others; shared by regions that were measured at the same points.
#[derive(Debug)]
pub(super) struct Foretelling {
    points: Vec<Vec<f64>>,
    roles: Vec<ParameterRole>,
    held: Vec<Held>,
    /// Design over the points that each of `held` uses.
    designs: Vec<Design>,
}

impl Foretelling {
    pub(super) fn new(points: &[&[f64]], roles: &[ParameterRole]) -> Self {
        let held = held_out(points, roles.len());
        let designs = held.iter().map(|held| Design::new(&used(points, held), roles, &[]));
        Self {
            points: points.iter().map(|at| at.to_vec()).collect(),
            roles: roles.to_vec(),
            designs: designs.collect(),
            held,
        }
    }

    pub(super) fn is_over(&self, points: &[&[f64]]) -> bool {
        self.points.iter().eq(points.iter().copied())
    }

    /// Returns whether any values could be held out.
    pub(super) const fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Averages the model's formula with other forms.
    pub(super) fn average(
        &self,
        model: &mut FittedModel,
        region: &Region<'_>,
        settings: &Settings,
    ) {
        let Region { problem, samples, single_errors } = *region;
        let is_whole = model.pieces.len() == 1;
        let foretold = self.held.iter().zip(&self.designs).map(|(held, design)| {
            let said =
                if is_whole { self.by_formula(held, design, samples, settings) } else { None };
            said.unwrap_or_else(|| self.by_pieces(held, design, samples, settings))
        });
        let curve = Curve {
            points: self.points.clone(),
            values: samples.iter().map(|sample| sample.measured.value).collect(),
            kinds: FormKind::all(&self.roles),
            formula: foretold.collect(),
            held: &self.held,
            is_in_pieces: !is_whole,
            scatter: mean(samples.iter().map(|sample| sample.measured.spread)),
            single_errors,
        };
        let (ensemble, error) = ensemble(curve, &Columns { problem, roles: &self.roles });
        model.held_out_error = error;
        model.ensemble = Some(ensemble);
    }

    /// Chooses a formula over the points that are used, and returns its logarithms at the others.
    fn by_formula(
        &self,
        held: &Held,
        design: &Design,
        samples: &[Sample<'_>],
        settings: &Settings,
    ) -> Option<Vec<Option<f64>>> {
        let seen = used(samples, held);
        let problem = problem(design, &seen);
        let candidates = problem.candidates(settings.n_terms_max, Breadth::NARROW);
        let scored = score(&problem, &candidates);
        let best = scored.first()?.candidate;
        let value = |sample: &Sample<'_>| {
            best.value(&best.coefficients, |term| {
                design.choices[term].term.value(sample.at) / problem.lengths[term]
            })
        };
        Some(unseen(samples, held).map(|sample| logarithm(value(sample))).collect())
    }

    /// The same where the model has several pieces.
    fn by_pieces(
        &self,
        held: &Held,
        design: &Design,
        samples: &[Sample<'_>],
        settings: &Settings,
    ) -> Vec<Option<f64>> {
        let seen = used(samples, held);
        let mut model = FittedModel::default();
        fit_pieces(&mut model, &problem(design, &seen), &seen, &self.roles, settings);
        let value = |sample: &Sample<'_>| model.point_estimate(sample.at).ok().map(|it| it.value);
        unseen(samples, held).map(|sample| value(sample).and_then(logarithm)).collect()
    }
}

fn used<T: Copy>(all: &[T], held: &Held) -> Vec<T> {
    all.iter().zip(&held.is_used).filter(|(_, used)| **used).map(|(it, _)| *it).collect()
}

fn unseen<'s, 'a>(
    samples: &'s [Sample<'a>],
    held: &'s Held,
) -> impl Iterator<Item = &'s Sample<'a>> {
    samples.iter().zip(&held.is_used).filter(|(_, used)| !**used).map(|(it, _)| it)
}

fn logarithm(value: f64) -> Option<f64> {
    (0.0 < value && value.is_finite()).then(|| value.ln())
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = numbers.len().max(1) as f64;
    numbers.sum::<f64>() / n
}
