//! Median of values.

/// Median; 0 of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    ::statistics::median(values).unwrap_or(0.0)
}
