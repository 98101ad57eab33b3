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

/// Parses a finite number above 0.
///
/// # Errors
/// With a sentence that says so.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && 0.0 < *number);
    number.ok_or_else(|| "write a number above 0".to_owned())
}
