//! Checks that a model that was read can be evaluated: consistent parts and valid numbers.
//!
//! A file may be damaged, or made by another program. It is checked here once, so that evaluation can
//! rely on it.

use crate::model::{FORMAT, FittedModel, ModelError, Piece};
use crate::term::Term;

impl FittedModel {
    /// Checks that the format is known and the parts are consistent.
    ///
    /// # Errors
    /// When they are not; the error says which.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if FORMAT < self.format {
            return Err(ModelError::Unknown(self.format));
        }
        match self.fault() {
            None => Ok(()),
            Some(why) => Err(ModelError::Unsound { region: self.region.clone(), why }),
        }
    }

    /// Returns whether all numbers are finite, so that JSON can hold them.
    pub(crate) fn is_finite(&self) -> bool {
        let ranges = self.ranges.iter().flat_map(|range| [range.low, range.high]);
        let of_piece = |piece: &Piece| {
            let terms = piece.formula.terms.iter().map(|part| &part.coefficient);
            let draws = piece.draws.iter().flat_map(|draw| &draw.coefficients);
            terms.chain(draws).chain([&piece.noise]).all(|number| number.is_finite())
        };
        let of_all = ranges.chain(self.smallest).chain([self.held_out_error]);
        of_all.into_iter().all(f64::is_finite) && self.pieces.iter().all(of_piece)
    }

    fn fault(&self) -> Option<&'static str> {
        let n_parameters = self.parameters.len();
        let not_rising = |range: &crate::Range| range.high < range.low;
        if self.ranges.len() != n_parameters {
            return Some("the numbers of ranges and parameters differ");
        }
        if self.ranges.iter().any(not_rising) {
            return Some("a range ends below its start");
        }
        if self.parameters.iter().enumerate().any(|(k, name)| self.parameters[..k].contains(name)) {
            return Some("two of its parameters have the same name");
        }
        if !(0.0 < self.rate && self.rate < 1.0) {
            return Some("the coverage of its interval is not between 0 and 1");
        }
        if self.smallest.is_some_and(|smallest| smallest <= 0.0) {
            return Some("its smallest value is not positive");
        }
        if self.pieces.is_empty() {
            return Some("it has no formula");
        }
        if self.split_idx.is_some_and(|idx| n_parameters <= idx) {
            return Some("the parameter that separates its formulas does not exist");
        }
        let of_piece = self.pieces.iter().find_map(|piece| fault_of(piece, n_parameters));
        let of_ensemble = || self.ensemble.as_ref().and_then(|it| it.fault(n_parameters));
        of_piece.or_else(|| self.fault_between()).or_else(of_ensemble)
    }

    /// Returns the fault of pieces that do not follow one another, if there is one.
    fn fault_between(&self) -> Option<&'static str> {
        if self.pieces.len() < 2 {
            return None;
        }
        let is_split = self.split_idx.is_some();
        let ranges: Option<Vec<_>> = self.pieces.iter().map(|piece| piece.range).collect();
        let Some(ranges) = ranges.filter(|_| is_split) else {
            return Some("the ranges of its formulas are missing");
        };
        let rising = ranges.iter().all(|range| range.low <= range.high)
            && ranges.windows(2).all(|pair| pair[0].high < pair[1].low);
        (!rising).then_some("the ranges of its formulas overlap or are not in order")
    }
}

fn fault_of(piece: &Piece, n_parameters: usize) -> Option<&'static str> {
    let is_wrong =
        |term: &Term| term.factors.iter().any(|factor| n_parameters <= factor.parameter_idx);
    let mut terms = piece.formula.terms.iter().map(|part| &part.term);
    if terms.any(is_wrong) || piece.alternatives.iter().flatten().any(is_wrong) {
        return Some("a formula uses an unknown parameter");
    }
    let fits = |draw: &crate::Draw| {
        let terms = piece.alternatives.get(draw.alternative_idx);
        terms.is_some_and(|terms| terms.len() == draw.coefficients.len())
    };
    if !piece.draws.iter().all(fits) {
        return Some("the numbers of coefficients and terms of a draw differ");
    }
    (piece.noise < 0.0).then_some("its noise is negative")
}

#[cfg(test)]
mod tests {
    use crate::{FittedModel, Measurements, Settings, fit};

    /// Returns the model of values of which one is 0, so that its formula stands alone and has draws.
    fn model() -> FittedModel {
        let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
        for n in [100.0, 200.0, 400.0, 800.0] {
            for p in [1.0, 2.0, 4.0, 8.0] {
                measured.add("a", "time", &[n, p], &[n / p - 12.5]);
            }
        }
        fit(&measured, &Settings::default()).remove(0).unwrap()
    }

    #[track_caller]
    fn check(damage: impl FnOnce(&mut FittedModel), expected: &str) {
        let mut model = model();
        damage(&mut model);
        let said = model.check().unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("write it again with `sintonia fit`"), "{said}");
    }

    /// Numbers with which weights overflow would end a program that asks the model while it runs.
    #[test]
    fn an_average_whose_weights_overflow_is_refused() {
        let mut measured = Measurements::of(vec!["p".into()]);
        for p in [1.0, 2.0, 4.0, 8.0] {
            measured.add("a", "time", &[p], &[8.0 / p + 1.0]);
        }
        let model = fit(&measured, &Settings::default()).remove(0).unwrap();
        assert!(model.check().is_ok());
        type Damage = fn(&mut crate::Ensemble);
        let damages: [Damage; 6] = [
            |it| it.forms[1].misses[0] = 1e300,
            |it| it.forms[0].prior = 0.0,
            |it| it.singles_weight = -1.0,
            |it| it.drift.clear(),
            |it| it.values[0] = -1.0,
            |it| it.forms.clear(),
        ];
        for damage in damages {
            let mut damaged = model.clone();
            damage(damaged.ensemble.as_mut().unwrap());
            assert!(damaged.check().is_err(), "{damaged:?}");
        }
    }

    /// A damaged file of models was evaluated as if it were intact: indices out of range gave NaN, other damage wrong numbers.
    #[test]
    fn a_model_whose_parts_do_not_fit_together_is_refused() {
        check(|model| model.ranges.truncate(1), "the numbers of ranges and parameters differ");
        check(|model| model.ranges[0].high = -1.0, "a range ends below its start");
        check(|model| model.parameters[1] = "n".into(), "two of its parameters have the same name");
        check(|model| model.rate = 1.5, "not between 0 and 1");
        check(|model| model.smallest = Some(-1.0), "its smallest value is not positive");
        check(|model| model.pieces.clear(), "it has no formula");
        check(
            |model| model.split_idx = Some(2),
            "the parameter that separates its formulas does not exist",
        );
        check(
            |model| model.pieces.push(model.pieces[0].clone()),
            "the ranges of its formulas are missing",
        );
        check(|model| model.pieces[0].noise = -1.0, "its noise is negative");
        check(
            |model| model.pieces[0].draws[0].coefficients.clear(),
            "coefficients and terms of a draw differ",
        );
        check(
            |model| model.pieces[0].draws[0].alternative_idx = 99,
            "coefficients and terms of a draw differ",
        );
        let far = |model: &mut FittedModel| {
            let terms = &mut model.pieces[0].formula.terms;
            let term = terms.iter_mut().find(|part| !part.term.factors.is_empty()).unwrap();
            term.term.factors[0].parameter_idx = 7;
        };
        check(far, "a formula uses an unknown parameter");
    }
}
