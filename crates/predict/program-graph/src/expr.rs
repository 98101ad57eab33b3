//! Expressions for numbers of a program: iterations, ranks, bytes.
//!
//! # Invariants
//! - Built by a reader that bounds the depth, so that recursion over an expression is bounded too.
//!
//! # Not here
//! Parsing C expressions (`source::expression`); results of operators (crate `expression`).

mod sum;
mod text;
mod value;

pub use expression::Operator;

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
}
