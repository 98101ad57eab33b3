//! Variables of C that this program and tools share.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

/// Type of a variable of C, which is read and written as an atomic.
///
/// # Safety
/// The atomic has the size and alignment of the type, and all its values are values of the type.
#[expect(unsafe_code, reason = "memory of the one type is used as the other")]
pub unsafe trait Shared {
    /// The atomic.
    type Atomic: 'static;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: documented of the atomic.
unsafe impl Shared for i32 {
    type Atomic = AtomicI32;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as many bytes, on this architecture aligned alike, and all bits are a number.
unsafe impl Shared for f64 {
    type Atomic = AtomicU64;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: documented of the atomic.
unsafe impl<const N: usize> Shared for [u8; N] {
    type Atomic = [AtomicU8; N];
}

/// Sets a variable; numbers above the largest `int` are clamped to it.
#[inline]
pub fn set(variable: &AtomicI32, value: u64) {
    variable.store(i32::try_from(value).unwrap_or(i32::MAX), Ordering::Relaxed);
}

/// Returns the value of a variable; 0 for a negative one.
#[inline]
pub fn get(variable: &AtomicI32) -> u32 {
    u32::try_from(variable.load(Ordering::Relaxed)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_the_range_of_their_type() {
        let variable = AtomicI32::new(-1);
        assert_eq!(get(&variable), 0);
        set(&variable, u64::MAX);
        assert_eq!(get(&variable), i32::MAX.unsigned_abs());
    }
}
