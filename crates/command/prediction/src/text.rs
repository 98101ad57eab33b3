//! Numbers and sentences as people read them.

/// Returns whether a metric is a time in seconds, judging by its name.
pub(crate) fn is_in_seconds(metric: &str) -> bool {
    let metric = metric.to_lowercase();
    ["time", "seconds"].contains(&metric.as_str())
        || metric.ends_with("_s")
        || metric.ends_with("(s)")
}

/// Number with four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let n_before = value.abs().log10().floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 8")]
    let n_digits = (3.0 - n_before).clamp(0.0, 8.0) as usize;
    format!("{value:.n_digits$}")
}

/// Wraps a text at blanks, so that lines are no longer than this.
pub(crate) fn wrapped(text: &str, n_columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            word.clone_into(line);
        } else if line.chars().count() + 1 + word.chars().count() <= n_columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{short, wrapped};

    #[test]
    fn numbers_have_four_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (1.234_56, "1.235"),
            (1234.5, "1234"),
            (0.012_345, "0.01235"),
            (1e-9, "1.000e-9"),
            (-3.0, "-3.000"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("aaaaaa b", 4), ["aaaaaa", "b"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
