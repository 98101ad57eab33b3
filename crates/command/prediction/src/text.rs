//! Numbers, sentences and patterns of names as people read and write them.

use std::fmt::Display;

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

/// Point in words: `n = 1200, p = 16`.
pub(crate) fn in_words<N: Display>(point: impl IntoIterator<Item = (N, f64)>) -> String {
    let parts = point.into_iter().map(|(name, value)| format!("{name} = {value}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Name of a quantity along an axis.
pub(crate) fn axis_name(metric: &str) -> String {
    if is_in_seconds(metric) { "time in s".to_owned() } else { metric.to_owned() }
}

/// Returns whether a name matches a pattern, in which `*` stands for anything.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

/// Returns whether one of the patterns matches, or there is none.
pub(crate) fn is_wanted(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let values = [0.0, 1.234_56, 1234.5, 0.012_345, 1e-9, -3.0, 123_456.0];
        let expected = ["0", "1.235", "1234", "0.01235", "1.000e-9", "-3.000", "123456"];
        assert_eq!(values.map(short), expected);
    }

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_star_stands_for_anything() {
        check("main->a", "main->a", true);
        check("main->a", "main->ab", false);
        check("*", "", true);
        check("main*", "main->a", true);
        check("*a", "main->a", true);
        check("m*>*a", "main->a", true);
        check("m*x*a", "main->a", false);
        check("*aa", "a", false);
        check("a*a", "a", false);
        assert!(is_wanted(&[], "a") && !is_wanted(&["b".into(), "c*".into()], "a"));
    }
}
