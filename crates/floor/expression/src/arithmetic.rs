//! The two languages: formulas over real numbers, and integer constants of C.

use crate::operator::Operator;

/// Function of one argument.
pub type UnaryFunction<N> = fn(N) -> N;

/// A kind of numbers, and how expressions over them are written.
pub trait Arithmetic: Copy + 'static {
    /// Binary operators by their signs, each with its precedence.
    const SIGNS: &'static [(&'static str, Operator, u8)];
    /// Signs of the negation.
    const NOT: &'static [&'static str];
    /// Precedence that an operator needs to belong to the operand of a negation.
    const NOT_ABOVE: u8;
    /// Sign of the power, which binds more than a sign before it and is evaluated from the right.
    const POWER: Option<&'static str>;
    /// Functions of one argument.
    const FUNCTIONS: &'static [(&'static str, UnaryFunction<Self>)];

    /// Returns the number at the beginning of a text, and its length in bytes.
    fn literal(text: &str) -> Option<(Self, usize)>;
    /// Returns the result of a binary operator.
    fn join(operator: Operator, left: Self, right: Self) -> Option<Self>;
    /// Returns the number with the other sign.
    fn minus(self) -> Option<Self>;
    /// Returns 1 for 0, and 0 for any other number.
    fn not(self) -> Self;
    /// Returns the power.
    fn power(base: Self, exponent: Self) -> Option<Self>;
    /// Returns whether it is a number that can be a result.
    fn is_finite(self) -> bool;
}

impl Arithmetic for f64 {
    const SIGNS: &'static [(&'static str, Operator, u8)] = &[
        ("||", Operator::Or, 1),
        ("or", Operator::Or, 1),
        ("&&", Operator::And, 2),
        ("and", Operator::And, 2),
        ("<=", Operator::LessEqual, 3),
        (">=", Operator::GreaterEqual, 3),
        ("==", Operator::Equal, 3),
        ("!=", Operator::Unequal, 3),
        ("=", Operator::Equal, 3),
        ("<", Operator::Less, 3),
        (">", Operator::Greater, 3),
        ("+", Operator::Add, 4),
        ("-", Operator::Subtract, 4),
        ("*", Operator::Multiply, 5),
        ("/", Operator::Divide, 5),
        ("%", Operator::Remainder, 5),
    ];
    const NOT: &'static [&'static str] = &["not", "!"];
    // A whole comparison.
    const NOT_ABOVE: u8 = 2;
    const POWER: Option<&'static str> = Some("^");
    const FUNCTIONS: &'static [(&'static str, UnaryFunction<Self>)] =
        &[("floor", Self::floor), ("ceil", Self::ceil), ("sqrt", Self::sqrt), ("log2", Self::log2)];

    fn literal(text: &str) -> Option<(Self, usize)> {
        let n_plain = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let exponent = text[n_plain..].strip_prefix(['e', 'E']).and_then(|after| {
            let digits = after.strip_prefix(['-', '+']).unwrap_or(after);
            let n_digits = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            (0 < n_digits).then(|| 1 + after.len() - digits.len() + n_digits)
        });
        let n_bytes = n_plain + exponent.unwrap_or(0);
        Some((text[..n_bytes].parse().ok()?, n_bytes))
    }

    fn join(operator: Operator, left: Self, right: Self) -> Option<Self> {
        match operator {
            Operator::Remainder => Some(left.rem_euclid(right)),
            operator => operator.real(left, right),
        }
    }

    fn minus(self) -> Option<Self> {
        Some(-self)
    }

    fn not(self) -> Self {
        Self::from(self == 0.0)
    }

    fn power(base: Self, exponent: Self) -> Option<Self> {
        Some(base.powf(exponent))
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Arithmetic for i64 {
    const SIGNS: &'static [(&'static str, Operator, u8)] = &Operator::SIGNS;
    const NOT: &'static [&'static str] = &["!"];
    const NOT_ABOVE: u8 = u8::MAX;
    const POWER: Option<&'static str> = None;
    const FUNCTIONS: &'static [(&'static str, UnaryFunction<Self>)] = &[];

    fn literal(text: &str) -> Option<(Self, usize)> {
        let n_bytes = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        Some((c_integer(&text[..n_bytes])?, n_bytes))
    }

    fn join(operator: Operator, left: Self, right: Self) -> Option<Self> {
        operator.whole(left, right)
    }

    fn minus(self) -> Option<Self> {
        self.checked_neg()
    }

    fn not(self) -> Self {
        Self::from(self == 0)
    }

    fn power(_: Self, _: Self) -> Option<Self> {
        None
    }

    fn is_finite(self) -> bool {
        true
    }
}

/// Parses an integer literal of C.
#[must_use]
pub fn c_integer(word: &str) -> Option<i64> {
    let word = word.replace('\'', "");
    let lower = word.trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z']).to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (lower.get(2..)?, 16),
        [b'0', b'b', ..] => (lower.get(2..)?, 2),
        [b'0', _, ..] => (lower.get(1..)?, 8),
        _ => (lower.as_str(), 10),
    };
    i64::from_str_radix(digits, radix).ok()
}
