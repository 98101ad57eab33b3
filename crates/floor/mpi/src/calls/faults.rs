//! Ranks that a library has lost and goes on without: Open MPI 5 under `mpirun --with-ft ulfm`.

use super::{CommHandle, Mpi};
use crate::functions::{FaultFunctions, Handle};
use std::ffi::c_int;

impl CommHandle {
    /// Returns the ranks of a communicator that are lost, after a call on it has failed; from now on it can be used to
    /// receive from any of the others. None where the library cannot tell.
    #[must_use]
    pub fn lost_ranks(self, _begun: &Mpi) -> Vec<u32> {
        let Ok(functions) = FaultFunctions::find() else { return Vec::new() };
        let mut lost: Handle = 0;
        // SAFETY: a communicator of ours.
        if unsafe { (functions.failure_ack)(self.0) } != 0 {
            return Vec::new();
        }
        // SAFETY: as above, and room for a handle.
        if unsafe { (functions.failure_get_acked)(self.0, &raw mut lost) } != 0 {
            return Vec::new();
        }
        let ranks = functions.ranks_of(lost, self.0);
        // SAFETY: a group of ours, which nobody uses any more.
        let _code = unsafe { (functions.group_free)(&raw mut lost) };
        ranks
    }
}

impl FaultFunctions {
    /// Ranks that the processes of a group have in a communicator.
    fn ranks_of(&self, group: Handle, comm: Handle) -> Vec<u32> {
        let (mut n, mut all): (c_int, Handle) = (0, 0);
        // SAFETY: a group of ours, and room for an `int`.
        let mut code = unsafe { (self.group_size)(group, &raw mut n) };
        if code == 0 {
            // SAFETY: a communicator of ours, and room for a handle.
            code = unsafe { (self.comm_group)(comm, &raw mut all) };
        }
        if code != 0 {
            return Vec::new();
        }
        let members: Vec<c_int> = (0..n).collect();
        let mut ranks = vec![-1; members.len()];
        // SAFETY: two groups of ours, `n` ranks of the first, and room for as many.
        let code = unsafe {
            (self.group_translate_ranks)(group, n, members.as_ptr(), all, ranks.as_mut_ptr())
        };
        // SAFETY: a group of ours, which nobody uses any more.
        let _code = unsafe { (self.group_free)(&raw mut all) };
        let known = ranks.into_iter().filter(|_| code == 0);
        known.filter_map(|rank| u32::try_from(rank).ok()).collect()
    }
}
