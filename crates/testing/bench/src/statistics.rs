//! Median of values.

/// Median; the mean of the middle two of an even number of values; 0 of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[track_caller]
    fn check(values: &[f64], expected: f64) {
        assert!((median(values.iter().copied()) - expected).abs() < 1e-12);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        check(&[], 0.0);
        check(&[3.0], 3.0);
        check(&[9.0, 1.0, 2.0], 2.0);
        check(&[4.0, 1.0, 2.0, 9.0], 3.0);
    }
}
