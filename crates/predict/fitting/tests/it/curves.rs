//! Measured curves of programs that nobody described: the largest values held out (`experiments/pred-real`).

use crate::synthetic::smape;
use fitting::formats::Format;
use fitting::{Measurements, SampleRule, Settings, fit};
use statistics::median;

const OPENSBLI: &str = include_str!("../../../../../experiments/pred-real/data/opensbli.csv");
const RELEARN: &str = include_str!("../../../../../experiments/pred-real/data/relearn.txt");
const SORTS: &str = include_str!("../../../../../experiments/pred-real/data/sorts.csv");

/// Errors in percent at held-out points, and the share of these inside their intervals.
#[derive(Debug)]
struct Outcome {
    median: f64,
    mean: f64,
    inside: f64,
}

/// Fits what is not held out and compares predictions with the medians of what is.
fn outcome(measured: &Measurements, is_unseen: impl Fn(&[f64], &[Vec<f64>]) -> bool) -> Outcome {
    let (mut errors, mut n_inside) = (Vec::new(), 0);
    for series in &measured.series {
        let all: Vec<Vec<f64>> = series.points.iter().map(|point| point.at.clone()).collect();
        let one = Measurements { series: vec![series.clone()], ..measured.clone() };
        let (unseen, seen) = one.split(|at| is_unseen(at, &all));
        if seen.series.is_empty() || seen.series[0].points.len() < 3 {
            continue;
        }
        let model = fit(&seen, &Settings::default()).remove(0).unwrap();
        for point in unseen.series.iter().flat_map(|series| &series.points) {
            let measured = SampleRule::Median.point_value(&point.values).unwrap().value;
            let said = model.value_at(&point.at).unwrap();
            n_inside += usize::from((said.low..=said.high).contains(&measured));
            let is_zero = said.value == 0.0 && measured == 0.0;
            errors.push(if is_zero { 0.0 } else { smape(&[(said.value, measured)]) });
        }
    }
    let n = errors.len() as f64;
    Outcome {
        median: median(errors.iter().copied()).unwrap(),
        mean: errors.iter().sum::<f64>() / n,
        inside: f64::from(u32::try_from(n_inside).unwrap()) / n,
    }
}

#[track_caller]
fn check(outcome: &Outcome, median_max: f64, mean_max: f64, inside_min: f64) {
    let good = outcome.median <= median_max && outcome.mean <= mean_max;
    assert!(good && inside_min <= outcome.inside, "{outcome:?}");
}

/// Returns whether fewer than `n` values of a parameter are larger than that of a point.
fn is_among_largest(at: &[f64], all: &[Vec<f64>], idx: usize, n: usize) -> bool {
    let mut larger: Vec<f64> = all.iter().map(|at| at[idx]).filter(|x| at[idx] < *x).collect();
    larger.sort_by(f64::total_cmp);
    larger.dedup();
    larger.len() < n
}

/// Returns the curves of a table with these columns of the name, parameters, and value.
fn curves(
    text: &str,
    name: &[usize],
    at: &[usize],
    value: usize,
    wanted: impl Fn(&[&str]) -> bool,
) -> Measurements {
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = rows.next().unwrap();
    let mut measured = Measurements::of(at.iter().map(|idx| heading[*idx].to_owned()).collect());
    for row in rows.filter(|row| wanted(row)) {
        let named: Vec<&str> = name.iter().map(|idx| row[*idx]).collect();
        let at: Vec<f64> = at.iter().map(|idx| row[*idx].parse().unwrap()).collect();
        measured.add(&named.join(" "), "time", &at, &[row[value].parse().unwrap()]);
    }
    measured
}

#[test]
fn strong_scaling_over_nodes_is_foretold_with_intervals_that_hold() {
    let mut measured = curves(OPENSBLI, &[0, 1], &[2], 3, |_| true);
    measured.series.retain(|series| 4 <= series.points.len());
    assert_eq!(measured.series.len(), 16);
    let one = outcome(&measured, |at, all| is_among_largest(at, all, 0, 1));
    check(&one, 9.0, 14.0, 0.9);
    measured.series.retain(|series| 5 <= series.points.len());
    let two = outcome(&measured, |at, all| is_among_largest(at, all, 0, 2));
    check(&two, 7.0, 13.0, 0.9);
}

#[test]
fn regions_of_a_simulation_are_foretold_with_intervals_that_hold() {
    let measured = Format::of(RELEARN).read(RELEARN).measured;
    check(&outcome(&measured, |at, _| 512.0 <= at[0]), 7.0, 20.0, 0.9);
    check(&outcome(&measured, |at, _| 9000.0 <= at[1]), 4.0, 11.0, 0.9);
}

#[test]
fn sorts_are_foretold_with_intervals_that_hold() {
    let measured = curves(SORTS, &[0, 1], &[2, 3], 5, |row| row[4] == "main");
    check(&outcome(&measured, |at, _| 256.0 <= at[0]), 40.0, 45.0, 0.9);
    check(&outcome(&measured, |at, _| 67_108_864.0 <= at[1]), 17.0, 24.0, 0.9);
}
