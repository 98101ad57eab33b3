//! Formats expressions in C syntax.

use super::{Expr, Operator};
use std::fmt::{Display, Formatter, Result};

/// Precedence above that of every operator.
const TIGHT: u8 = 20;

impl Display for Expr {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        write(self, to, 0)
    }
}

fn write(expr: &Expr, to: &mut Formatter<'_>, around: u8) -> Result {
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
    to: &mut Formatter<'_>,
    is_enclosed: bool,
    inner: impl FnOnce(&mut Formatter<'_>) -> Result,
) -> Result {
    to.write_str(if is_enclosed { "(" } else { "" })?;
    inner(to)?;
    to.write_str(if is_enclosed { ")" } else { "" })
}
