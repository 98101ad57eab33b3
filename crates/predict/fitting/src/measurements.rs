//! Measurements: values at points, for each region and metric.

use crate::placement::{Placement, Regime, regimes};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// All repetitions at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPoint {
    /// Values of the parameters, in the order of [`Measurements::parameters`].
    pub at: Vec<f64>,
    /// Measured values, one for each repetition.
    pub values: Vec<f64>,
}

/// The points of one region and metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Path of the region, its parts joined by `->`; empty for an unnamed region.
    pub region: String,
    /// Name of the measured quantity, such as `time`; empty for an unnamed metric.
    pub metric: String,
    /// Distinct points.
    pub points: Vec<MeasuredPoint>,
}

/// Measurements of all regions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Points of each region and metric, in order of first occurrence.
    pub series: Vec<Series>,
    /// Point of each run, and the placement of its ranks, where it was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<(Vec<f64>, Placement)>,
}

impl Measurements {
    /// Creates measurements without regions, over these parameters.
    pub const fn of(parameters: Vec<String>) -> Self {
        Self { parameters, series: Vec::new(), placements: Vec::new() }
    }

    /// Returns what changes at values of a parameter because of the nodes.
    #[must_use]
    pub fn regimes(&self) -> Vec<Regime> {
        regimes(&self.parameters, &self.placements)
    }

    /// Splits the measurements into those at wanted points and the others.
    pub fn split(self, is_wanted: impl Fn(&[f64]) -> bool) -> (Self, Self) {
        let (mut wanted, mut others) =
            (Self::of(self.parameters.clone()), Self::of(self.parameters));
        let of_runs = self.placements.into_iter();
        (wanted.placements, others.placements) = of_runs.partition(|(at, _)| is_wanted(at));
        for Series { region, metric, points } in self.series {
            let (some, rest): (Vec<MeasuredPoint>, _) =
                points.into_iter().partition(|point| is_wanted(&point.at));
            for (points, to) in [(some, &mut wanted), (rest, &mut others)] {
                if !points.is_empty() {
                    let (region, metric) = (region.clone(), metric.clone());
                    to.series.push(Series { region, metric, points });
                }
            }
        }
        (wanted, others)
    }

    /// Adds repetitions at a point, which may exist already.
    pub fn add(&mut self, region: &str, metric: &str, at: &[f64], values: &[f64]) {
        let named = |series: &Series| series.region == region && series.metric == metric;
        // Searched from the newest: files list the values of a region together.
        let found = self.series.iter().rposition(named);
        let idx = found.unwrap_or(self.series.len());
        if found.is_none() {
            let (region, metric) = (region.to_owned(), metric.to_owned());
            self.series.push(Series { region, metric, points: Vec::new() });
        }
        let points = &mut self.series[idx].points;
        match points.iter_mut().rfind(|point| point.at == at) {
            Some(point) => point.values.extend(values),
            None => points.push(MeasuredPoint { at: at.to_vec(), values: values.to_vec() }),
        }
    }
}

/// Measurements that are read line by line; hash maps find existing entries, because there may be very many.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasurementsBuilder {
    pub(crate) measured: Measurements,
    /// Index of a series, by region and metric.
    series: HashMap<(String, String), usize>,
    /// Index of a point in its series, by the series and the bits of its coordinates.
    points: HashMap<(usize, Vec<u64>), usize>,
}

impl MeasurementsBuilder {
    pub(crate) fn of(parameters: Vec<String>) -> Self {
        Self { measured: Measurements::of(parameters), ..Self::default() }
    }

    /// Adds repetitions at a point, which may exist already.
    pub(crate) fn add(&mut self, region: &str, metric: &str, at: &[f64], values: &[f64]) {
        let all = &mut self.measured.series;
        let name = (region.to_owned(), metric.to_owned());
        let series_idx = *self.series.entry(name).or_insert_with_key(|(region, metric)| {
            let (region, metric) = (region.clone(), metric.clone());
            all.push(Series { region, metric, points: Vec::new() });
            all.len() - 1
        });
        let points = &mut all[series_idx].points;
        // Positive and negative zero are the same coordinate.
        let bits = at.iter().map(|x| (x + 0.0).to_bits()).collect();
        let point_idx = *self.points.entry((series_idx, bits)).or_insert_with(|| {
            points.push(MeasuredPoint { at: at.to_vec(), values: Vec::new() });
            points.len() - 1
        });
        points[point_idx].values.extend(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathering_is_adding() {
        let mut one_by_one = Measurements::of(vec!["p".into()]);
        let mut built = MeasurementsBuilder::of(vec!["p".into()]);
        for (region, p, value) in
            [("a", 1.0, 1.0), ("b", 0.0, 2.0), ("a", 2.0, 3.0), ("b", -0.0, 4.0), ("a", 1.0, 5.0)]
        {
            one_by_one.add(region, "time", &[p], &[value]);
            built.add(region, "time", &[p], &[value]);
        }
        assert_eq!(built.measured, one_by_one);
    }

    #[test]
    fn repetitions_gather_at_their_point() {
        let mut measured = Measurements::of(vec!["p".into()]);
        for (region, p, value) in
            [("a", 1.0, 1.0), ("b", 1.0, 2.0), ("a", 2.0, 3.0), ("a", 1.0, 4.0)]
        {
            measured.add(region, "time", &[p], &[value]);
        }
        let points: Vec<Vec<MeasuredPoint>> =
            measured.series.into_iter().map(|series| series.points).collect();
        let point = |p, values: &[f64]| MeasuredPoint { at: vec![p], values: values.to_vec() };
        let a = vec![point(1.0, &[1.0, 4.0]), point(2.0, &[3.0])];
        assert_eq!(points, [a, vec![point(1.0, &[2.0])]]);
    }

    #[test]
    fn points_may_be_kept_back() {
        let mut measured = Measurements::of(vec!["p".into()]);
        for (region, p) in [("a", 1.0), ("a", 2.0), ("b", 2.0)] {
            measured.add(region, "time", &[p], &[p]);
        }
        let (small, large) = measured.split(|at| at[0] < 2.0);
        let regions = |measured: Measurements| {
            measured.series.into_iter().map(|it| it.region).collect::<Vec<_>>()
        };
        assert_eq!(
            (regions(small), regions(large)),
            (vec!["a".to_owned()], vec!["a".into(), "b".into()])
        );
    }
}
