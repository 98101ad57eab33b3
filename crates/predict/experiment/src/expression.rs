//! Expressions over the parameters of an experiment: `p + 1`, `p <= n and n % p == 0`.
//!
//! All values are numbers; true is 1, false is 0.

mod parse;

pub(crate) use parse::is_taken;

use std::collections::BTreeMap;
use thiserror::Error;

/// Error in an expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionError {
    /// The text is not an expression.
    #[error("cannot parse `{text}`: expected {expected} at character {at}")]
    Malformed {
        /// The expression.
        text: String,
        /// Kind of text that is missing.
        expected: &'static str,
        /// Character position of the error, from 1.
        at: usize,
    },
    /// The expression uses a name that is not a parameter.
    #[error("`{text}` uses the unknown parameter `{name}`; known parameters: {known}")]
    Unknown {
        /// The expression.
        text: String,
        /// The unknown name.
        name: String,
        /// The known parameters, in backquotes and separated by commas.
        known: String,
    },
    /// The expression has no finite value.
    #[error("`{text}` has no value at {point}")]
    NoValue {
        /// The expression.
        text: String,
        /// The parameters and their values.
        point: String,
    },
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// Node of the syntax tree.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Parameter(String),
    One(Unary, Box<Node>),
    Two(Binary, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unary {
    Minus,
    Not,
    Floor,
    Ceil,
    Sqrt,
    Log2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binary {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    Power,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// At the first character that does not belong to an expression.
    pub fn read(text: &str) -> Result<Self, ExpressionError> {
        Ok(Self { text: text.to_owned(), root: parse::parse(text)? })
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When it uses a name that is not among the parameters, or its value is not finite (division by 0 and
    /// the like).
    pub fn value(&self, parameters: &BTreeMap<String, f64>) -> Result<f64, ExpressionError> {
        let unknown = |name: &str| ExpressionError::Unknown {
            text: self.text.clone(),
            name: name.to_owned(),
            known: parameters.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        let value = self.root.value(parameters).map_err(|name| unknown(&name))?;
        if value.is_finite() {
            return Ok(value);
        }
        let point = parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        let point = point.collect::<Vec<_>>().join(", ");
        Err(ExpressionError::NoValue { text: self.text.clone(), point })
    }

    /// Returns whether the value is not 0.
    ///
    /// # Errors
    /// As [`Expression::value`].
    pub fn is_true(&self, parameters: &BTreeMap<String, f64>) -> Result<bool, ExpressionError> {
        Ok(is_true(self.value(parameters)?))
    }
}

impl Node {
    /// Returns the value, or the first unknown name.
    fn value(&self, parameters: &BTreeMap<String, f64>) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Parameter(name) => parameters.get(name).copied().ok_or_else(|| name.clone()),
            Self::One(operator, operand) => Ok(operator.apply(operand.value(parameters)?)),
            Self::Two(operator, left, right) => {
                Ok(operator.apply(left.value(parameters)?, right.value(parameters)?))
            }
        }
    }
}

impl Unary {
    fn apply(self, operand: f64) -> f64 {
        match self {
            Self::Minus => -operand,
            Self::Not => truth(!is_true(operand)),
            Self::Floor => operand.floor(),
            Self::Ceil => operand.ceil(),
            Self::Sqrt => operand.sqrt(),
            Self::Log2 => operand.log2(),
        }
    }
}

impl Binary {
    #[expect(clippy::float_cmp, reason = "parameters are compared as they are written")]
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Or => truth(is_true(left) || is_true(right)),
            Self::And => truth(is_true(left) && is_true(right)),
            Self::Less => truth(left < right),
            Self::LessOrEqual => truth(left <= right),
            Self::Greater => truth(left > right),
            Self::GreaterOrEqual => truth(left >= right),
            Self::Equal => truth(left == right),
            Self::NotEqual => truth(left != right),
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over => left / right,
            Self::Modulo => left.rem_euclid(right),
            Self::Power => left.powf(right),
        }
    }
}

fn is_true(value: f64) -> bool {
    value != 0.0
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_n_12_p_5(text: &str) -> Result<f64, ExpressionError> {
        let parameters = [("n".to_owned(), 12.0), ("p".to_owned(), 5.0)].into();
        Expression::read(text)?.value(&parameters)
    }

    #[track_caller]
    fn check(text: &str, expected: f64) {
        assert_eq!(at_n_12_p_5(text), Ok(expected), "{text}");
    }

    #[track_caller]
    fn check_wrong(text: &str, expected: &str) {
        let said = at_n_12_p_5(text).map_err(|error| error.to_string());
        assert_eq!(said, Err(expected.to_owned()));
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        check("p + 1", 6.0);
        check("2 + 3 * p - 1", 16.0);
        check("(2 + 3) * p", 25.0);
        check("20 - 5 - 3", 12.0);
        check("-2 ^ 2", -4.0);
        check("2 ^ 3 ^ 2", 512.0);
        check("1e-3 * n", 0.012);
        check("n / p / 2", 1.2);
        check("n % p", 2.0);
        check("floor(log2(n)) + ceil(0.5) + sqrt(4)", 6.0);
    }

    #[test]
    fn comparisons_are_true_or_false() {
        check("p <= n", 1.0);
        check("p * p <= n", 0.0);
        check("n % p == 2 and p != 4", 1.0);
        check("n < p or n > 3 && p >= 6", 0.0);
        check("not n < p", 1.0);
        check("! (n = 12) || p = 5", 1.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        check_wrong("q + 1", "`q + 1` uses the unknown parameter `q`; known parameters: `n`, `p`");
        check_wrong("p +", "cannot parse `p +`: expected a number or a parameter at character 4");
        check_wrong("(p", "cannot parse `(p`: expected `)` at character 3");
        check_wrong("p p", "cannot parse `p p`: expected an operator at character 3");
        check_wrong("floor p", "cannot parse `floor p`: expected `(` at character 7");
        check_wrong("1 / (p - 5)", "`1 / (p - 5)` has no value at n = 12, p = 5");
        let deep = "(".repeat(10_000);
        assert!(matches!(at_n_12_p_5(&deep), Err(ExpressionError::Malformed { at: 65, .. })));
    }
}
