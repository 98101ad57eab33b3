//! Error measure of predictions.

/// Returns the mean of the absolute differences over the means of both, in percent, from 0 to 200.
pub(crate) fn smape(pairs: &[(f64, f64)]) -> f64 {
    let one = |(a, b): &(f64, f64)| 200.0 * (a - b).abs() / (a.abs() + b.abs());
    pairs.iter().map(one).sum::<f64>() / pairs.len() as f64
}
