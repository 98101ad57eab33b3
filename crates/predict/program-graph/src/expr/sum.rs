//! Simplifies sums of products, so that `n - 1 - 0 + 1` becomes `n`; everything else stays as in the program.

use super::{Expr, Operator};
use std::collections::BTreeMap;

/// Largest number of terms in a sum; longer sums are left as written.
const N_TERMS_MAX: usize = 24;

/// Factors in order, each with its power.
type Product = BTreeMap<Expr, u32>;

/// Products with their coefficients, in the order in which they were written.
struct Sum(Vec<(Product, i64)>);

/// Simplifies an expression by the rules of sums and products.
pub(super) fn simplified(expr: Expr) -> Expr {
    match &expr {
        Expr::Binary(Operator::Divide, _, other) if **other == Expr::Number(1) => {
            let Expr::Binary(_, one, _) = expr else { return expr };
            *one
        }
        Expr::Binary(operator, one, other) => {
            if let (Expr::Number(_), Expr::Number(_)) = (one.as_ref(), other.as_ref()) {
                return expr.whole(&|_| None).map_or(expr, Expr::Number);
            }
            let is_sum =
                matches!(operator, Operator::Add | Operator::Subtract | Operator::Multiply);
            let sum = if is_sum { Sum::of(&expr) } else { None };
            sum.map_or(expr, Sum::into_expr)
        }
        _ => expr,
    }
}

impl Sum {
    fn of(expr: &Expr) -> Option<Self> {
        let sum = match expr {
            Expr::Number(number) => Self(vec![(Product::new(), *number)]),
            Expr::Binary(Operator::Add, one, other) => Self::of(one)?.add(Self::of(other)?, 1)?,
            Expr::Binary(Operator::Subtract, one, other) => {
                Self::of(one)?.add(Self::of(other)?, -1)?
            }
            Expr::Binary(Operator::Multiply, one, other) => {
                let product = Self::of(one)?.multiply(&Self::of(other)?);
                product.unwrap_or_else(|| Self::atom(expr))
            }
            atom => Self::atom(atom),
        };
        (sum.0.len() <= N_TERMS_MAX).then_some(sum)
    }

    fn atom(expr: &Expr) -> Self {
        Self(vec![(Product::from([(expr.clone(), 1)]), 1)])
    }

    fn add(mut self, other: Self, sign: i64) -> Option<Self> {
        for (product, times) in other.0 {
            self.put(product, times.checked_mul(sign)?)?;
        }
        Some(self)
    }

    fn put(&mut self, product: Product, times: i64) -> Option<()> {
        match self.0.iter_mut().find(|(known, _)| *known == product) {
            Some((_, known)) => *known = known.checked_add(times)?,
            None => self.0.push((product, times)),
        }
        Some(())
    }

    /// Multiplies single products only: sums stay in parentheses, as programmers write them.
    fn multiply(&self, other: &Self) -> Option<Self> {
        let ([(one, times)], [(two, times_two)]) = (self.0.as_slice(), other.0.as_slice()) else {
            return None;
        };
        let mut product = one.clone();
        for (factor, power) in two {
            *product.entry(factor.clone()).or_default() += power;
        }
        Some(Self(vec![(product, times.checked_mul(*times_two)?)]))
    }

    fn into_expr(mut self) -> Expr {
        self.0.retain(|(_, times)| *times != 0);
        // Positive terms first, plain numbers after names: `n - 1`, not `-1 + n`.
        self.0.sort_by_key(|(product, times)| (*times < 0, product.is_empty()));
        let terms = self.0.into_iter();
        let sum = terms.fold(None, |sum: Option<Expr>, (product, times)| {
            let term = product_of(product, times.checked_abs().unwrap_or(i64::MAX));
            Some(match (sum, term, times < 0) {
                (None, term, false) => term,
                (None, Expr::Number(number), true) => Expr::Number(-number),
                (None, term, true) => binary(Operator::Subtract, Expr::Number(0), term),
                (Some(sum), term, false) => binary(Operator::Add, sum, term),
                (Some(sum), term, true) => binary(Operator::Subtract, sum, term),
            })
        });
        sum.unwrap_or(Expr::Number(0))
    }
}

fn product_of(product: Product, times: i64) -> Expr {
    let factors =
        product.into_iter().flat_map(|(factor, power)| std::iter::repeat_n(factor, power as usize));
    let number = (times != 1).then_some(Expr::Number(times));
    let made = number.into_iter().chain(factors);
    let made = made.reduce(|one, other| binary(Operator::Multiply, one, other));
    made.unwrap_or(Expr::Number(times))
}

fn binary(operator: Operator, one: Expr, other: Expr) -> Expr {
    Expr::Binary(operator, Box::new(one), Box::new(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Expr {
        Expr::Name("n".into())
    }

    #[track_caller]
    fn check(expr: Expr, expected: &str) {
        assert_eq!(expr.to_string(), expected);
    }

    #[test]
    fn sums_are_short() {
        let number = Expr::Number;
        check(n().minus(number(1)).plus(number(1)), "n");
        check(n().minus(number(1)), "n - 1");
        check(number(0).minus(number(3)), "-3");
        check(number(-1).plus(n()), "n - 1");
        check(n().minus(number(1)).over(number(2)), "(n - 1) / 2");
        check(n().over(number(1)), "n");
        check(n().times(number(8)), "8 * n");
        check(n().times(n().plus(number(2))), "n * (n + 2)");
        check(n().times(n().plus(number(2))).minus(n()).plus(n()), "n * (n + 2)");
        check(Expr::Size.minus(number(1)).times(number(4)), "(p - 1) * 4");
        check(n().minus(n()), "0");
        check(number(2).minus(n().minus(number(1))), "3 - n");
        check(number(0).minus(n()), "0 - n");
    }
}
