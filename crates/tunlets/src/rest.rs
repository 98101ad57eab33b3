//! How long a tunlet changes nothing, after something that it changed did not help.

const N_FIRST: u32 = 8;
const N_MAX: u32 = 1024;

/// Rests twice as long each time, counted in what passes: iterations, or news.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    n_left: u32,
    n_last: u32,
}

impl Rest {
    /// Something did not help.
    pub(crate) fn begin(&mut self) {
        self.n_last = (2 * self.n_last).clamp(N_FIRST, N_MAX);
        self.n_left = self.n_last;
    }

    /// Something helped: the next rest is a short one again.
    pub(crate) fn forget(&mut self) {
        self.n_last = 0;
    }

    /// One more has passed.
    pub(crate) fn pass(&mut self) {
        self.n_left = self.n_left.saturating_sub(1);
    }

    pub(crate) fn is_resting(&self) -> bool {
        0 < self.n_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rest_is_twice_as_long() {
        let mut rest = Rest::default();
        for expected in [8, 16, 32, 64, 128, 256, 512, 1024, 1024] {
            rest.begin();
            let mut n_passed = 0;
            while rest.is_resting() {
                rest.pass();
                n_passed += 1;
            }
            assert_eq!(n_passed, expected);
        }
    }
}
