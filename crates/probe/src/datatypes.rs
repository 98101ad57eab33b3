//! Sizes of datatypes, kept by each thread so that MPI is asked once.

use crate::handle::Handle;
use crate::library::Facts;
use crate::pmpi;
use mpi_abi::Library;
use std::sync::atomic::{AtomicU32, Ordering};

/// Goes up whenever a datatype is freed and its handle may come to name another.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Says that a datatype is about to be freed.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Ordering::Release);
}

const N_SIZES: usize = 32;

/// A thread's datatypes.
#[derive(Debug)]
pub(crate) struct Sizes {
    generation: u32,
    entries: [(Handle, u64); N_SIZES],
}

impl Default for Sizes {
    fn default() -> Self {
        Self { generation: 0, entries: [(NOTHING, 0); N_SIZES] }
    }
}

/// No library has a datatype with this handle.
const NOTHING: Handle = Handle::NOTHING;

impl Sizes {
    /// Bytes of data in `n` elements.
    #[inline(always)]
    pub(crate) fn bytes_of(&mut self, n: u64, datatype: Handle, facts: &Facts) -> u64 {
        let mixed = datatype.masked(facts.handle_mask).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = mixed >> (usize::BITS - N_SIZES.trailing_zeros());
        let generation = GENERATION.load(Ordering::Acquire);
        let entry = self.entries[place % N_SIZES];
        if entry.0 == datatype && self.generation == generation {
            return n.wrapping_mul(entry.1);
        }
        // Where nothing is moved, libraries take any datatype, but would not tell the size of any.
        if n == 0 { 0 } else { n.wrapping_mul(self.ask(datatype, place, generation, facts)) }
    }

    #[cold]
    #[inline(never)]
    fn ask(&mut self, datatype: Handle, place: usize, generation: u32, facts: &Facts) -> u64 {
        if self.generation != generation {
            self.entries = [(NOTHING, 0); N_SIZES];
            self.generation = generation;
        }
        let handle = facts.c_handle(datatype, pmpi::type_from_fortran);
        let bytes = handle.and_then(pmpi::type_size).unwrap_or(0);
        if handle.is_some_and(|handle| is_kept(handle, facts)) {
            self.entries[place % N_SIZES] = (datatype, bytes);
        }
        bytes
    }
}

/// MPICH makes a datatype for an array section that `mpi_f08` passes, and frees it without a call that we
/// see: there, only datatypes that live for ever (handles of its kind 1) are known again.
fn is_kept(handle: usize, facts: &Facts) -> bool {
    facts.library != Library::Mpich || (handle >> 30) & 3 == 1
}
