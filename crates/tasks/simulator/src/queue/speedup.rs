//! Speedup of parallel programs by number of nodes (Downey 1997).

/// Speedup curve of a program: its average parallelism, and the variance of that.
///
/// Downey, *A model for speedup of parallel programs*, UCB/CSD-97-933, 1997.
///
/// ```
/// use simulator::queue::Speedup;
///
/// let even = Speedup { parallelism: 8.0, variance: 0.0 };
/// assert_eq!([1, 4, 8, 16].map(|n| even.on(n)), [1.0, 4.0, 8.0, 8.0]);
/// assert_eq!(Speedup { parallelism: 1.0, variance: 1.0 }.on(64), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// Average parallelism *A*: the largest speedup, at least 1.
    pub parallelism: f64,
    /// Coefficient of variance of the parallelism *sigma*: 0 where it is always the same, and from then on worse.
    pub variance: f64,
}

impl Speedup {
    /// Speedup on `n_nodes` nodes. In the formulas, `a` is the parallelism, `s` its variance, `n` the nodes.
    pub fn on(&self, n_nodes: u32) -> f64 {
        let (a, s, n) =
            (self.parallelism.max(1.0), self.variance.max(0.0), f64::from(n_nodes.max(1)));
        if s <= 1.0 {
            if n <= a {
                a * n / (a + s / 2.0 * (n - 1.0))
            } else if n < 2.0 * a - 1.0 {
                a * n / (s * (a - 0.5) + n * (1.0 - s / 2.0))
            } else {
                a
            }
        } else if n < a + a * s - s {
            n * a * (s + 1.0) / (s * (n + a - 1.0) + a)
        } else {
            a
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_the_curve_meet() {
        for variance in [0.0, 0.5, 1.0, 1.5, 2.0] {
            for parallelism in [1.0, 2.0, 7.0, 64.0] {
                let curve = Speedup { parallelism, variance };
                let on: Vec<f64> = (1..300).map(|n| curve.on(n)).collect();
                assert!((on[0] - 1.0).abs() < 1e-12, "{curve:?}");
                assert!(on.is_sorted() && on.iter().all(|s| *s <= parallelism + 1e-9), "{curve:?}");
                // Without jumps: a node brings at most itself.
                assert!(on.windows(2).all(|two| two[1] - two[0] <= 1.0 + 1e-9), "{curve:?}");
                assert!((on[298] - parallelism).abs() < 1e-9, "{curve:?}");
            }
        }
    }
}
