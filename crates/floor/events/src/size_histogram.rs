//! Histogram of calls by message size, in powers of two.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Number of bins: 0 bytes, then 1, 2-3, 4-7, ... and everything from 2^41 on.
pub const N_BINS: usize = 43;

/// Counts of calls by message size; bin 0 counts empty messages, bin `b` sizes in `[2^(b-1), 2^b)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
#[serde(transparent)]
pub struct SizeHistogram {
    #[serde(with = "sparse")]
    counts: [u32; N_BINS],
}

impl Default for SizeHistogram {
    fn default() -> Self {
        Self { counts: [0; N_BINS] }
    }
}

impl SizeHistogram {
    /// Returns the bin of a message of `bytes`.
    #[inline]
    pub fn bin_of(bytes: u64) -> usize {
        let bits = u64::BITS - bytes.leading_zeros();
        (bits as usize).min(N_BINS - 1)
    }

    /// Returns the smallest size that falls in `bin`.
    pub fn smallest_bytes(bin: usize) -> u64 {
        if bin == 0 { 0 } else { 1 << (bin - 1) }
    }

    /// Builds a histogram from its counts, bin by bin.
    pub fn from_counts(counts: [u32; N_BINS]) -> Self {
        Self { counts }
    }

    /// Counts by bin.
    pub fn counts(&self) -> &[u32; N_BINS] {
        &self.counts
    }

    /// Adds the counts of `other`, saturating.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// Serializes only the non-empty bins: `[[bin, count], ...]`.
mod sparse {
    use super::N_BINS;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        counts: &[u32; N_BINS],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let filled: Vec<(usize, u32)> =
            counts.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect();
        filled.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<[u32; N_BINS], D::Error> {
        let filled = Vec::<(usize, u32)>::deserialize(from)?;
        let mut counts = [0; N_BINS];
        for (bin, count) in filled {
            if let Some(place) = counts.get_mut(bin) {
                *place = count;
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: u64, expected_bin: usize) {
        let bin = SizeHistogram::bin_of(bytes);
        assert_eq!(bin, expected_bin);
        assert!(SizeHistogram::smallest_bytes(bin) <= bytes);
    }

    #[test]
    fn a_size_falls_in_the_bin_of_its_highest_bit() {
        check(0, 0);
        check(1, 1);
        check(2, 2);
        check(3, 2);
        check(4, 3);
        check(1023, 10);
        check(1024, 11);
        check(u64::MAX, N_BINS - 1);
    }
}
