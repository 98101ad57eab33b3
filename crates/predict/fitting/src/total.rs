//! Combines the models of a program's regions into its time, and its speedup with more processes.
//!
//! `t = max over roles of the sum of the role's regions` (Laine 2003): ranks of a role behave alike, and a region
//! includes the time its rank waits for others. Without roles it is the sum of all regions.
//!
//! A region called `total` is the measured whole program, and not part of the sum. Where it has a model, the program
//! is the geometric mean of both, weighed by their errors at held-out values: many short regions add up their errors, and the
//! whole hides what its parts do.
//!
//! The interval of a sum combines the sums of the regions' draws with the sum of their noise, because a disturbed machine
//! slows all regions. Draws of formulas are independent, those of averages are not.
//!
//! # Not here
//! Waiting that no measurement includes: another network, other numbers of messages (`program-graph`).

use crate::model::{FittedModel, ModelError, PointEstimate, Prediction, TOTAL, in_words};
use crate::model_file::ModelFile;

/// Offset between the draws of successive regions, so that regions with the same draws count as independent.
const STRIDE: usize = 7;

/// Errors at held-out values that count as equal, and the largest that counts.
const ERROR_LEAST: f64 = 0.003;
const ERROR_MOST: f64 = 2.0;
/// Power of the errors by which two estimates are weighed.
const SHARPNESS: i32 = 4;

/// What a model says at a point.
type Estimate = fn(&FittedModel, &[f64]) -> Result<PointEstimate, ModelError>;

/// An estimate, and the role that it is of.
type Named = (PointEstimate, Option<String>);

/// Predictions at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// Time of the whole program; `None` where no region has a model.
    pub total: Option<Prediction>,
    /// Role that takes longest, where roles are known.
    pub role: Option<String>,
    /// Prediction of each region, with its index in [`ModelFile::models`].
    pub regions: Vec<(usize, Prediction)>,
}

impl ModelFile {
    /// Returns the indices of the models of a metric that add up to the program.
    fn parts(&self, metric: &str) -> Vec<usize> {
        let of_metric = |idx: &usize| self.models[*idx].metric == metric;
        let all: Vec<usize> = (0..self.models.len()).filter(of_metric).collect();
        let parts = all.iter().copied().filter(|idx| self.models[*idx].region != TOTAL);
        let parts: Vec<usize> = parts.collect();
        if parts.is_empty() { all } else { parts }
    }

    /// Predicts a metric at a point, given as named parameters.
    ///
    /// # Errors
    /// When a parameter has no value, or a formula cannot be evaluated there.
    pub fn predict(
        &self,
        metric: &str,
        parameters: &[(&str, f64)],
    ) -> Result<Predictions, ModelError> {
        let of_metric = (0..self.models.len()).filter(|idx| self.models[*idx].metric == metric);
        let region = |idx: usize| Ok((idx, self.models[idx].value(parameters)?));
        let regions = of_metric.map(region).collect::<Result<Vec<_>, ModelError>>()?;
        let (total, role) = match self.point_estimate(metric, parameters)? {
            Some((point_estimate, role)) => {
                (Some(self.prediction(metric, &point_estimate, parameters)?), role)
            }
            None => (None, None),
        };
        Ok(Predictions { total, role, regions })
    }

    /// Predicts the speedup of the program with `more` of a parameter, such as processes that a resizer would add.
    ///
    /// The interval is that of means: it does not include the noise of single runs.
    ///
    /// ```
    /// # use fitting::{Measurements, ModelFile, Settings, fit};
    /// # let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
    /// # for n in [100.0, 200.0, 300.0, 400.0] {
    /// #     for p in [1.0, 2.0, 4.0, 8.0] {
    /// #         measured.add("multiply", "time", &[n, p], &[n / p + 1.0]);
    /// #     }
    /// # }
    /// # let models = fit(&measured, &Settings::default()).into_iter().filter_map(Result::ok).collect();
    /// # let written = ModelFile::of(models).write()?;
    /// let models = ModelFile::read(&written)?;
    /// let speedup = models.speedup(&[("n", 400.0), ("p", 8.0)], "p", 8.0)?.expect("there are models");
    /// assert!(1.9 < speedup.low, "it is worth asking for 8 more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a parameter has no value, or a formula cannot be evaluated there.
    pub fn speedup(
        &self,
        parameters: &[(&str, f64)],
        parameter: &str,
        more: f64,
    ) -> Result<Option<Prediction>, ModelError> {
        let Some(metric) = self.usual_metric() else { return Ok(None) };
        let mut later = parameters.to_vec();
        later.iter_mut().filter(|(name, _)| *name == parameter).for_each(|(_, x)| *x += more);
        let (now, then) =
            (self.point_estimate(metric, parameters)?, self.point_estimate(metric, &later)?);
        let Some(((now, _), (then, _))) = now.zip(then) else { return Ok(None) };
        let value = now.value / then.value;
        if !value.is_finite() {
            return Ok(None);
        }
        let drawn = now.drawn.iter().zip(&then.drawn).map(|(now, then)| now / then).collect();
        let is_average = now.is_average || then.is_average;
        let mut ratio = PointEstimate { value, drawn, noise: 0.0, is_average };
        if ratio.drawn.is_empty() {
            // The noise is the only known uncertainty.
            ratio.noise = (now.noise / now.value).hypot(then.noise / then.value) * value;
        }
        Ok(ratio.prediction(self.rate(metric), true))
    }

    /// Returns the share of measurements that intervals should contain.
    pub fn rate(&self, metric: &str) -> f64 {
        self.parts(metric).first().map_or(0.95, |idx| self.models[*idx].rate)
    }

    fn prediction(
        &self,
        metric: &str,
        point_estimate: &PointEstimate,
        parameters: &[(&str, f64)],
    ) -> Result<Prediction, ModelError> {
        let is_positive = self.parts(metric).iter().all(|idx| self.models[*idx].smallest.is_some());
        point_estimate.prediction(self.rate(metric), is_positive).ok_or_else(|| {
            let at = in_words(parameters.iter().copied());
            ModelError::TooLarge { region: TOTAL.to_owned(), at }
        })
    }

    /// Returns the time by the regions, averaged with that by the measured whole, and the longest role.
    fn point_estimate(
        &self,
        metric: &str,
        parameters: &[(&str, f64)],
    ) -> Result<Option<Named>, ModelError> {
        let parts: Vec<&FittedModel> =
            self.parts(metric).iter().map(|idx| &self.models[*idx]).collect();
        if parts.is_empty() {
            return Ok(None);
        }
        let (by_regions, role) =
            self.by_regions(&parts, parameters, FittedModel::point_estimate)?;
        let is_whole = |it: &&FittedModel| it.metric == metric && it.region == TOTAL;
        let whole = self.models.iter().find(is_whole);
        let Some(whole) = whole.filter(|_| parts.iter().all(|it| it.region != TOTAL)) else {
            return Ok(Some((by_regions, role)));
        };
        let mut of_whole = whole.point_estimate(&whole.point(parameters)?)?;
        if parts.iter().any(|it| it.known.scale.is_some()) {
            // What would be if a region took another time, only the regions tell.
            let (measured, _) = self.by_regions(&parts, parameters, FittedModel::as_measured)?;
            of_whole = of_whole.scaled(by_regions.value / measured.value);
        }
        let share = share(held_out_error(&parts, parameters)?, whole.held_out_error);
        Ok(Some((by_regions.mean_with(of_whole, share), role)))
    }

    /// Returns the longest role, or the sum of all regions where no roles are known.
    fn by_regions(
        &self,
        parts: &[&FittedModel],
        parameters: &[(&str, f64)],
        estimate: Estimate,
    ) -> Result<Named, ModelError> {
        let of_role = |regions: &Vec<String>| {
            let is_of = |model: &&&FittedModel| regions.contains(&model.region);
            let own: Vec<&FittedModel> = parts.iter().filter(is_of).copied().collect();
            sum(&own, parameters, estimate)
        };
        let mut roles = Vec::new();
        for (name, regions) in &self.roles {
            roles.push((of_role(regions)?, Some(name.clone())));
        }
        let longest = roles.into_iter().reduce(longest).filter(|(it, _)| 0.0 < it.value);
        match longest {
            Some(longest) => Ok(longest),
            None => Ok((sum(parts, parameters, estimate)?, None)),
        }
    }
}

/// Returns the weight of the first of two estimates with these errors, beside the second.
fn share(error: f64, other: f64) -> f64 {
    let [error, other] = [error, other].map(|it| it.clamp(ERROR_LEAST, ERROR_MOST));
    1.0 / (1.0 + (error / other).powi(SHARPNESS))
}

/// Returns the mean error of the regions at held-out values; those that take long count more.
fn held_out_error(models: &[&FittedModel], parameters: &[(&str, f64)]) -> Result<f64, ModelError> {
    let (mut errors, mut all) = (0.0, 0.0);
    for model in models {
        let value = model.point_estimate(&model.point(parameters)?)?.value.abs();
        errors += value * model.held_out_error.min(ERROR_MOST);
        all += value;
    }
    Ok(if 0.0 < all { errors / all } else { ERROR_MOST })
}

/// Returns the sum of the regions.
fn sum(
    models: &[&FittedModel],
    parameters: &[(&str, f64)],
    estimate: Estimate,
) -> Result<PointEstimate, ModelError> {
    let estimate = |model: &&FittedModel| estimate(model, &model.point(parameters)?);
    let estimates = models.iter().map(estimate).collect::<Result<Vec<_>, ModelError>>()?;
    let n_draws = estimates.iter().map(|region| region.drawn.len()).max().unwrap_or(0);
    let nth = |region: &PointEstimate, region_idx: usize, idx: usize| match region.drawn.len() {
        0 => region.value,
        // Averages of forms err together: where the machine changes, it changes for all regions.
        n if region.is_average => region.drawn[idx % n],
        n => region.drawn[(idx + STRIDE * region_idx) % n],
    };
    let drawn = |idx: usize| (0..).zip(&estimates).map(|(at, region)| nth(region, at, idx)).sum();
    Ok(PointEstimate {
        value: estimates.iter().map(|region| region.value).sum(),
        drawn: (0..n_draws).map(drawn).collect(),
        noise: estimates.iter().map(|region| region.noise).sum(),
        is_average: estimates.iter().any(|region| region.is_average),
    })
}

/// Returns the larger of two estimates, with the maximum of each pair of draws.
fn longest(some: Named, other: Named) -> Named {
    let (larger, smaller) =
        if some.0.value < other.0.value { (other, some) } else { (some, other) };
    let mut drawn = larger.0.drawn;
    // A role whose regions have no draws has its value in every draw.
    let n = drawn.len().max(smaller.0.drawn.len());
    drawn.resize(n, larger.0.value);
    let less = |idx: usize| smaller.0.drawn.get(idx).copied().unwrap_or(smaller.0.value);
    drawn.iter_mut().enumerate().for_each(|(idx, drawn)| *drawn = drawn.max(less(idx)));
    (PointEstimate { drawn, ..larger.0 }, larger.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measurements;
    use crate::model_file::tests::fitted;

    type Time = fn(f64, f64) -> f64;

    /// Returns models of regions with these times over `n` and `p`, with this share of noise.
    fn file(regions: &[(&str, Time)], noise: f64) -> ModelFile {
        let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
        for (region, time) in regions {
            for n in [100.0, 200.0, 400.0, 800.0] {
                for p in [1.0, 2.0, 4.0, 8.0] {
                    let values = [0.0, 1.0, 2.0]
                        .map(|k: f64| time(n, p) * (1.0 + noise * (n + 3.0 * p + 5.0 * k).sin()));
                    measured.add(region, "time", &[n, p], &values);
                }
            }
        }
        fitted(&measured)
    }

    const DIVIDED: Time = |n, p| n / p;
    const WHOLE: Time = |n, _| 0.1 * n;

    #[track_caller]
    fn check(regions: &[(&str, Time)], expected: f64, role: Option<&str>) {
        let said = file(regions, 0.0).predict("time", &[("n", 1600.0), ("p", 16.0)]).unwrap();
        let total = said.total.unwrap();
        assert!((total.value / expected - 1.0).abs() < 1e-6, "{total:?}");
        assert!(total.low <= total.value && total.value <= total.high);
        assert_eq!(said.role.as_deref(), role);
        assert_eq!(said.regions.len(), regions.len());
    }

    #[test]
    fn the_longest_role_is_the_program() {
        check(&[("a", DIVIDED), ("b", WHOLE)], 260.0, None);
        check(&[("a", DIVIDED), ("total", DIVIDED)], 100.0, None);
        check(&[("total", WHOLE)], 160.0, None);
        check(
            &[("rank 0->a", WHOLE), ("ranks 1-->b", DIVIDED), ("total", WHOLE)],
            160.0,
            Some("rank 0"),
        );
        check(
            &[("rank 0->a", WHOLE), ("ranks 1-->b", DIVIDED), ("ranks 1-->c", DIVIDED)],
            200.0,
            Some("ranks 1-"),
        );
    }

    #[test]
    fn who_foretells_better_counts_more() {
        let at = [("n", 1600.0), ("p", 16.0)];
        let said = |noise_of_part: f64, noise_of_whole: f64| {
            // The part was measured 1.2 times as long as the whole, to tell both apart.
            let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
            for (region, factor, noise) in [("a", 1.2, noise_of_part), (TOTAL, 1.0, noise_of_whole)]
            {
                for n in [100.0, 200.0, 400.0, 800.0] {
                    for p in [1.0, 2.0, 4.0, 8.0] {
                        let value = factor * DIVIDED(n, p) * (1.0 + noise * (7.0 * n + p).sin());
                        measured.add(region, "time", &[n, p], &[value]);
                    }
                }
            }
            let mut file = fitted(&measured);
            let plain = file.predict("time", &at).unwrap().total.unwrap();
            file.models[0].known.scale = Some(0.5);
            let scaled = file.predict("time", &at).unwrap().total.unwrap();
            assert!((scaled.value / plain.value - 0.5).abs() < 1e-9, "{scaled:?} {plain:?}");
            plain.value
        };
        let by_part = said(0.0, 0.3);
        assert!((by_part / 120.0 - 1.0).abs() < 0.02, "{by_part}");
        let by_whole = said(0.3, 0.0);
        assert!((by_whole / 100.0 - 1.0).abs() < 0.02, "{by_whole}");
    }

    #[test]
    fn the_interval_of_a_sum_is_that_of_its_parts() {
        let at = [("n", 1600.0), ("p", 16.0)];
        let one = file(&[("a", DIVIDED)], 0.05).predict("time", &at).unwrap();
        assert_eq!(one.total, Some(one.regions[0].1));
        let two = file(&[("a", DIVIDED), ("b", DIVIDED)], 0.05).predict("time", &at).unwrap();
        let relative = |said: Prediction| said.high / said.value - 1.0;
        let [one, two] = [one, two].map(|said| relative(said.total.unwrap()));
        assert!(0.0 < two && two <= 1.001 * one, "{two} {one}");
        assert!(file(&[], 0.0).predict("time", &at).unwrap().total.is_none());
    }

    #[test]
    fn more_processes_help_where_work_is_divided() {
        let at = [("n", 800.0), ("p", 8.0)];
        let speedup = |regions: &[(&str, Time)], noise| {
            file(regions, noise).speedup(&at, "p", 8.0).unwrap().unwrap()
        };
        let divided = speedup(&[("a", DIVIDED)], 0.0);
        assert!((divided.value - 2.0).abs() < 1e-6, "{divided:?}");
        let mixed = speedup(&[("a", DIVIDED), ("b", WHOLE)], 0.03);
        assert!((mixed.value - 180.0 / 130.0).abs() < 0.05, "{mixed:?}");
        assert!(
            mixed.low < mixed.value && mixed.value < mixed.high && 1.1 < mixed.low,
            "{mixed:?}"
        );
    }
}
