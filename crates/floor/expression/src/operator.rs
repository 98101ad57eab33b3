//! Binary operators: their signs in C, and their results.

/// Binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is said by its sign in `Operator::SIGNS`")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl Operator {
    /// Every operator with its sign in C and its precedence.
    pub const SIGNS: [(&'static str, Self, u8); 18] = [
        ("+", Self::Add, 9),
        ("-", Self::Subtract, 9),
        ("*", Self::Multiply, 10),
        ("/", Self::Divide, 10),
        ("%", Self::Remainder, 10),
        ("==", Self::Equal, 6),
        ("!=", Self::Unequal, 6),
        ("<", Self::Less, 7),
        ("<=", Self::LessEqual, 7),
        (">", Self::Greater, 7),
        (">=", Self::GreaterEqual, 7),
        ("&&", Self::And, 2),
        ("||", Self::Or, 1),
        ("&", Self::BitAnd, 5),
        ("|", Self::BitOr, 3),
        ("^", Self::BitXor, 4),
        ("<<", Self::ShiftLeft, 8),
        (">>", Self::ShiftRight, 8),
    ];

    /// Returns the operator with this sign.
    #[must_use]
    pub fn of(sign: &str) -> Option<Self> {
        Self::SIGNS.iter().find(|row| row.0 == sign).map(|row| row.1)
    }

    /// Returns the sign and the precedence.
    #[must_use]
    pub fn sign(self) -> (&'static str, u8) {
        // The rows are in the order of the variants, as a test checks.
        let (sign, _, binds) = Self::SIGNS[self as usize];
        (sign, binds)
    }

    /// Returns the result on real numbers, where division is not rounded; `None` for operators on bits.
    #[must_use]
    pub fn real(self, one: f64, other: f64) -> Option<f64> {
        Some(match self {
            Self::Add => one + other,
            Self::Subtract => one - other,
            Self::Multiply => one * other,
            Self::Divide => one / other,
            Self::Remainder => one % other,
            Self::Less => f64::from(one < other),
            Self::LessEqual => f64::from(one <= other),
            Self::Greater => f64::from(one > other),
            Self::GreaterEqual => f64::from(one >= other),
            #[expect(clippy::float_cmp, reason = "numbers are compared as they are written")]
            Self::Equal => f64::from(one == other),
            #[expect(clippy::float_cmp, reason = "numbers are compared as they are written")]
            Self::Unequal => f64::from(one != other),
            Self::And => f64::from(one != 0.0 && other != 0.0),
            Self::Or => f64::from(one != 0.0 || other != 0.0),
            Self::ShiftLeft => one * other.exp2(),
            Self::ShiftRight => (one / other.exp2()).floor(),
            Self::BitAnd | Self::BitOr | Self::BitXor => return None,
        })
    }

    /// Returns the result on integers, as in C; `None` on overflow and division by 0.
    #[must_use]
    pub fn whole(self, one: i64, other: i64) -> Option<i64> {
        let shift = || u32::try_from(other).ok().filter(|bits| *bits < 63);
        match self {
            Self::Add => one.checked_add(other),
            Self::Subtract => one.checked_sub(other),
            Self::Multiply => one.checked_mul(other),
            Self::Divide => one.checked_div(other),
            Self::Remainder => one.checked_rem(other),
            Self::Equal => Some(i64::from(one == other)),
            Self::Unequal => Some(i64::from(one != other)),
            Self::Less => Some(i64::from(one < other)),
            Self::LessEqual => Some(i64::from(one <= other)),
            Self::Greater => Some(i64::from(one > other)),
            Self::GreaterEqual => Some(i64::from(one >= other)),
            Self::And => Some(i64::from(one != 0 && other != 0)),
            Self::Or => Some(i64::from(one != 0 || other != 0)),
            Self::BitAnd => Some(one & other),
            Self::BitOr => Some(one | other),
            Self::BitXor => Some(one ^ other),
            Self::ShiftLeft => one.checked_mul(1_i64.checked_shl(shift()?)?),
            Self::ShiftRight => one.checked_shr(shift()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_its_row() {
        for (row, (sign, operator, _)) in Operator::SIGNS.iter().enumerate() {
            assert_eq!(*operator as usize, row, "`{sign}` stands where its operator is declared");
        }
    }
}
