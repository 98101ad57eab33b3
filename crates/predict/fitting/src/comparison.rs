//! Compares predictions with new measurements, in the form of the source's tables.
//!
//! The error is `(predicted - measured) / predicted`, in percent (Laine 2003); SMAPE is the mean of
//! `200 * |predicted - measured| / (|predicted| + |measured|)`.

use crate::ensemble::Opinion;
use crate::measurements::Measurements;
use crate::model::{ModelError, Prediction, TOTAL};
use crate::model_file::ModelFile;
use crate::samples::SampleRule;
use crate::score::relative_error;

/// A prediction and the measurement it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The region; `None` for the whole program.
    pub region: Option<String>,
    /// Values of the parameters, in the order of the measurements.
    pub at: Vec<f64>,
    /// Measured value, one for all repetitions.
    pub measured: f64,
    /// Predicted value.
    pub predicted: Prediction,
    /// What each form of the region's model says; nothing for the whole program.
    pub forms: Vec<Opinion>,
}

impl Compared {
    /// Returns the error in percent of the prediction, or of the measured value where the prediction is 0; negative
    /// where the prediction is too low.
    pub fn error_percent(&self) -> f64 {
        let (predicted, measured) = (self.predicted.value, self.measured);
        match (predicted != 0.0, measured != 0.0) {
            (true, _) => 100.0 * (predicted - measured) / predicted,
            (false, true) => 100.0 * (predicted - measured) / measured.abs(),
            (false, false) => 0.0,
        }
    }

    /// Returns whether the measured value lies in the prediction's interval.
    pub fn is_within(&self) -> bool {
        (self.predicted.low..=self.predicted.high).contains(&self.measured)
    }
}

/// Accuracy of predictions, over all points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of points compared.
    pub n_points: usize,
    /// Number of points whose measured value lies in the interval.
    pub n_within: usize,
    /// Symmetric mean absolute percentage error (SMAPE).
    pub smape_percent: f64,
    /// Mean of the absolute errors, in percent.
    pub mean_error_percent: f64,
    /// Largest absolute error, in percent.
    pub largest_error_percent: f64,
}

impl Summary {
    /// Computes the summary of these points.
    pub fn of<'a>(compared: impl Iterator<Item = &'a Compared>) -> Self {
        let mut all = Self::default();
        for one in compared {
            let error = one.error_percent().abs();
            all.n_points += 1;
            all.n_within += usize::from(one.is_within());
            all.smape_percent += 100.0 * relative_error(one.predicted.value, one.measured);
            all.mean_error_percent += error;
            all.largest_error_percent = all.largest_error_percent.max(error);
        }
        let n = all.n_points.max(1) as f64;
        Self {
            smape_percent: all.smape_percent / n,
            mean_error_percent: all.mean_error_percent / n,
            ..all
        }
    }

    /// Returns the share of points whose measured value lies in the interval.
    pub fn coverage(&self) -> f64 {
        self.n_within as f64 / self.n_points.max(1) as f64
    }
}

/// Compares all measured points of a metric that have a model: first the whole program, then region by region.
///
/// The whole program is the region `total` where that was measured; otherwise, where all regions were measured, it is
/// their sum (for each role; the longest role counts).
///
/// # Errors
/// When the measurements lack a parameter of the models, or a formula cannot be evaluated at a point.
pub fn compare(
    file: &ModelFile,
    metric: &str,
    measured: &Measurements,
    rule: SampleRule,
) -> Result<Vec<Compared>, ModelError> {
    let (mut programs, mut regions) = (Vec::new(), Vec::new());
    for at in points(measured, metric) {
        let values = || measured.parameters.iter().map(String::as_str).zip(at.iter().copied());
        let named: Vec<(&str, f64)> = values().collect();
        let said = file.predict(metric, &named)?;
        let level = |region: &str| level(measured, metric, region, &at, rule);
        for (idx, predicted) in said.regions {
            let region = &file.models[idx].region;
            if let Some(measured) = level(region) {
                let (region, at) = (Some(region.clone()), at.clone());
                let model = &file.models[idx];
                let forms = model.opinions(&model.point(&named)?);
                regions.push(Compared { region, at, measured, predicted, forms });
            }
        }
        if let Some((predicted, measured)) = said.total.zip(program(file, metric, level)) {
            let forms = Vec::new();
            programs.push(Compared { region: None, at, measured, predicted, forms });
        }
    }
    let order = |compared: &Compared| {
        file.models.iter().position(|model| Some(&model.region) == compared.region.as_ref())
    };
    regions.sort_by_key(order);
    programs.extend(regions);
    Ok(programs)
}

/// Returns all distinct points of a metric.
fn points(measured: &Measurements, metric: &str) -> Vec<Vec<f64>> {
    let series = measured.series.iter().filter(|series| series.metric == metric);
    let mut points: Vec<Vec<f64>> = Vec::new();
    for point in series.flat_map(|series| &series.points) {
        if !points.contains(&point.at) {
            points.push(point.at.clone());
        }
    }
    points
}

fn level(
    measured: &Measurements,
    metric: &str,
    region: &str,
    at: &[f64],
    rule: SampleRule,
) -> Option<f64> {
    let mut series = measured.series.iter();
    let series = series.find(|series| series.region == region && series.metric == metric)?;
    let rule = rule.widened(&series.points);
    let point = series.points.iter().find(|point| point.at == at)?;
    rule.point_value(&point.values).map(|level| level.value)
}

/// Returns the measured value of the whole program.
fn program(file: &ModelFile, metric: &str, level: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    if let Some(total) = level(TOTAL) {
        return Some(total);
    }
    let of_metric = file.models.iter().filter(|model| model.metric == metric);
    let regions = of_metric.map(|model| &model.region).filter(|region| *region != TOTAL);
    let all: Vec<&String> = regions.collect();
    if all.is_empty() {
        return None;
    }
    let sum = |regions: &mut dyn Iterator<Item = &String>| {
        regions.map(|region| level(region)).sum::<Option<f64>>()
    };
    if file.roles.is_empty() {
        return sum(&mut all.into_iter());
    }
    let roles: Option<Vec<f64>> = file.roles.values().map(|role| sum(&mut role.iter())).collect();
    roles?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_file::tests::fitted;

    fn measured(regions: &[(&str, f64)], sizes: &[f64]) -> Measurements {
        let mut measured = Measurements::of(vec!["n".into()]);
        for (region, each) in regions {
            sizes.iter().for_each(|n| measured.add(region, "time", &[*n], &[each * n]));
        }
        measured
    }

    fn models(regions: &[(&str, f64)]) -> ModelFile {
        fitted(&measured(regions, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    }

    /// Checks the comparison of models with values measured at 10: region, measured, predicted and error of each.
    #[track_caller]
    fn check(
        models_of: &[(&str, f64)],
        later: &[(&str, f64)],
        expected: &[(Option<&str>, f64, f64, f64)],
    ) {
        let file = models(models_of);
        let found = compare(&file, "time", &measured(later, &[10.0]), SampleRule::Mean).unwrap();
        let rounded = |x: f64| (1e6 * x).round() / 1e6;
        let row = |it: &'_ Compared| {
            let numbers = [it.measured, it.predicted.value, it.error_percent()].map(rounded);
            (it.region.clone(), numbers)
        };
        let found: Vec<_> = found.iter().map(row).collect();
        let expected =
            expected.iter().map(|(name, a, b, c)| (name.map(str::to_owned), [*a, *b, *c]));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn predictions_stand_beside_measurements() {
        check(
            &[("a", 2.0)],
            &[("a", 1.5)],
            &[(None, 15.0, 20.0, 25.0), (Some("a"), 15.0, 20.0, 25.0)],
        );
        check(
            &[("a", 1.0), ("b", 3.0)],
            &[("b", 2.0), ("a", 1.0)],
            &[
                (None, 30.0, 40.0, 25.0),
                (Some("a"), 10.0, 10.0, 0.0),
                (Some("b"), 20.0, 30.0, 33.333_333),
            ],
        );
        check(&[("a", 1.0), ("b", 3.0)], &[("a", 1.0)], &[(Some("a"), 10.0, 10.0, 0.0)]);
        check(&[("a", 1.0)], &[("total", 2.0)], &[(None, 20.0, 10.0, -100.0)]);
        check(
            &[("rank 0->a", 1.0), ("ranks 1-->b", 3.0)],
            &[("rank 0->a", 1.0), ("ranks 1-->b", 3.0)],
            &[
                (None, 30.0, 30.0, 0.0),
                (Some("rank 0->a"), 10.0, 10.0, 0.0),
                (Some("ranks 1-->b"), 30.0, 30.0, 0.0),
            ],
        );
    }

    #[test]
    fn a_summary_has_all_points() {
        let predicted = Prediction { value: 10.0, low: 9.0, high: 11.0 };
        let forms = Vec::new;
        let one =
            |measured| Compared { region: None, at: vec![], measured, predicted, forms: forms() };
        let summary = Summary::of([one(10.0), one(30.0)].iter());
        assert_eq!((summary.n_points, summary.n_within), (2, 1));
        assert!((summary.smape_percent - 50.0).abs() < 1e-12);
        assert!((summary.mean_error_percent - 100.0).abs() < 1e-12);
        assert!((summary.coverage() - 0.5).abs() < 1e-12);
    }
}
