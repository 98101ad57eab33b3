//! The middle of a few values.
//!
//! # Not here
//! Models fitted to many values, and their intervals (`fitting`); medians with an interval (`models::network`).

/// Returns the median, between the two values in the middle of an even number; `None` without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(values[low], values[high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: Option<f64>) {
        assert_eq!(median(values.iter().copied()), expected);
    }

    #[test]
    fn a_median_stands_in_the_middle() {
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[9.0, 1.0, 2.0], Some(2.0));
        check(&[4.0, 1.0, 9.0, 2.0], Some(3.0));
    }
}
