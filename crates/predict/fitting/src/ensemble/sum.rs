//! Sums of usual terms without negative coefficients.

use super::non_negative;
use crate::{
    design::Design,
    search::RegionProblem,
    term::{Factor, Formula, Weighted},
    vocabulary::ParameterRole,
};

/// Most columns of a sum.
const N_COLUMNS_MAX: usize = 64;

/// Columns of usual terms over all points of a region.
pub(crate) struct Columns<'a> {
    pub(crate) problem: &'a RegionProblem<'a>,
    pub(crate) roles: &'a [ParameterRole],
}

impl Columns<'_> {
    /// Returns the sum of usual terms without negative coefficients that has the smallest relative error.
    pub(super) fn sum(&self, with_logs: bool, is_used: Option<&[bool]>) -> Option<Formula> {
        let RegionProblem { design, columns, target, lengths, .. } = self.problem;
        let chosen: Vec<usize> = (0..design.choices.len())
            .filter(|term| self.is_plain(design, *term, with_logs))
            .take(N_COLUMNS_MAX + 1)
            .collect();
        if N_COLUMNS_MAX < chosen.len() {
            return None;
        }
        let kept = |numbers: &[f64]| -> Vec<f64> {
            let Some(used) = is_used else { return numbers.to_vec() };
            numbers.iter().zip(used).filter(|(_, used)| **used).map(|(x, _)| *x).collect()
        };
        let rows: Vec<Vec<f64>> = chosen.iter().map(|term| kept(&columns[*term])).collect();
        let coefficients = non_negative::solve(&rows, &kept(target));
        let terms = chosen.iter().zip(coefficients).filter(|(_, c)| 0.0 < *c);
        let terms = terms.map(|(term, c)| Weighted {
            coefficient: c / lengths[*term],
            term: design.choices[*term].term.clone(),
        });
        let formula = Formula { terms: terms.collect() };
        (!formula.terms.is_empty()).then_some(formula)
    }

    fn is_plain(&self, design: &Design, term: usize, with_logs: bool) -> bool {
        let choice = &design.choices[term];
        let is_plain = |factor: &Factor| match self.roles[factor.parameter_idx] {
            ParameterRole::Size => true,
            ParameterRole::Processes => factor.power < 0.0 || (with_logs && factor.power <= 0.0),
            ParameterRole::Any => factor.power < 2.0 && (with_logs || factor.log_power == 0),
        };
        let is_positive = design.columns[term].iter().all(|value| 0.0 <= *value);
        choice.oddity == 0.0 && is_positive && choice.term.factors.iter().all(is_plain)
    }
}
