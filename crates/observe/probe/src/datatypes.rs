//! Sizes of datatypes, cached by each thread so that MPI is asked only once.

use crate::handle::Handle;
use crate::library::MpiLibrary;
use crate::pmpi;
use mpi_abi::LibraryFamily;
use std::sync::atomic::{AtomicU32, Ordering};

/// Incremented whenever a datatype is freed and its handle may be reused.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Invalidates the caches, since a datatype is about to be freed.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Ordering::Release);
}

const N_SIZES: usize = 32;

/// A thread's cache.
#[derive(Debug)]
pub(crate) struct Sizes {
    generation: u32,
    entries: [(Handle, u64); N_SIZES],
}

impl Default for Sizes {
    fn default() -> Self {
        Self { generation: 0, entries: [(Handle::NOTHING, 0); N_SIZES] }
    }
}

impl Sizes {
    /// Returns the bytes of data in `n` elements.
    #[inline(always)]
    pub(crate) fn bytes_of(&mut self, n: u64, datatype: Handle, library: &MpiLibrary) -> u64 {
        let mixed = datatype.masked(library.handle_mask).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = mixed >> (usize::BITS - N_SIZES.trailing_zeros());
        let generation = GENERATION.load(Ordering::Acquire);
        let entry = self.entries[place % N_SIZES];
        if entry.0 == datatype && self.generation == generation {
            return n.wrapping_mul(entry.1);
        }
        // For 0 elements libraries accept any datatype, even one whose size they would not tell.
        if n == 0 { 0 } else { n.wrapping_mul(self.ask(datatype, place, generation, library)) }
    }

    #[cold]
    #[inline(never)]
    fn ask(
        &mut self,
        datatype: Handle,
        place: usize,
        generation: u32,
        library: &MpiLibrary,
    ) -> u64 {
        if self.generation != generation {
            self.entries = [(Handle::NOTHING, 0); N_SIZES];
            self.generation = generation;
        }
        let handle = library.c_handle(datatype, pmpi::type_from_fortran);
        let bytes = handle.and_then(pmpi::type_size).unwrap_or(0);
        if handle.is_some_and(|handle| is_kept(handle, library)) {
            self.entries[place % N_SIZES] = (datatype, bytes);
        }
        bytes
    }
}

/// Returns whether a size may be cached. MPICH creates a datatype for an array section that `mpi_f08`
/// passes, and frees it without an intercepted call: there, only predefined datatypes (handles of its kind
/// 1) are cached.
fn is_kept(handle: usize, library: &MpiLibrary) -> bool {
    library.family != LibraryFamily::Mpich || (handle >> 30) & 3 == 1
}
