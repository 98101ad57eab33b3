//! Parses terms as users write them: `1`, `n^2 * log2(p)`, `n^3 / p`, `floor(log2(p))`.

use super::{Factor, Term};

/// Error in the text of a term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// A part is not based on a known parameter.
    #[error(
        "`{part}` is no part of a term: write `n`, `n^2`, `log2(n)` or `floor(log2(n))` for a parameter `n`"
    )]
    UnknownPart {
        /// The part.
        part: String,
    },
    /// An exponent is not a number, or not an integer where one is required.
    #[error(
        "`{part}` has no usable exponent: a logarithm takes a whole one from 1 to 9, and no division"
    )]
    BadExponent {
        /// The part.
        part: String,
    },
}

impl Term {
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
                    .ok_or_else(|| TermError::BadExponent { part: part.to_owned() })?;
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
    let bad_exponent = || TermError::BadExponent { part: part.to_owned() };
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
    let parameter_idx = found.ok_or_else(|| TermError::UnknownPart { part: part.to_owned() })?;
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
    use crate::vocabulary::{Role, choices};

    fn names() -> Vec<String> {
        vec!["n".to_owned(), "p".to_owned()]
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Term::parse(text, &names()).unwrap().text(&names()), expected);
    }

    #[test]
    fn terms_may_be_written_in_several_ways() {
        check("1", "");
        check(" n ^ 2*p ", "n^2 * p");
        check("n^-1 * p^0.5", "p^0.5 / n");
        check("n * log2(n) / p", "n * log2(n) / p");
        check("floor( log2(p) )^2", "floor(log2(p))^2");
        check("n * n * n", "n^3");
    }

    #[test]
    fn every_term_that_is_tried_is_read_back() {
        for choice in choices(&[Role::Any, Role::Processes]) {
            let text = choice.term.text(&names());
            let read = Term::parse(if text.is_empty() { "1" } else { &text }, &names()).unwrap();
            assert_eq!(read.text(&names()), text);
        }
    }

    #[test]
    fn what_is_no_term_is_told() {
        let unknown = |part: &str| Err(TermError::UnknownPart { part: part.to_owned() });
        let exponent = |part: &str| Err(TermError::BadExponent { part: part.to_owned() });
        assert_eq!(Term::parse("m^2", &names()), unknown("m^2"));
        assert_eq!(Term::parse("", &names()), unknown(""));
        assert_eq!(Term::parse("n *", &names()), unknown(""));
        assert_eq!(Term::parse("n^x", &names()), exponent("n^x"));
        assert_eq!(Term::parse("n / log2(p)", &names()), exponent("log2(p)"));
        assert_eq!(Term::parse("log2(p) * floor(log2(p))", &names()), exponent("floor(log2(p))"));
        assert_eq!(Term::parse("log2(p)^0.5", &names()), exponent("log2(p)^0.5"));
    }
}
