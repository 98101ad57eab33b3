//! Expressions for numbers of a program: iterations, ranks, bytes.
//!
//! # Invariants
//! - Built by a reader that bounds the depth, so that recursion over an expression is bounded too.
//!
//! # Not here
//! Parsing C expressions (`source::expression`).

mod sum;
mod text;
mod value;

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

    fn row(self) -> &'static (&'static str, Self, u8) {
        // The rows are in the order of the variants, as a test checks.
        &Self::SIGNS[self as usize]
    }
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
