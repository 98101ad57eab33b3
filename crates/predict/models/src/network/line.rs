//! Least-squares line through times, with relative errors.

use super::{LinearPiece, Sample};

/// A line and its distance from the samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) piece: LinearPiece,
    /// Sum of the squares of the relative errors.
    pub(super) residual: f64,
    /// Length of the longest message that it was fitted to, in bytes.
    pub(super) last_bytes: u64,
}

/// Relative errors of a sample below this one weigh the same.
const ERROR_MIN: f64 = 0.01;

/// The line `t = a + b n` with the least sum of `w^2 ((a + b n) / t - 1)^2`, with `a` and `b` not negative.
///
/// The weight `w` is 1 for times known to within 1 percent, and falls as the interval gets wider.
/// With `u = w / t` and `v = w n / t` that is `a u + b v = w`; the sums of products are `uu`, `uv`, `vv`, `uw`,
/// `vw`. The margins are 1.96 standard errors.
pub(super) fn through(samples: &[Sample]) -> Line {
    let points: Vec<[f64; 3]> = samples.iter().map(weighted).collect();
    let sum = |i: usize, j: usize| -> f64 { points.iter().map(|point| point[i] * point[j]).sum() };
    let (uu, uv, vv, uw, vw) = (sum(0, 0), sum(0, 1), sum(1, 1), sum(0, 2), sum(1, 2));
    let determinant = uu * vv - uv * uv;
    let (mut a, mut b) = ((uw * vv - vw * uv) / determinant, (vw * uu - uw * uv) / determinant);
    if a < 0.0 {
        (a, b) = (0.0, vw / vv);
    }
    if b < 0.0 || !b.is_finite() {
        (a, b) = (uw / uu, 0.0);
    }
    let residual = points.iter().map(|[u, v, w]| (a * u + b * v - w).powi(2)).sum::<f64>();
    let n_free = samples.len().saturating_sub(2).max(1);
    let variance = residual / f64::from(u32::try_from(n_free).unwrap_or(u32::MAX));
    let margin = |cofactor: f64| {
        let squared = variance * cofactor / determinant;
        if squared.is_finite() { 1.96 * squared.max(0.0).sqrt() } else { 0.0 }
    };
    let piece = LinearPiece {
        from_bytes: 0,
        latency_s: a,
        latency_margin_s: margin(vv),
        s_per_byte: b,
        s_per_byte_margin: margin(uu),
    };
    let last_bytes = samples.last().map_or(0, |sample| sample.n_bytes);
    Line { piece, residual, last_bytes }
}

/// Returns `u`, `v` and `w` of a sample.
fn weighted(sample: &Sample) -> [f64; 3] {
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    let n_bytes = sample.n_bytes as f64;
    let error = (sample.high_s - sample.low_s) / 2.0 / sample.median_s;
    let weight = ERROR_MIN / error.max(ERROR_MIN);
    [weight / sample.median_s, weight * n_bytes / sample.median_s, weight]
}
