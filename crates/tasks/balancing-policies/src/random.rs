//! Random numbers from a seed, the same on every machine.

/// SplitMix64 of Steele, Lea and Flood (2014).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// Sequence for this seed and node: nodes with the same seed draw different numbers.
    pub(crate) fn new(seed: u64, node: u32) -> Self {
        let mut random = Self { state: seed };
        let state = random.bits() ^ u64::from(node).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self { state }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws evenly from 0 to `n` - 1; 0 when `n` is 0 (Lemire 2019, without the last correction).
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.bits()) * n as u128;
        usize::try_from(product >> 64).expect("the upper half is below `n`")
    }
}
