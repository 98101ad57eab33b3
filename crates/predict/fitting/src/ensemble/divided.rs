//! Work divided among processes with a rest that is not: every possible rest, weighed by its likelihood.

use super::observed::Observed;
use crate::solve::dot;
use serde::{Deserialize, Serialize};
use statistics::median;

/// Shares at the largest number of processes of what is not divided.
const SHARES: [f64; 12] = [0.0, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95];
/// How what is not divided grows: serial work, surfaces of two and of three dimensions.
const GROWTHS: [f64; 3] = [0.0, -1.0 / 2.0, -1.0 / 3.0];
/// Cost of a share of 1, in natural logarithms of the likelihood.
const SHARE_COST: f64 = 3.0;
/// Deviation that is assumed beforehand, and how many points that counts as.
const NOISE: f64 = 0.03;
const NOISE_POINTS: f64 = 2.0;

/// `scale * ((1 - share) / p + share * p^power)`, with p relative to the largest number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DividedPart {
    /// Exponent of the processes in what is not divided.
    pub power: f64,
    /// Its share at the largest number of processes.
    pub share: f64,
    /// Logarithm of the scale.
    pub ln_scale: f64,
    /// Weight of this possibility.
    pub weight: f64,
}

impl DividedPart {
    /// Returns the logarithm of the form without its scale, at a distance from the largest number of processes.
    pub(super) fn shape(&self, far: f64) -> f64 {
        let rest = if 0.0 < self.share { self.share * (self.power * far).exp() } else { 0.0 };
        (1.0 - self.share).mul_add((-far).exp(), rest).ln()
    }
}

/// Fits every possible rest and weighs it by its likelihood; points off the line count less.
pub(super) fn divided(observed: &Observed) -> Option<(f64, Vec<DividedPart>)> {
    let top = observed.log_ranges.first()?.high;
    let mut parts = Vec::new();
    for power in GROWTHS {
        for share in SHARES {
            if share == 0.0 && power != 0.0 {
                continue;
            }
            let part = DividedPart { power, share, ln_scale: 0.0, weight: 0.0 };
            let scales = observed.logs.iter().zip(&observed.values);
            let scales: Vec<f64> =
                scales.map(|(at, value)| value - part.shape(at[0] - top)).collect();
            let (ln_scale, squares) = center(&scales);
            let n = scales.len() as f64;
            let squares = NOISE_POINTS.mul_add(NOISE * NOISE, squares);
            let weight = -0.5 * (n + NOISE_POINTS) * squares.ln() - SHARE_COST * share;
            parts.push(DividedPart { ln_scale, weight, ..part });
        }
    }
    let best = parts.iter().map(|part| part.weight).fold(f64::NEG_INFINITY, f64::max);
    parts.iter_mut().for_each(|part| part.weight = (part.weight - best).exp());
    parts.retain(|part| 1e-3 < part.weight);
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    parts.iter_mut().for_each(|part| part.weight /= sum);
    Some((top, parts))
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
