//! Terms of a formula: products of powers and logarithms of parameters.
//!
//! A [`Factor`] is `x^power * log2(x)^log_power`, or the same with `floor(log2(x))`, the number of
//! steps of a hypercube; a [`Term`] is a product of factors, and the empty one is the constant 1.

use serde::{Deserialize, Serialize};

/// Factor that one parameter contributes to a term.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Index of the parameter in the model's list.
    pub parameter_idx: usize,
    /// Exponent of the parameter; negative where work is divided.
    pub power: f64,
    /// Exponent of its binary logarithm.
    #[serde(default)]
    pub log_power: u8,
    /// True if the logarithm is rounded down to an integer.
    #[serde(default)]
    pub whole_log: bool,
}

impl Factor {
    /// Returns the factor's value where the parameter is `x`.
    pub fn value(&self, x: f64) -> f64 {
        let mut value = power(x, self.power);
        if 0 < self.log_power {
            let log = if self.whole_log { x.log2().floor() } else { x.log2() };
            value *= log.powi(i32::from(self.log_power));
        }
        value
    }

    fn is_one(&self) -> bool {
        self.power == 0.0 && self.log_power == 0
    }

    /// Returns the factor as text, without the sign of its exponent: `p^2`, `log2(p)`.
    fn text(&self, name: &str) -> Vec<String> {
        let mut parts = Vec::new();
        match self.power.abs() {
            0.0 => {}
            1.0 => parts.push(name.to_owned()),
            size => parts.push(format!("{name}^{size}")),
        }
        let log =
            if self.whole_log { format!("floor(log2({name}))") } else { format!("log2({name})") };
        match self.log_power {
            0 => {}
            1 => parts.push(log),
            more => parts.push(format!("{log}^{more}")),
        }
        parts
    }
}

/// Returns `x^exponent`, with fast paths for the usual exponents.
fn power(x: f64, exponent: f64) -> f64 {
    match exponent {
        0.0 => 1.0,
        1.0 => x,
        2.0 => x * x,
        3.0 => x * x * x,
        -1.0 => 1.0 / x,
        0.5 => x.sqrt(),
        -0.5 => 1.0 / x.sqrt(),
        other => x.powf(other),
    }
}

/// A product of factors; without any, the constant 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term {
    /// Factors, at most one for each parameter.
    pub factors: Vec<Factor>,
}

impl Term {
    /// The term 1.
    pub const fn constant() -> Self {
        Self { factors: Vec::new() }
    }

    /// Creates the product of these factors.
    pub fn of(factors: impl IntoIterator<Item = Factor>) -> Self {
        Self { factors: factors.into_iter().filter(|factor| !factor.is_one()).collect() }
    }

    /// Returns the term's value where the parameters are `at`, in the model's order.
    pub fn value(&self, at: &[f64]) -> f64 {
        let value_of = |factor: &Factor| at.get(factor.parameter_idx).map(|x| factor.value(*x));
        self.factors.iter().map(|factor| value_of(factor).unwrap_or(f64::NAN)).product()
    }

    /// Returns the term as text, such as `n^3 / p`; empty for the constant.
    pub fn text(&self, parameters: &[String]) -> String {
        let mut above = Vec::new();
        let mut below = Vec::new();
        for factor in &self.factors {
            let name = parameters.get(factor.parameter_idx).map_or("?", String::as_str);
            let plain = Factor { power: 0.0, ..*factor };
            let only_power = Factor { log_power: 0, ..*factor };
            if factor.power < 0.0 {
                below.extend(only_power.text(name));
                above.extend(plain.text(name));
            } else {
                above.extend(factor.text(name));
            }
        }
        if above.is_empty() && !below.is_empty() {
            above.push("1".to_owned());
        }
        let divided = below.iter().map(|part| format!(" / {part}")).collect::<String>();
        above.join(" * ") + &divided
    }

    /// Parses a term in the form in which [`Term::text`] writes it.
    ///
    /// # Errors
    /// When a part is not a power or logarithm of one of the parameters.
    pub fn parse(text: &str, parameters: &[String]) -> Result<Self, TermError> {
        let mut factors: Vec<Factor> = Vec::new();
        let mut rest = text.trim();
        let mut sign = 1.0;
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            let part = rest[..end].trim();
            if part != "1" {
                multiply(&mut factors, factor(part, sign, parameters)?)
                    .ok_or_else(|| TermError::BadExponent(part.to_owned()))?;
            }
            let Some(operator) = rest[end..].chars().next() else {
                factors.sort_by_key(|factor| factor.parameter_idx);
                return Ok(Self::of(factors));
            };
            sign = if operator == '/' { -1.0 } else { 1.0 };
            rest = &rest[end + 1..];
        }
    }
}

/// A formula: the sum of terms with coefficients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    /// The terms with their coefficients.
    pub terms: Vec<Weighted>,
}

/// A term and its coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Factor by which the term is multiplied.
    pub coefficient: f64,
    /// The term.
    pub term: Term,
}

impl Formula {
    /// Returns the formula's value where the parameters are `at`, in the model's order.
    pub fn value(&self, at: &[f64]) -> f64 {
        self.terms.iter().map(|part| part.coefficient * part.term.value(at)).sum()
    }

    /// Sorts the terms by their contribution over these points, the largest first.
    pub(crate) fn sort_by_size<'a>(&mut self, points: impl Iterator<Item = &'a [f64]> + Clone) {
        let size = |part: &Weighted| -> f64 {
            points.clone().map(|at| (part.coefficient * part.term.value(at)).abs()).sum()
        };
        self.terms.sort_by(|a, b| size(b).total_cmp(&size(a)));
    }

    /// Returns the formula as text: `1.2e-9 * n^3 / p + 3.1e-6 * log2(p)`.
    pub fn text(&self, parameters: &[String]) -> String {
        let mut text = String::new();
        for (idx, part) in self.terms.iter().enumerate() {
            let sign = match (part.coefficient.is_sign_negative(), idx) {
                (true, 0) => "-",
                (true, _) => " - ",
                (false, 0) => "",
                (false, _) => " + ",
            };
            text += sign;
            text += &product(part.coefficient.abs(), &part.term.text(parameters));
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

fn product(coefficient: f64, term: &str) -> String {
    let number = number(coefficient);
    match term.strip_prefix("1 / ") {
        _ if term.is_empty() => number,
        Some(divisor) => format!("{number} / {divisor}"),
        None => format!("{number} * {term}"),
    }
}

/// Formats a number with four significant digits.
fn number(value: f64) -> String {
    let in_middle = (1e-3..1e5).contains(&value);
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if in_middle || rounded == 0.0 { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// Error in the text of a term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// A part is not based on a known parameter.
    #[error(
        "`{0}` is no part of a term: write `n`, `n^2`, `log2(n)` or `floor(log2(n))` for a parameter `n`"
    )]
    UnknownPart(String),
    /// An exponent is not a number, or not an integer where one is required.
    #[error(
        "`{0}` has no usable exponent: a logarithm takes a whole one from 1 to 9, and no division"
    )]
    BadExponent(String),
}

/// Multiplies by a factor; a parameter may occur again, as in `n * log2(n)`, but not with both kinds of
/// logarithm.
fn multiply(factors: &mut Vec<Factor>, new: Factor) -> Option<()> {
    let same = |factor: &&mut Factor| factor.parameter_idx == new.parameter_idx;
    let Some(factor) = factors.iter_mut().find(same) else {
        factors.push(new);
        return Some(());
    };
    if 0 < factor.log_power.min(new.log_power) && factor.whole_log != new.whole_log {
        return None;
    }
    factor.power += new.power;
    factor.log_power = factor.log_power.checked_add(new.log_power)?;
    factor.whole_log |= new.whole_log;
    Some(())
}

fn factor(part: &str, sign: f64, parameters: &[String]) -> Result<Factor, TermError> {
    let bad_exponent = || TermError::BadExponent(part.to_owned());
    let (base, exponent) = part.split_once('^').unwrap_or((part, "1"));
    let exponent: f64 = exponent.trim().parse().map_err(|_| bad_exponent())?;
    let base = base.trim();
    let inner = |text: &str, name: &str| {
        text.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')').map(str::to_owned)
    };
    let floored = inner(base, "floor");
    let logged = inner(floored.as_deref().unwrap_or(base).trim(), "log2");
    let name = logged.as_deref().unwrap_or(base).trim();
    let found = parameters.iter().position(|parameter| parameter == name);
    let parameter_idx = found.ok_or_else(|| TermError::UnknownPart(part.to_owned()))?;
    if logged.is_none() {
        let power = sign * exponent;
        return Ok(Factor { parameter_idx, power, log_power: 0, whole_log: false });
    }
    let whole = (1_u8..=9).find(|whole| (f64::from(*whole) - exponent).abs() < 1e-9);
    let log_power = whole.filter(|_| 0.0 < sign).ok_or_else(bad_exponent)?;
    Ok(Factor { parameter_idx, power: 0.0, log_power, whole_log: floored.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{ParameterRole, choices};

    fn factor(parameter_idx: usize, power: f64, log_power: u8) -> Factor {
        Factor { parameter_idx, power, log_power, whole_log: false }
    }

    #[track_caller]
    fn check(terms: &[(f64, &[Factor])], expected: &str, at: [f64; 2], value: f64) {
        let weighted = |(coefficient, factors): &(f64, &[Factor])| Weighted {
            coefficient: *coefficient,
            term: Term::of(factors.iter().copied()),
        };
        let formula = Formula { terms: terms.iter().map(weighted).collect() };
        assert_eq!(formula.text(&["n".to_owned(), "p".to_owned()]), expected);
        assert!(
            (formula.value(&at) - value).abs() <= 1e-12 * value.abs(),
            "{}",
            formula.value(&at)
        );
    }

    #[test]
    fn a_formula_reads_as_it_computes() {
        check(&[], "0", [1.0, 1.0], 0.0);
        check(&[(2.0, &[])], "2", [5.0, 5.0], 2.0);
        check(
            &[(1.2e-9, &[factor(0, 3.0, 0), factor(1, -1.0, 0)]), (3.1e-6, &[factor(1, 0.0, 1)])],
            "1.2e-9 * n^3 / p + 3.1e-6 * log2(p)",
            [100.0, 4.0],
            1.2e-9 * 1e6 / 4.0 + 3.1e-6 * 2.0,
        );
        check(
            &[(-4.0, &[factor(1, -1.0, 1)]), (-0.5, &[factor(0, -0.5, 0)])],
            "-4 * log2(p) / p - 0.5 / n^0.5",
            [4.0, 8.0],
            -4.0 * 3.0 / 8.0 - 0.25,
        );
        let steps = Factor { whole_log: true, ..factor(1, 0.0, 2) };
        check(&[(1.0, &[steps])], "1 * floor(log2(p))^2", [1.0, 15.0], 9.0);
    }

    #[test]
    fn a_parameter_that_is_not_given_gives_no_number() {
        assert!(Term::of([factor(1, 1.0, 0)]).value(&[1.0]).is_nan());
    }

    fn names() -> Vec<String> {
        vec!["n".to_owned(), "p".to_owned()]
    }

    #[track_caller]
    fn check_parsed(text: &str, expected: &str) {
        assert_eq!(Term::parse(text, &names()).unwrap().text(&names()), expected);
    }

    #[test]
    fn terms_may_be_written_in_several_ways() {
        check_parsed("1", "");
        check_parsed(" n ^ 2*p ", "n^2 * p");
        check_parsed("n^-1 * p^0.5", "p^0.5 / n");
        check_parsed("n * log2(n) / p", "n * log2(n) / p");
        check_parsed("floor( log2(p) )^2", "floor(log2(p))^2");
        check_parsed("n * n * n", "n^3");
    }

    #[test]
    fn every_term_that_is_tried_is_read_back() {
        for choice in choices(&[ParameterRole::Any, ParameterRole::Processes]) {
            let text = choice.term.text(&names());
            let read = Term::parse(if text.is_empty() { "1" } else { &text }, &names()).unwrap();
            assert_eq!(read.text(&names()), text);
        }
    }

    #[test]
    fn what_is_no_term_is_told() {
        let unknown = |part: &str| Err(TermError::UnknownPart(part.to_owned()));
        let exponent = |part: &str| Err(TermError::BadExponent(part.to_owned()));
        assert_eq!(Term::parse("m^2", &names()), unknown("m^2"));
        assert_eq!(Term::parse("", &names()), unknown(""));
        assert_eq!(Term::parse("n *", &names()), unknown(""));
        assert_eq!(Term::parse("n^x", &names()), exponent("n^x"));
        assert_eq!(Term::parse("n / log2(p)", &names()), exponent("log2(p)"));
        assert_eq!(Term::parse("log2(p) * floor(log2(p))", &names()), exponent("floor(log2(p))"));
        assert_eq!(Term::parse("log2(p)^0.5", &names()), exponent("log2(p)^0.5"));
    }
}
