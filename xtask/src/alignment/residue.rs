//! Partly known number: its remainder modulo a power of two.

/// Largest alignment that an operand can require, in bytes.
const MODULUS_MAX: u64 = 64;

/// Number that is `value` modulo `modulus`, a power of two up to 64; modulo 1, nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Residue {
    value: u64,
    modulus: u64,
}

impl Residue {
    pub(super) const UNKNOWN: Self = Self { value: 0, modulus: 1 };

    pub(super) fn of(value: u64, modulus: u64) -> Self {
        let modulus = modulus.clamp(1, MODULUS_MAX);
        Self { value: value % modulus, modulus }
    }

    /// Number that is fully known.
    pub(super) fn exact(value: u64) -> Self {
        Self::of(value, MODULUS_MAX)
    }

    /// What holds for both numbers.
    pub(super) fn join(self, other: Self) -> Self {
        let differs = (self.value ^ other.value) | MODULUS_MAX;
        let equal_below = 1 << differs.trailing_zeros();
        Self::of(self.value, self.modulus.min(other.modulus).min(equal_below))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::of(self.value.wrapping_add(other.value), self.modulus.min(other.modulus))
    }

    pub(super) fn moved(self, by: i64) -> Self {
        self.plus(Self::exact(by.cast_unsigned()))
    }

    /// Product with a power of two.
    pub(super) fn scaled(self, by: u64) -> Self {
        Self::of(self.value.wrapping_mul(by), self.modulus.saturating_mul(by))
    }

    /// Result of `and` with a mask.
    pub(super) fn masked(self, mask: u64) -> Self {
        // Below the lowest bit of the mask, all bits of the result are zero.
        let cleared = 1_u64.checked_shl(mask.trailing_zeros()).unwrap_or(MODULUS_MAX);
        Self::of(self.value & mask, self.modulus.max(cleared))
    }

    /// Remainder modulo `wanted`, as far as it is known not to be zero.
    pub(super) fn off_by(self, wanted: u64) -> u64 {
        self.value % self.modulus.min(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_of_both_is_what_they_share() {
        let check = |a: (u64, u64), b: (u64, u64), expected: (u64, u64)| {
            let joined = Residue::of(a.0, a.1).join(Residue::of(b.0, b.1));
            assert_eq!(joined, Residue::of(expected.0, expected.1), "{a:?} and {b:?}");
        };
        check((8, 16), (8, 16), (8, 16));
        check((8, 16), (0, 16), (0, 8));
        check((8, 16), (40, 64), (8, 16));
        check((8, 16), (3, 16), (0, 1));
        check((5, 64), (37, 64), (5, 32));
        check((0, 1), (8, 16), (0, 1));
    }

    #[test]
    fn numbers_are_reckoned_as_far_as_they_are_known() {
        let rsp = Residue::of(8, 16);
        assert_eq!(rsp.moved(-24), Residue::of(0, 16));
        assert_eq!(rsp.masked(!63), Residue::of(0, 64));
        assert_eq!(rsp.masked(!7), Residue::of(8, 16));
        assert_eq!(rsp.masked(0), Residue::exact(0));
        assert_eq!(Residue::UNKNOWN.scaled(8), Residue::of(0, 8));
        assert_eq!(rsp.plus(Residue::UNKNOWN.scaled(8)), Residue::of(0, 8));
        assert_eq!(Residue::exact(3).scaled(8), Residue::of(24, 64));
    }

    #[test]
    fn only_what_is_known_is_off() {
        assert_eq!(Residue::of(8, 16).off_by(16), 8);
        assert_eq!(Residue::of(8, 16).off_by(64), 8);
        assert_eq!(Residue::of(0, 16).off_by(64), 0);
        assert_eq!(Residue::of(0, 8).off_by(16), 0);
        assert_eq!(Residue::UNKNOWN.off_by(16), 0);
    }
}
