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

#[cfg(test)]
mod tests {
    use super::*;

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
