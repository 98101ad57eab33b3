//! Parsers for the values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses one of some words: each with its meaning in the help, which may be empty, and its value.
pub fn one_of<T: Copy + Send + Sync>(
    words: &'static [(&str, &str, T)],
) -> impl TypedValueParser<Value = T> {
    let shown = |(word, meaning, _): &(&'static str, &'static str, T)| {
        let value = PossibleValue::new(*word);
        if meaning.is_empty() { value } else { value.help(*meaning) }
    };
    PossibleValuesParser::new(words.iter().map(shown)).try_map(|word: String| {
        let found = words.iter().find(|(known, ..)| *known == word);
        found.map(|(.., value)| *value).ok_or("there is no such value")
    })
}

/// Parses a number within a range.
///
/// # Errors
/// With a sentence that names the range.
pub fn within<N: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<N>,
) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("write a number from {} to {}", range.start(), range.end()))
}

/// Parses a number of seconds within a range.
///
/// # Errors
/// With a sentence that names the range.
pub fn seconds(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    within(text, range).map_err(|why| why.replacen("number", "number of seconds", 1))
}

/// Parses a finite number above 0.
///
/// # Errors
/// With a sentence that says so.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && 0.0 < *number);
    number.ok_or_else(|| "write a number above 0".to_owned())
}

/// Parses a time: `90`, `30s`, `5m`, `1h30m`, `2d`, or `HH:MM:SS`; returns ms.
///
/// # Errors
/// With a sentence that shows how to write one.
pub fn time_ms(text: &str) -> Result<u64, String> {
    let found = if text.contains(':') { clock_s(text) } else { units_s(text) };
    let ms = found.map(|seconds| (seconds * 1e3).round()).filter(|ms| (1.0..=9e15).contains(ms));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let ms = ms.map(|ms| ms as u64);
    ms.ok_or_else(|| "write a time such as 30s, 5m, 1h30m, 2d, or 01:30:00".to_owned())
}

fn clock_s(text: &str) -> Option<f64> {
    let parts = text.split(':').map(|part| part.parse::<u32>().ok().map(f64::from));
    let parts = parts.collect::<Option<Vec<_>>>()?;
    (parts.len() <= 3).then(|| parts.iter().fold(0.0, |sum, part| 60.0 * sum + part))
}

fn units_s(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum_s = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|it: char| it.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let n_letters = after.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(n_letters);
        let scale = match unit {
            "ms" => 1e-3,
            "" | "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum_s += scale * number.parse::<f64>().ok().filter(|it| it.is_finite() && 0.0 <= *it)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum_s)
}

/// Parses an amount of memory: `8G`, `512M`, `1.5GiB`; without a unit, bytes.
///
/// # Errors
/// With a sentence that shows how to write one.
pub fn bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|it: char| it.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let bits = match unit.to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let number = number.trim().parse::<f64>().ok().filter(|it| it.is_finite() && 0.0 < *it);
    let all = number.zip(bits).map(|(number, bits)| (number * 2_f64.powi(bits)).round());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let all = all.filter(|all| (1.0..=9e15).contains(all)).map(|all| all as u64);
    all.ok_or_else(|| "write an amount such as 512M, 8G or 1.5T".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_written_as_on_a_clock() {
        let check =
            |text: &str, expected: Option<u64>| assert_eq!(time_ms(text).ok(), expected, "{text}");
        check("90", Some(90_000));
        check("30s", Some(30_000));
        check("1.5h", Some(5_400_000));
        check("1h30m", Some(5_400_000));
        check("250ms", Some(250));
        check("2d", Some(172_800_000));
        check("01:30:05", Some(5_405_000));
        check("2:00", Some(120_000));
        for wrong in ["", "0", "h", "5 minutes", "-1", "1:2:3:4", "1x"] {
            check(wrong, None);
        }
    }

    #[test]
    fn memory_has_units_of_1024() {
        let check =
            |text: &str, expected: Option<u64>| assert_eq!(bytes(text).ok(), expected, "{text}");
        check("8G", Some(8 << 30));
        check("1.5GiB", Some(3 << 29));
        check("512mb", Some(512 << 20));
        check("100", Some(100));
        for wrong in ["", "0", "G", "8X", "-1G", "inf"] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_range_has_both_its_ends() {
        let count = |text| within(text, 1..=4).map_err(|why| why == "write a number from 1 to 4");
        assert_eq!(
            ["1", "4", "0", "5", ""].map(count),
            [Ok(1), Ok(4), Err(true), Err(true), Err(true)]
        );
        let sentence = "write a number of seconds from 0.001 to 100000";
        for wrong in ["0", "nan", "inf", "-1", "1s"] {
            assert_eq!(seconds(wrong, 1e-3..=1e5), Err(sentence.to_owned()), "{wrong}");
        }
        assert_eq!(
            ["0", "inf", "nan", "2"].map(|text| positive(text).ok()),
            [None, None, None, Some(2.0)]
        );
    }
}
