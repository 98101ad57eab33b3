//! Precedence-climbing parser, which writes the steps of an expression in postfix order.

use crate::ExpressionError;
use crate::arithmetic::{Arithmetic, UnaryFunction};
use crate::operator::Operator;

/// Limit on nested parentheses and signs, beyond any expression that a person would write.
const DEPTH_MAX: usize = 64;

/// One step of the evaluation: pushes a value, or takes its operands and pushes their result.
#[derive(Clone, Debug)]
pub(crate) enum EvaluationStep<N> {
    Number(N),
    Name(String),
    Minus,
    Not,
    Apply(UnaryFunction<N>),
    Join(Operator),
    Power,
}

/// Parses all of `text`.
pub(crate) fn parse<N: Arithmetic>(text: &str) -> Result<Vec<EvaluationStep<N>>, ExpressionError> {
    let mut parser = Parser { text, at: 0, depth: 0, steps: Vec::new() };
    parser.binary(0)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.missing("an operator")) } else { Ok(parser.steps) }
}

struct Parser<'a, N> {
    text: &'a str,
    at: usize,
    depth: usize,
    steps: Vec<EvaluationStep<N>>,
}

impl<N: Arithmetic> Parser<'_, N> {
    /// Parses operands and operators of higher precedence than `above`.
    fn binary(&mut self, above: u8) -> Result<(), ExpressionError> {
        self.signed()?;
        while let Some((sign, operator, binds)) = self.operator().filter(|row| above < row.2) {
            self.at += sign.len();
            self.binary(binds)?;
            self.steps.push(EvaluationStep::Join(operator));
        }
        Ok(())
    }

    /// Returns the operator that comes next, that of the longest sign.
    fn operator(&mut self) -> Option<(&'static str, Operator, u8)> {
        self.skip_space();
        let next = N::SIGNS.iter().filter(|(sign, ..)| self.is_next(sign));
        next.max_by_key(|(sign, ..)| sign.len()).copied()
    }

    fn signed(&mut self) -> Result<(), ExpressionError> {
        if DEPTH_MAX <= self.depth {
            return Err(self.missing("an end"));
        }
        self.depth += 1;
        if self.takes("-") {
            self.signed()?;
            self.steps.push(EvaluationStep::Minus);
        } else if N::NOT.iter().any(|sign| self.takes(sign)) {
            self.binary(N::NOT_ABOVE)?;
            self.steps.push(EvaluationStep::Not);
        } else {
            self.operand()?;
            if N::POWER.is_some_and(|sign| self.takes(sign)) {
                self.signed()?;
                self.steps.push(EvaluationStep::Power);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ExpressionError> {
        if self.takes("(") {
            return self.closed();
        }
        if let Some((_, function)) = N::FUNCTIONS.iter().find(|(word, _)| self.takes(word)) {
            if !self.takes("(") {
                return Err(self.missing("`(`"));
            }
            self.closed()?;
            self.steps.push(EvaluationStep::Apply(*function));
            return Ok(());
        }
        let rest = &self.text[self.at..];
        let (step, n_bytes) = if rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let n_bytes = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            (EvaluationStep::Name(rest[..n_bytes].to_owned()), n_bytes)
        } else {
            let number = N::literal(rest).ok_or_else(|| self.missing("a number or a parameter"))?;
            (EvaluationStep::Number(number.0), number.1)
        };
        self.at += n_bytes;
        self.steps.push(step);
        Ok(())
    }

    /// Parses the rest of a parenthesized expression.
    fn closed(&mut self) -> Result<(), ExpressionError> {
        self.binary(0)?;
        if self.takes(")") { Ok(()) } else { Err(self.missing("`)`")) }
    }

    /// Returns whether `word` comes next, and skips it if so.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = self.is_next(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn is_next(&self, word: &str) -> bool {
        let Some(after) = self.text[self.at..].strip_prefix(word) else { return false };
        !(word.starts_with(char::is_alphabetic) && after.starts_with(is_of_name))
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn missing(&self, expected: &'static str) -> ExpressionError {
        let before = &self.text[..self.at];
        let n_spaces = self.text[self.at..].chars().take_while(|c| c.is_whitespace()).count();
        let at = before.chars().count() + n_spaces + 1;
        ExpressionError::Malformed { text: self.text.to_owned(), expected, at }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
