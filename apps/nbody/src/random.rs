//! Portable random numbers: SplitMix64 (Steele, Lea and Flood 2014).

use crate::body::Vector;
use std::f64::consts::TAU;

/// Stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform between two numbers.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Random unit vector in the plane or in space.
    pub(crate) fn direction(&mut self, dimensions: u8) -> Vector {
        let z = if dimensions == 3 { self.between(-1.0, 1.0) } else { 0.0 };
        let (sine, cosine) = self.between(0.0, TAU).sin_cos();
        let across = (1.0 - z * z).sqrt();
        [across * cosine, across * sine, z]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.next(), random.next()], expected);
    }

    #[test]
    fn directions_have_length_one() {
        let mut random = Random::new(1);
        for dimensions in [2, 3] {
            let direction = random.direction(dimensions);
            assert!((crate::body::norm(direction) - 1.0).abs() < 1e-15);
            assert_eq!(direction[2] == 0.0, dimensions == 2);
        }
    }
}
