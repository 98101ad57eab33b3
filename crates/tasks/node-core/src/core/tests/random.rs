//! Random numbers, the same for the same seed.

pub(super) struct Random(random::Random);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(random::Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5555))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    pub(super) fn happens(&mut self, n_of_1000: u64) -> bool {
        self.next() % 1000 < n_of_1000
    }
}
