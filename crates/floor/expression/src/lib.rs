//! Expressions that people write in files: formulas of a plan over real numbers (`p <= n and n % p == 0`), constants of a
//! C header over integers (`2 * (N + 1)`).
//!
//! All values are numbers; true is 1, false is 0. [`Arithmetic`] holds what differs between the two languages.
//!
//! # Invariants
//! - Parsing, evaluation and dropping take bounded stack: nesting is limited, and a parsed expression is a list of steps in
//!   postfix order.
//!
//! # Not here
//! Expressions of a program's source (`program-graph`): tree-sitter parses them, and they keep what the source does not
//! tell; they share [`Operator`]. Terms of models (`fitting`): a term is a product of powers and logarithms, not any
//! expression.

mod arithmetic;
mod operator;
mod parse;

pub use arithmetic::{Arithmetic, UnaryFunction, c_integer};
pub use operator::Operator;

use parse::EvaluationStep;
use std::collections::BTreeMap;
use std::fmt::Display;
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

/// A parsed expression over numbers of type `N`: `f64` for formulas, `i64` for constants of C.
#[derive(Clone, Debug)]
pub struct Expression<N> {
    text: String,
    steps: Vec<EvaluationStep<N>>,
}

impl<N: Arithmetic + Display> Expression<N> {
    /// Parses an expression.
    ///
    /// # Errors
    /// At the first character that does not belong to an expression.
    pub fn read(text: &str) -> Result<Self, ExpressionError> {
        Ok(Self { text: text.to_owned(), steps: parse::parse(text)? })
    }

    /// Returns whether a name is reserved and so cannot be a parameter.
    pub fn is_reserved(name: &str) -> bool {
        let is_sign = N::SIGNS.iter().any(|(sign, ..)| *sign == name);
        is_sign || N::NOT.contains(&name) || N::FUNCTIONS.iter().any(|row| row.0 == name)
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When it uses a name that is not among the parameters, or its value is not a finite number (division by 0 and
    /// the like).
    pub fn value(&self, parameters: &BTreeMap<String, N>) -> Result<N, ExpressionError> {
        // `None` for what has no value.
        let mut stack: Vec<Option<N>> = Vec::new();
        for step in &self.steps {
            let mut pop = || stack.pop().flatten();
            let value = match step {
                EvaluationStep::Number(number) => Some(*number),
                EvaluationStep::Name(name) => {
                    let known = parameters.get(name).copied();
                    Some(known.ok_or_else(|| self.unknown(name, parameters))?)
                }
                EvaluationStep::Minus => pop().and_then(N::minus),
                EvaluationStep::Not => pop().map(N::not),
                EvaluationStep::Apply(function) => pop().map(function),
                EvaluationStep::Join(operator) => {
                    let (right, left) = (pop(), pop());
                    left.zip(right).and_then(|(left, right)| N::join(*operator, left, right))
                }
                EvaluationStep::Power => {
                    let (exponent, base) = (pop(), pop());
                    base.zip(exponent).and_then(|(base, exponent)| N::power(base, exponent))
                }
            };
            stack.push(value);
        }
        let value = stack.pop().flatten().filter(|value| value.is_finite());
        value.ok_or_else(|| {
            let point = parameters.iter().map(|(name, value)| format!("{name} = {value}"));
            let point = point.collect::<Vec<_>>().join(", ");
            ExpressionError::NoValue { text: self.text.clone(), point }
        })
    }

    fn unknown(&self, name: &str, parameters: &BTreeMap<String, N>) -> ExpressionError {
        let known = parameters.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let (text, name, known) = (self.text.clone(), name.to_owned(), known.join(", "));
        ExpressionError::Unknown { text, name, known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_n_12_p_5(text: &str) -> Result<f64, ExpressionError> {
        let parameters = [("n".to_owned(), 12.0), ("p".to_owned(), 5.0)].into();
        Expression::<f64>::read(text)?.value(&parameters)
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

    #[track_caller]
    fn check_c(text: &str, expected: Option<i64>) {
        let constants = [("N".to_owned(), 4)].into();
        let value = Expression::<i64>::read(text).and_then(|it| it.value(&constants)).ok();
        assert_eq!(value, expected, "{text}");
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        check("p + 1", 6.0);
        check("2 + 3 * p - 1", 16.0);
        check("(2 + 3) * p", 25.0);
        check("20 - 5 - 3", 12.0);
        check("-2 ^ 2", -4.0);
        check("2 ^ 3 ^ 2", 512.0);
        check("2 ^ -1 * 8", 4.0);
        check("1e-3 * n", 0.012);
        check("n / p / 2", 1.2);
        check("n % p", 2.0);
        check("-1 % p", 4.0);
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
    fn constants_of_c_are_integers() {
        check_c("12", Some(12));
        check_c("0x10UL", Some(16));
        check_c("010", Some(8));
        check_c("2 * N + 1", Some(9));
        check_c("2 * (N - -1) / 3", Some(3));
        check_c("- - N % 3", Some(1));
        check_c("-1 % N", Some(-1));
        check_c("1 << N | 1", Some(17));
        check_c("!N == 0 && N > 3", Some(1));
        check_c("M", None);
        check_c("N N", None);
        check_c("N / 0", None);
        check_c("9223372036854775807 + 1", None);
        check_c("", None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        check_wrong("q + 1", "`q + 1` uses the unknown parameter `q`; known parameters: `n`, `p`");
        check_wrong("p +", "cannot parse `p +`: expected a number or a parameter at character 4");
        check_wrong("(p", "cannot parse `(p`: expected `)` at character 3");
        check_wrong("p p", "cannot parse `p p`: expected an operator at character 3");
        check_wrong("floor p", "cannot parse `floor p`: expected `(` at character 7");
        check_wrong("1 / (p - 5)", "`1 / (p - 5)` has no value at n = 12, p = 5");
    }

    #[test]
    fn nesting_and_length_take_no_stack() {
        let deep = at_n_12_p_5(&"(".repeat(100_000));
        assert!(matches!(deep, Err(ExpressionError::Malformed { at: 65, .. })), "{deep:?}");
        let deep = at_n_12_p_5(&"-".repeat(100_000));
        assert!(matches!(deep, Err(ExpressionError::Malformed { at: 65, .. })), "{deep:?}");
        check(&format!("1{}", "+ 1".repeat(100_000)), 100_001.0);
    }
}
