//! Expressions for numbers of a program: iterations, ranks, bytes.
//!
//! # Invariants
//! - Built by a reader that bounds the depth, so that recursion over an expression is bounded too.

mod sum;

pub use expression::Operator;

use std::collections::BTreeSet;
use std::fmt;

/// Precedence above that of every operator.
const TIGHT: u8 = 20;

/// An expression over the rank, the number of ranks, and names of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Expr {
    /// A whole number.
    Number(i64),
    /// The rank of the process, written `rank`.
    Rank,
    /// The number of ranks, written `p`.
    Size,
    /// Name whose value stays the same while the program runs: a constant, a parameter of the problem.
    Name(String),
    /// Piece of the program's text whose value changes, such as a loop variable.
    Varying(String),
    /// Value that the source does not give, with a name that identifies its place: `i@master.c:77`.
    Unknown(String),
    /// Binary operation.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// Logical negation.
    Not(Box<Expr>),
    /// Function call: `log2(p)`, `sizeof(struct point)`.
    Call(String, Vec<Expr>),
    /// Conditional expression: `condition ? one : other`.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Combines two expressions, simplified where that is easy.
    #[must_use]
    pub fn join(self, operator: Operator, other: Self) -> Self {
        sum::simplified(Self::Binary(operator, Box::new(self), Box::new(other)))
    }

    /// Returns `self + other`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.join(Operator::Add, other)
    }

    /// Returns `self - other`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.join(Operator::Subtract, other)
    }

    /// Returns `self * other`.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        self.join(Operator::Multiply, other)
    }

    /// Returns `self / other`.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        self.join(Operator::Divide, other)
    }

    /// Returns every subexpression, the expression itself first.
    pub fn parts(&self) -> Vec<&Self> {
        let mut parts = vec![self];
        let mut at = 0;
        while let Some(part) = parts.get(at).copied() {
            match part {
                Self::Binary(_, one, other) => parts.extend([one.as_ref(), other.as_ref()]),
                Self::Not(inner) => parts.push(inner),
                Self::Call(_, arguments) => parts.extend(arguments),
                Self::Choice(condition, one, other) => {
                    parts.extend([condition.as_ref(), one.as_ref(), other.as_ref()]);
                }
                _ => {}
            }
            at += 1;
        }
        parts
    }

    /// Returns whether the expression contains the rank.
    #[must_use]
    pub fn has_rank(&self) -> bool {
        self.parts().contains(&&Self::Rank)
    }

    /// Evaluates the expression, where `of` returns the values of `rank`, `p` and names; `None` when one is
    /// unknown, or the result is not finite.
    ///
    /// Division is real division, as in a formula. Where a part is unknown, `of` is asked for the text of the whole.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let is_whole = matches!(self, Self::Binary(..) | Self::Not(_) | Self::Choice(..));
        let value = self.value_of_parts(of);
        let value = value.or_else(|| is_whole.then(|| of(&self.to_string())).flatten());
        value.filter(|value| value.is_finite())
    }

    /// Returns the names that keep the expression from having a value, as `of` is asked for them.
    pub fn unknown(&self, of: &dyn Fn(&str) -> Option<f64>) -> BTreeSet<String> {
        if self.value(of).is_some() {
            return BTreeSet::new();
        }
        let parts: Vec<&Self> = match self {
            Self::Not(inner) => vec![inner],
            Self::Binary(_, one, other) => vec![one, other],
            Self::Call(name, arguments) if is_known_function(name) => arguments.iter().collect(),
            Self::Choice(condition, one, other) => match condition.value(of) {
                None => vec![condition],
                Some(value) => vec![if value == 0.0 { other } else { one }],
            },
            _ => Vec::new(),
        };
        let inner: BTreeSet<String> = parts.iter().flat_map(|part| part.unknown(of)).collect();
        if inner.is_empty() { BTreeSet::from([self.to_string()]) } else { inner }
    }

    fn value_of_parts(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Self::Number(number) => *number as f64,
            Self::Rank => of("rank")?,
            Self::Size => of("p")?,
            Self::Name(name) | Self::Varying(name) | Self::Unknown(name) => of(name)?,
            Self::Not(inner) => f64::from(inner.value(of)? == 0.0),
            Self::Call(name, arguments) => call(self, name, arguments, of)?,
            Self::Choice(condition, one, other) => {
                if condition.value(of)? == 0.0 {
                    other.value(of)?
                } else {
                    one.value(of)?
                }
            }
            Self::Binary(operator, one, other) => {
                operator.real(one.value(of)?, other.value(of)?)?
            }
        })
    }

    /// Evaluates the expression with C integer arithmetic, where `of` returns the values of names, `rank` and `p`;
    /// `None` when it depends on an unknown value.
    pub fn whole(&self, of: &dyn Fn(&Expr) -> Option<i64>) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Not(inner) => Some(i64::from(inner.whole(of)? == 0)),
            Self::Choice(condition, one, other) => {
                if condition.whole(of)? == 0 {
                    other.whole(of)
                } else {
                    one.whole(of)
                }
            }
            Self::Binary(operator, one, other) => whole(*operator, one.whole(of), other.whole(of)),
            leaf => of(leaf),
        }
    }
}

/// Returns whether a function has a value once its arguments have one.
fn is_known_function(name: &str) -> bool {
    matches!(name, "log2" | "min" | "max")
}

fn call(
    expr: &Expr,
    name: &str,
    arguments: &[Expr],
    of: &dyn Fn(&str) -> Option<f64>,
) -> Option<f64> {
    let value = |at: usize| arguments.get(at)?.value(of);
    match name {
        "log2" => Some(value(0)?.log2()),
        "min" => Some(value(0)?.min(value(1)?)),
        "max" => Some(value(0)?.max(value(1)?)),
        _ => of(&expr.to_string()),
    }
}

fn whole(operator: Operator, one: Option<i64>, other: Option<i64>) -> Option<i64> {
    // One operand is enough for these.
    match (operator, one, other) {
        (Operator::And, Some(0), _) | (Operator::And, _, Some(0)) => return Some(0),
        (Operator::Or, Some(known), _) | (Operator::Or, _, Some(known)) if known != 0 => {
            return Some(1);
        }
        _ => {}
    }
    operator.whole(one?, other?)
}

impl fmt::Display for Expr {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, to, 0)
    }
}

fn write(expr: &Expr, to: &mut fmt::Formatter<'_>, around: u8) -> fmt::Result {
    match expr {
        Expr::Number(number) if *number < 0 && 0 < around => write!(to, "({number})"),
        Expr::Number(number) => write!(to, "{number}"),
        Expr::Rank => to.write_str("rank"),
        Expr::Size => to.write_str("p"),
        Expr::Name(text) | Expr::Unknown(text) => to.write_str(text),
        Expr::Varying(text) => {
            let is_word = text.chars().all(|c| c.is_alphanumeric() || "_.->[]".contains(c));
            if is_word || around == 0 { to.write_str(text) } else { write!(to, "({text})") }
        }
        Expr::Not(inner) => {
            to.write_str("!")?;
            write(inner, to, TIGHT)
        }
        Expr::Call(name, arguments) => {
            write!(to, "{name}(")?;
            for (at, argument) in arguments.iter().enumerate() {
                to.write_str(if at == 0 { "" } else { ", " })?;
                write(argument, to, 0)?;
            }
            to.write_str(")")
        }
        Expr::Choice(condition, one, other) => enclosed(to, 0 < around, |to| {
            write(condition, to, 1)?;
            to.write_str(" ? ")?;
            write(one, to, 1)?;
            to.write_str(" : ")?;
            write(other, to, 1)
        }),
        Expr::Binary(operator, one, other) => {
            let (sign, binds) = operator.sign();
            enclosed(to, binds < around, |to| {
                write(one, to, binds)?;
                write!(to, " {sign} ")?;
                // The right operand of a non-associative operator keeps its parentheses.
                let is_loose = matches!(operator, Operator::Add | Operator::And | Operator::Or);
                write(other, to, binds + u8::from(!is_loose))
            })
        }
    }
}

fn enclosed(
    to: &mut fmt::Formatter<'_>,
    is_enclosed: bool,
    inner: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    to.write_str(if is_enclosed { "(" } else { "" })?;
    inner(to)?;
    to.write_str(if is_enclosed { ")" } else { "" })
}
