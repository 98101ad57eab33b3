//! Random numbers from a seed, the same on every machine and in every version.
//!
//! ```
//! use random::Random;
//!
//! assert_eq!(Random::new(1_234_567).bits(), 6_457_827_717_110_365_317);
//! assert!(Random::new(7).below(3) < 3);
//! ```
//!
//! # Not here
//! Keys and other secrets: those come from the system.

use std::f64::consts::TAU;

/// Difference of two states: the golden ratio in 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 of Steele, Lea and Flood (2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Sequence for this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of several sequences for this seed, by its number.
    #[must_use]
    pub const fn stream(seed: u64, number: u32) -> Self {
        let first = mixed(seed.wrapping_add(STEP));
        Self { state: first ^ (number as u64).wrapping_mul(0xd6e8_feb8_6659_fd93) }
    }

    /// Draws 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }

    /// Draws evenly from 0 to `n` - 1; 0 where `n` is 0 (Lemire 2019, without the last correction).
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half of the product is below `n`"
    )]
    pub const fn below(&mut self, n: usize) -> usize {
        ((self.bits() as u128 * n as u128) >> 64) as usize
    }

    /// Draws evenly from 0 to 1; 0 is possible, 1 is not.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws exponentially with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.share()).ln()
    }

    /// Draws normally with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.share()).cos()
    }

    /// Draws from the gamma distribution with this shape and scale 1 (Marsaglia and Tsang 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * (1.0 - self.share()).powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if 0.0 < v && -self.exponential() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

/// Bits in which every bit of the argument has changed about half of all bits: the last step of SplitMix64.
#[must_use]
pub const fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut draw: impl FnMut(&mut Random) -> f64, mean: f64, deviation: f64) {
        let mut random = Random::new(1);
        let drawn: Vec<f64> = (0..100_000).map(|_| draw(&mut random)).collect();
        let n = drawn.len() as f64;
        let found = drawn.iter().sum::<f64>() / n;
        let squares: f64 = drawn.iter().map(|x| (x - found).powi(2)).sum();
        assert!((found - mean).abs() < 0.02 * deviation, "mean {found}");
        assert!(((squares / n).sqrt() / deviation - 1.0).abs() < 0.02, "{}", (squares / n).sqrt());
    }

    #[test]
    fn distributions_have_their_mean_and_deviation() {
        check(Random::share, 0.5, (1.0_f64 / 12.0).sqrt());
        check(Random::exponential, 1.0, 1.0);
        check(Random::normal, 0.0, 1.0);
        check(|random| random.gamma(4.0), 4.0, 2.0);
        check(|random| random.gamma(0.25), 0.25, 0.5);
    }

    #[test]
    fn the_sequence_is_the_published_one() {
        // First values of SplitMix64 for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.bits(), random.bits()], expected);
    }

    #[test]
    fn every_number_below_is_drawn_and_no_other() {
        let mut random = Random::new(1);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[random.below(5)] += 1);
        assert!(seen.iter().all(|n| (150..250).contains(n)), "{seen:?}");
    }
}
