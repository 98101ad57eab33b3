//! Layout of an `MPI_Status`, and the number of received bytes in it.

/// Layout of an `MPI_Status`: offsets of its members in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLayout {
    /// Size of the whole status.
    pub size_bytes: usize,
    /// Offset of `MPI_SOURCE`, an `int`.
    pub source_offset: usize,
    /// Offset of `MPI_TAG`, an `int`.
    pub tag_offset: usize,
    /// Offset of `MPI_ERROR`, an `int`.
    pub error_offset: usize,
    /// Representation of the number of received bytes.
    pub count: ByteCount,
}

/// Representation of the number of received bytes in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCount {
    /// A `size_t`.
    Size {
        /// Offset of the `size_t`.
        offset: usize,
    },
    /// The low 32 bits, and the others above a bit that is set if the transfer was canceled.
    Split {
        /// Offset of the low bits.
        low_offset: usize,
        /// Offset of the others.
        high_and_cancelled_offset: usize,
    },
    /// Not specified: use `MPI_Get_count` with `MPI_BYTE`.
    Opaque,
}

impl StatusLayout {
    /// Returns the number of received bytes in these bytes of a status; `None` when the layout does not
    /// specify their place.
    #[must_use]
    pub fn bytes_received(&self, status: &[u8]) -> Option<u64> {
        match self.count {
            ByteCount::Size { offset } => Some(u64::from_ne_bytes(read(status, offset)?)),
            ByteCount::Split { low_offset, high_and_cancelled_offset } => {
                let low = u32::from_ne_bytes(read(status, low_offset)?);
                let high = u32::from_ne_bytes(read(status, high_and_cancelled_offset)?) >> 1;
                Some(u64::from(high) << 32 | u64::from(low))
            }
            ByteCount::Opaque => None,
        }
    }

    /// Returns the rank of the sender.
    #[must_use]
    pub fn source(&self, status: &[u8]) -> Option<i32> {
        Some(i32::from_ne_bytes(read(status, self.source_offset)?))
    }
}

fn read<const N: usize>(status: &[u8], offset: usize) -> Option<[u8; N]> {
    status.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use crate::Library;

    /// Statuses after receiving 257 bytes from rank 0 with tag 7, as each library wrote them.
    #[track_caller]
    fn check(library: Library, words: &[u32], expected: Option<u64>) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let layout = library.status_layout();
        assert_eq!(bytes.len(), layout.size_bytes);
        assert_eq!(layout.bytes_received(&bytes), expected);
        assert_eq!(layout.source(&bytes), Some(0));
    }

    #[test]
    fn a_status_tells_the_bytes_received() {
        check(Library::OpenMpi, &[0, 7, 9, 0, 257, 0], Some(257));
        check(Library::OpenMpi, &[0, 7, 9, 1, 1, 2], Some(0x2_0000_0001));
        check(Library::Mpich, &[257, 0, 0, 7, 9], Some(257));
        check(Library::Mpich, &[1, 4 | 1, 0, 7, 9], Some(0x2_0000_0001));
        check(Library::StandardAbi, &[0, 7, 9, 257, 0, 0, 0, 0], None);
    }

    #[test]
    fn a_status_that_is_cut_tells_nothing() {
        assert_eq!(Library::OpenMpi.status_layout().bytes_received(&[0; 23]), None);
    }
}
