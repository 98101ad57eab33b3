//! Evaluates expressions with known names.

use super::{Expr, Operator};

impl Expr {
    /// Evaluates the expression, where `of` returns the values of `rank`, `p` and names; `None` when one is
    /// unknown, or the result is not finite.
    ///
    /// Division is real division, as in a formula.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = match self {
            #[expect(clippy::cast_precision_loss, reason = "a number that a person wrote")]
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
        };
        value.is_finite().then_some(value)
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
