//! Work and what does not shrink or grow with it: every possible share of it, weighed by its likelihood.
//!
//! Over processes, work is divided among them, with a rest that is not (Amdahl 1967; surfaces shrink more slowly than
//! volumes). Over a size, work grows by a power beside an overhead that was there before; the size at which both take
//! equally long is Hockney's half-performance length.

use super::observed::Observed;
use crate::{solve::dot, vocabulary::ParameterRole};
use serde::{Deserialize, Serialize};
use statistics::median;

/// Shares at the largest number of processes of what is not divided.
const SHARES: [f64; 12] = [0.0, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95];
/// How what is not divided grows: serial work, surfaces of two and of three dimensions.
const GROWTHS: [f64; 3] = [0.0, -1.0 / 2.0, -1.0 / 3.0];
/// Cost of a share of 1, in natural logarithms of the likelihood.
const SHARE_COST: f64 = 3.0;
/// Powers by which work grows with a size: loops and their surfaces; a logarithm adds about a tenth.
const POWERS: [f64; 16] =
    [0.5, 2.0 / 3.0, 0.8, 0.9, 1.0, 1.05, 1.1, 1.2, 4.0 / 3.0, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 4.0];
/// Number of sizes at which work and overhead may be equal, and how far beyond the measured sizes, as a share of their
/// range.
const N_HALVES: u8 = 14;
const HALVES_BEYOND: f64 = 0.15;
/// Deviation that is assumed beforehand, and how many points that counts as.
const NOISE: f64 = 0.03;
const NOISE_POINTS: f64 = 2.0;
/// Number of possibilities that are weighed with points off the line counting less.
const N_WEIGHED: usize = 40;

/// `scale * ((1 - share) * x^work + share * x^power)`, with x relative to the largest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DividedPart {
    /// Exponent of the work.
    #[serde(default = "divided_work")]
    pub work: f64,
    /// Exponent of the rest.
    pub power: f64,
    /// Share of the rest at the largest value.
    pub share: f64,
    /// Logarithm of the scale.
    pub ln_scale: f64,
    /// Weight of this possibility.
    pub weight: f64,
}

/// Exponent of the work in files that were written before it could be another one.
const fn divided_work() -> f64 {
    -1.0
}

impl DividedPart {
    const fn new(work: f64, power: f64, share: f64) -> Self {
        Self { work, power, share, ln_scale: 0.0, weight: 0.0 }
    }

    /// Returns the logarithm of the form without its scale, at a distance from the largest value.
    pub(super) fn shape(&self, far: f64) -> f64 {
        let rest = if 0.0 < self.share { self.share * (self.power * far).exp() } else { 0.0 };
        (1.0 - self.share).mul_add((self.work * far).exp(), rest).ln()
    }

    /// Returns the scale at each point, as logarithms.
    fn scales(&self, observed: &Observed, top: f64) -> Vec<f64> {
        let points = observed.logs.iter().zip(&observed.values);
        points.map(|(at, value)| value - self.shape(at[0] - top)).collect()
    }

    /// Returns what this possibility costs beforehand, in natural logarithms of the likelihood.
    fn cost(&self) -> f64 {
        if self.work < 0.0 { SHARE_COST * self.share } else { 0.0 }
    }
}

/// Fits every possible rest and weighs it by its likelihood; points off the line count less.
pub(super) fn divided(observed: &Observed, role: ParameterRole) -> Option<(f64, Vec<DividedPart>)> {
    let range = observed.log_ranges.first()?;
    let possible = match role {
        ParameterRole::Processes => over_processes(),
        ParameterRole::Size | ParameterRole::Any => over_sizes(range.high - range.low),
    };
    let mut parts = likeliest(possible, observed, range.high);
    for part in &mut parts {
        let scales = part.scales(observed, range.high);
        let (ln_scale, squares) = center(&scales);
        let n = scales.len() as f64;
        let squares = NOISE_POINTS.mul_add(NOISE * NOISE, squares);
        part.ln_scale = ln_scale;
        part.weight = -0.5 * (n + NOISE_POINTS) * squares.ln() - part.cost();
    }
    let best = parts.iter().map(|part| part.weight).fold(f64::NEG_INFINITY, f64::max);
    parts.iter_mut().for_each(|part| part.weight = (part.weight - best).exp());
    parts.retain(|part| 1e-3 < part.weight);
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    parts.iter_mut().for_each(|part| part.weight /= sum);
    Some((range.high, parts))
}

fn over_processes() -> Vec<DividedPart> {
    let of_power = |power: f64| {
        let is_new = move |share: &f64| *share != 0.0 || power == 0.0;
        SHARES.into_iter().filter(is_new).map(move |share| DividedPart::new(-1.0, power, share))
    };
    GROWTHS.into_iter().flat_map(of_power).collect()
}

/// Returns all possibilities over sizes whose logarithms have this range.
fn over_sizes(range: f64) -> Vec<DividedPart> {
    let of_power = |work: f64| {
        let halves = (0..N_HALVES).map(move |step| {
            let place = f64::from(step) / f64::from(N_HALVES - 1);
            let far = range * (1.0 + HALVES_BEYOND - place * (1.0 + 2.0 * HALVES_BEYOND));
            DividedPart::new(work, 0.0, 1.0 / (1.0 + (work * far).exp()))
        });
        halves.chain([DividedPart::new(work, 0.0, 0.0)])
    };
    POWERS.into_iter().flat_map(of_power).collect()
}

/// Returns those whose scales lie nearest to their median, where there are many.
fn likeliest(mut possible: Vec<DividedPart>, observed: &Observed, top: f64) -> Vec<DividedPart> {
    if N_WEIGHED < possible.len() {
        for part in &mut possible {
            let scales = part.scales(observed, top);
            let center = median(scales.iter().copied()).unwrap_or(0.0);
            part.weight = scales.iter().map(|x| (x - center).abs()).sum();
        }
        possible.select_nth_unstable_by(N_WEIGHED, |a, b| a.weight.total_cmp(&b.weight));
        possible.truncate(N_WEIGHED);
    }
    possible
}

/// Returns the center of numbers of which some may be far off, and the sum of squares around it.
fn center(numbers: &[f64]) -> (f64, f64) {
    const N_ROUNDS: usize = 3;
    let mut weights = vec![1.0; numbers.len()];
    let (mut center, mut scale) = (0.0, NOISE);
    for _ in 0..=N_ROUNDS {
        center = dot(&weights, numbers) / weights.iter().sum::<f64>();
        let off = median(numbers.iter().map(|x| (x - center).abs())).unwrap_or(0.0);
        scale = NOISE.max(1.5 * off);
        weights =
            numbers.iter().map(|x| 1.0 / (1.0 + ((x - center) / (2.0 * scale)).powi(2))).collect();
    }
    let squares = numbers.iter().map(|x| (x - center).abs().min(3.0 * scale).powi(2)).sum();
    (center, squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_outgrows_an_overhead() {
        // While these points were measured, the overhead was most of the time.
        let time = |n: f64| 2.0 + 1e-6 * n.powf(1.1);
        let points: Vec<Vec<f64>> = (0..6).map(|k| vec![1e4 * 4_f64.powi(k)]).collect();
        let values: Vec<f64> = points.iter().map(|at| time(at[0])).collect();
        let observed = Observed::of(&points, &values);
        let (top, parts) = divided(&observed, ParameterRole::Size).unwrap();
        let far = (16.0 * points[5][0]).ln() - top;
        let said: f64 =
            parts.iter().map(|part| part.weight * (part.ln_scale + part.shape(far))).sum();
        let expected = time(16.0 * points[5][0]).ln();
        // The slope of the last two points says 0.2 less.
        assert!((said - expected).abs() < 0.18, "{said} {expected}");
    }
}
