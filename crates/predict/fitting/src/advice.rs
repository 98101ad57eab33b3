//! What to measure next: the points that narrow the interval at a target most.
//!
//! Each candidate is added as if it had been measured as the model foretells it; the model is fitted again, and the
//! interval at the target compared. What a point would show in truth is not known, so this is a ranking, not a promise.

use crate::fit::{Fitter, Settings};
use crate::measurements::{MeasuredPoint, Series};

/// Most candidates that are tried for one choice; of more, those nearest to the target.
const N_TRIED_MAX: usize = 200;
/// Of candidates that narrow the interval nearly as much as the best one, the cheapest is taken.
const NEARLY: f64 = 0.4;

/// A point that could be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its coordinates.
    pub at: Vec<f64>,
    /// What it costs, in any unit; for a time of one, such as the number of processes.
    pub cost_per_time: f64,
}

/// A point that is worth measuring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Index of the candidate.
    pub candidate_idx: usize,
    /// Expected time there.
    pub time: f64,
    /// Expected cost.
    pub cost: f64,
    /// Ratio of the interval's ends at the target before this point is measured, and after.
    pub ratio_before: f64,
    /// See above.
    pub ratio_after: f64,
}

/// Chooses up to `n` candidates, one after the other, whose costs do not exceed `budget`; where none would narrow the
/// interval, the nearest to the target, if it is nearer than all measured points. Fewer where none helps or no model can
/// be made.
pub fn advise(
    parameters: &[String],
    measured: &Series,
    settings: &Settings,
    (candidates, target): (&[Candidate], &[f64]),
    (n, budget): (usize, f64),
) -> Vec<Advice> {
    let mut measured = measured.clone();
    let mut fitter = Fitter::new(parameters, settings);
    let mut left = budget;
    let mut chosen: Vec<Advice> = Vec::new();
    while chosen.len() < n {
        let Ok(model) = fitter.fit(&measured) else { break };
        let ratio = |model: &crate::FittedModel| {
            let said = model.value_at(target).ok()?;
            (0.0 < said.low).then_some(said.high / said.low)
        };
        let Some(ratio_before) = ratio(&model) else { break };
        let is_new = |idx: &usize| chosen.iter().all(|advice| advice.candidate_idx != *idx);
        let mut tried: Vec<usize> = (0..candidates.len()).filter(is_new).collect();
        tried.sort_by(|a, b| {
            distance(&candidates[*a].at, target).total_cmp(&distance(&candidates[*b].at, target))
        });
        tried.truncate(N_TRIED_MAX);
        let outcomes = tried.into_iter().filter_map(|candidate_idx| {
            let Candidate { at, cost_per_time } = &candidates[candidate_idx];
            let time = model.value_at(at).ok()?.value;
            let cost = cost_per_time * time;
            if left < cost {
                return None;
            }
            let mut more = measured.clone();
            more.points.push(MeasuredPoint { at: at.clone(), values: vec![time] });
            let ratio_after = ratio(&fitter.fit(&more).ok()?)?;
            Some(Advice { candidate_idx, time, cost, ratio_before, ratio_after })
        });
        let outcomes: Vec<Advice> = outcomes.collect();
        let best = outcomes.iter().map(|advice| advice.ratio_after.ln()).reduce(f64::min);
        let cheapest = |best: f64| {
            let enough = best + NEARLY * (ratio_before.ln() - best);
            let good = outcomes.iter().filter(|advice| advice.ratio_after.ln() <= enough);
            good.min_by(|a, b| a.cost.total_cmp(&b.cost))
        };
        // A model of few points may be surer than it should be: then what is nearer to the target shows it.
        let far = measured.points.iter().map(|point| distance(&point.at, target));
        let far = far.fold(f64::INFINITY, f64::min);
        let is_nearer =
            |advice: &&Advice| distance(&candidates[advice.candidate_idx].at, target) < far;
        let advice = match best.filter(|best| *best < ratio_before.ln()) {
            Some(best) => cheapest(best),
            None => outcomes.first().filter(is_nearer),
        };
        let Some(advice) = advice else { break };
        let at = candidates[advice.candidate_idx].at.clone();
        measured.points.push(MeasuredPoint { at, values: vec![advice.time] });
        left -= advice.cost;
        chosen.push(*advice);
    }
    chosen
}

/// Chooses up to `n` points to begin with: lines along each parameter from the smallest values of the others, the smallest
/// values first.
pub fn begin(points: &[Vec<f64>], n: usize) -> Vec<usize> {
    let n_parameters = points.first().map_or(0, Vec::len);
    let least: Vec<f64> = (0..n_parameters)
        .map(|idx| points.iter().map(|at| at[idx]).fold(f64::INFINITY, f64::min))
        .collect();
    let n_moved = |at: &[f64]| at.iter().zip(&least).filter(|(x, least)| least < x).count();
    let step = |at: &[f64]| {
        let below = |idx: usize| {
            let mut values: Vec<f64> = points.iter().map(|at| at[idx]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.iter().filter(|x| **x < at[idx]).count()
        };
        (0..n_parameters).map(below).sum::<usize>()
    };
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|idx| (1 < n_moved(&points[*idx]), step(&points[*idx])));
    order.truncate(n);
    order
}

fn distance(at: &[f64], target: &[f64]) -> f64 {
    let far = |(x, y): (&f64, &f64)| if 0.0 < *x && 0.0 < *y { (x / y).ln().abs() } else { 1.0 };
    at.iter().zip(target).map(far).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: &[f64], time: impl Fn(f64) -> f64) -> Series {
        let point = |p: &f64| MeasuredPoint { at: vec![*p], values: vec![time(*p)] };
        let points = points.iter().map(point).collect();
        Series { region: "total".into(), metric: "time".into(), points }
    }

    fn candidates(points: &[f64]) -> Vec<Candidate> {
        points.iter().map(|p| Candidate { at: vec![*p], cost_per_time: *p }).collect()
    }

    fn time(p: f64) -> f64 {
        (100.0 / p + 0.3 * p.sqrt()) * (1.0 + 0.03 * (7.0 * p).sin())
    }

    #[test]
    fn what_lies_near_the_target_is_measured_where_it_can_be_paid() {
        let measured = series(&[1.0, 2.0, 4.0, 8.0], time);
        let open = candidates(&[3.0, 6.0, 16.0, 32.0]);
        let names = ["p".to_owned()];
        let all = |budget| {
            let asked = (&open[..], &[128.0][..]);
            advise(&names, &measured, &Settings::default(), asked, (2, budget))
        };
        let rich = all(f64::INFINITY);
        assert_eq!(open[rich[0].candidate_idx].at, [32.0], "{rich:?}");
        assert!(rich.iter().all(|advice| advice.ratio_after < advice.ratio_before), "{rich:?}");
        let poor = all(150.0);
        assert!(poor.iter().map(|advice| advice.cost).sum::<f64>() <= 150.0, "{poor:?}");
        assert!(all(1.0).is_empty());
    }

    /// Of four points a model is sure of itself, and no further one seemed worth measuring.
    #[test]
    fn the_nearest_is_measured_where_none_seems_to_help() {
        let names = ["n".to_owned(), "p".to_owned()];
        let point = |[n, p]: [f64; 2], factor: f64| MeasuredPoint {
            at: vec![n, p],
            values: vec![factor * n.powi(3) / p],
        };
        let points = vec![
            point([12.0, 1.0], 1.0),
            point([12.0, 2.0], 1.01),
            point([16.0, 1.0], 1.0),
            point([16.0, 2.0], 0.99),
        ];
        let measured = Series { region: "a".into(), metric: "time".into(), points };
        let grid = [20.0, 24.0, 32.0].into_iter().flat_map(|n| [[n, 1.0], [n, 2.0]]);
        let open: Vec<Candidate> =
            grid.map(|at| Candidate { at: at.to_vec(), cost_per_time: 1.0 }).collect();
        let asked = (&open[..], &[44.0, 2.0][..]);
        let found = advise(&names, &measured, &Settings::default(), asked, (1, f64::INFINITY));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn it_begins_with_lines_along_each_parameter() {
        let grid: Vec<Vec<f64>> = (0..9)
            .map(|idx| vec![f64::from(1 << (idx / 3)), f64::from(10 * (idx % 3 + 1))])
            .collect();
        let first: Vec<&[f64]> = begin(&grid, 5).into_iter().map(|idx| &grid[idx][..]).collect();
        assert_eq!(first, [[1.0, 10.0], [1.0, 20.0], [2.0, 10.0], [1.0, 30.0], [4.0, 10.0]]);
    }
}
