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
                joined(*operator, one.value(of)?, other.value(of)?)?
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

fn joined(operator: Operator, one: f64, other: f64) -> Option<f64> {
    Some(match operator {
        Operator::Add => one + other,
        Operator::Subtract => one - other,
        Operator::Multiply => one * other,
        Operator::Divide => one / other,
        Operator::Remainder => one % other,
        Operator::Less => f64::from(one < other),
        Operator::LessEqual => f64::from(one <= other),
        Operator::Greater => f64::from(one > other),
        Operator::GreaterEqual => f64::from(one >= other),
        #[expect(clippy::float_cmp, reason = "the program compares whole numbers")]
        Operator::Equal => f64::from(one == other),
        #[expect(clippy::float_cmp, reason = "the program compares whole numbers")]
        Operator::Unequal => f64::from(one != other),
        Operator::And => f64::from(one != 0.0 && other != 0.0),
        Operator::Or => f64::from(one != 0.0 || other != 0.0),
        Operator::ShiftLeft => one * other.exp2(),
        Operator::ShiftRight => (one / other.exp2()).floor(),
        Operator::BitAnd | Operator::BitOr | Operator::BitXor => return None,
    })
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
    let (one, other) = (one?, other?);
    let shift = || u32::try_from(other).ok().filter(|bits| *bits < 63);
    match operator {
        Operator::Add => one.checked_add(other),
        Operator::Subtract => one.checked_sub(other),
        Operator::Multiply => one.checked_mul(other),
        Operator::Divide => one.checked_div(other),
        Operator::Remainder => one.checked_rem(other),
        Operator::Equal => Some(i64::from(one == other)),
        Operator::Unequal => Some(i64::from(one != other)),
        Operator::Less => Some(i64::from(one < other)),
        Operator::LessEqual => Some(i64::from(one <= other)),
        Operator::Greater => Some(i64::from(one > other)),
        Operator::GreaterEqual => Some(i64::from(one >= other)),
        Operator::And => Some(i64::from(one != 0 && other != 0)),
        Operator::Or => Some(i64::from(one != 0 || other != 0)),
        Operator::BitAnd => Some(one & other),
        Operator::BitOr => Some(one | other),
        Operator::BitXor => Some(one ^ other),
        Operator::ShiftLeft => one.checked_mul(1_i64.checked_shl(shift()?)?),
        Operator::ShiftRight => one.checked_shr(shift()?),
    }
}
