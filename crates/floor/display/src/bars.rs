//! Pictures made of block characters.

use crate::units::whole;

const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the filled part of a bar of `n_columns` for a share in 0..=1, exact to an eighth of a column.
pub fn filled(share: f64, n_columns: usize) -> String {
    let n_eighths = eighths(share, n_columns);
    let mut bar = "█".repeat(n_eighths / 8);
    if !n_eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[n_eighths % 8]);
    }
    bar
}

/// Returns the filled part of a bar, and dots for the rest of its `n_columns`.
pub fn gauge(share: f64, n_columns: usize) -> [String; 2] {
    let bar = filled(share, n_columns);
    let rest = "·".repeat(n_columns - bar.chars().count());
    [bar, rest]
}

/// Splits `n_columns` by shares into whole columns; the rest up to 1 is not drawn.
pub fn split(shares: [f64; 2], n_columns: usize) -> [usize; 2] {
    let rounded = |share: f64| (eighths(share, n_columns) + 4) / 8;
    let n_both = rounded(shares[0] + shares[1]).min(n_columns);
    // Rounding never hides a second part above 1 %.
    let n_least = usize::from(shares[1] > 0.01 && n_both > 0);
    let n_first = rounded(shares[0]).min(n_both - n_least);
    [n_first, n_both - n_first]
}

/// Draws one column for each value, scaled to the largest; a value above zero is never blank.
pub fn sparkline(values: &[f64]) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    values.iter().map(|value| HEIGHTS[height(*value, largest)]).collect()
}

/// Draws one column for each share in 0..=1.
pub fn columns(shares: &[f64]) -> String {
    shares.iter().map(|share| HEIGHTS[height(*share, 1.0)]).collect()
}

/// Averages `values` in at most `n_max` groups of neighbors.
pub fn averaged(values: &[f64], n_max: usize) -> Vec<f64> {
    if values.is_empty() || n_max == 0 {
        return Vec::new();
    }
    let per_group = values.len().div_ceil(n_max);
    values.chunks(per_group).map(|group| group.iter().sum::<f64>() / group.len() as f64).collect()
}

fn height(value: f64, largest: f64) -> usize {
    if value.is_nan() || value <= 0.0 || largest <= 0.0 {
        return 0;
    }
    usize::try_from(whole(value / largest * 8.0)).map_or(8, |h| h.clamp(1, 8))
}

fn eighths(share: f64, n_columns: usize) -> usize {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    usize::try_from(whole(share * n_columns as f64 * 8.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, n_columns: usize, expected: &str) {
        assert_eq!(filled(share, n_columns), expected);
    }

    #[test]
    fn a_bar_is_exact_to_an_eighth() {
        check(0.0, 4, "");
        check(1.0, 4, "████");
        check(0.5, 4, "██");
        check(0.65625, 4, "██▋");
        check(7.0, 2, "██");
        check(f64::NAN, 2, "");
        assert_eq!(gauge(0.65625, 4).concat(), "██▋·");
    }

    #[test]
    fn parts_never_exceed_the_bar() {
        assert_eq!(split([0.5, 0.5], 10), [5, 5]);
        assert_eq!(split([0.99, 0.01], 10), [10, 0]);
        assert_eq!(split([0.95, 0.05], 10), [9, 1]);
        assert_eq!(split([0.2, 0.2], 10), [2, 2]);
        assert_eq!(split([3.0, 3.0], 10), [9, 1]);
        assert_eq!(split([0.0, 0.0], 10), [0, 0]);
    }

    #[test]
    fn something_is_never_drawn_as_nothing() {
        assert_eq!(sparkline(&[0.0, 0.001, 8.0]), " ▁█");
        assert_eq!(sparkline(&[0.0]), " ");
        assert_eq!(columns(&[0.5, 1.0]), "▄█");
    }

    #[test]
    fn neighbors_are_averaged() {
        assert_eq!(averaged(&[1.0, 3.0, 5.0], 2), [2.0, 5.0]);
        assert_eq!(averaged(&[1.0, 3.0], 5), [1.0, 3.0]);
    }
}
