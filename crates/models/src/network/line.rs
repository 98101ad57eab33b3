//! A line through times, with relative errors.

use super::{Piece, Sample};

/// A line and how far the samples are from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) piece: Piece,
    /// Sum of the squares of the relative errors.
    pub(super) residual: f64,
    /// The longest message that it was drawn through.
    pub(super) last_bytes: u64,
}

/// The line `t = a + b n` with the least sum of `((a + b n) / t - 1)^2`, with `a` and `b` not negative.
///
/// With `u = 1 / t` and `v = n / t` that is `a u + b v = 1`; the sums of products of `u` and `v` are `uu`,
/// `uv`, `vv`. The margins are 1.96 standard errors.
pub(super) fn through(samples: &[Sample]) -> Line {
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    let points = samples
        .iter()
        .map(|sample| (1.0 / sample.median_s, sample.n_bytes as f64 / sample.median_s));
    let points: Vec<(f64, f64)> = points.collect();
    let sum = |f: fn(f64, f64) -> f64| -> f64 { points.iter().map(|(u, v)| f(*u, *v)).sum() };
    let (uu, uv, vv) = (sum(|u, _| u * u), sum(|u, v| u * v), sum(|_, v| v * v));
    let (u, v) = (sum(|u, _| u), sum(|_, v| v));
    let determinant = uu * vv - uv * uv;
    let (mut a, mut b) = ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant);
    if a < 0.0 {
        (a, b) = (0.0, v / vv);
    }
    if b < 0.0 || !b.is_finite() {
        (a, b) = (u / uu, 0.0);
    }
    let residual = points.iter().map(|(u, v)| (a * u + b * v - 1.0).powi(2)).sum::<f64>();
    let n_free = samples.len().saturating_sub(2).max(1);
    let variance = residual / f64::from(u32::try_from(n_free).unwrap_or(u32::MAX));
    let margin = |cofactor: f64| {
        let squared = variance * cofactor / determinant;
        if squared.is_finite() { 1.96 * squared.max(0.0).sqrt() } else { 0.0 }
    };
    let piece = Piece {
        from_bytes: 0,
        latency_s: a,
        latency_margin_s: margin(vv),
        s_per_byte: b,
        s_per_byte_margin: margin(uu),
    };
    let last_bytes = samples.last().map_or(0, |sample| sample.n_bytes);
    Line { piece, residual, last_bytes }
}
