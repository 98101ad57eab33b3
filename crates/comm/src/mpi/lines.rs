//! The beginning of MPI and the end of its lines, where the library asks for a promise.

use mpi::{Line, Mpi, MpiError, Nodes};

/// Those that wait sleep, and ranks may be added.
const NODES: Nodes = Nodes { is_crowded: false, is_fixed: false };

/// Begins MPI for a transport, to which ranks may be added.
pub(super) fn begin(may_grow: bool) -> Result<Mpi, MpiError> {
    // SAFETY: a transport calls with itself borrowed for writing, so one thread at a time does; only what starts and
    // parts processes runs beside, while the transport waits for it.
    unsafe { Mpi::init_in_turns(may_grow.then_some(NODES)) }
}

/// Frees the line to the world, or to this rank itself.
pub(super) fn free(mpi: &Mpi, line: Line) -> Result<(), MpiError> {
    // SAFETY: the transport has ended, and makes no call with it any more.
    unsafe { mpi.free(line) }
}

/// Parts from a rank of another world.
pub(super) fn disconnect(mpi: &Mpi, line: Line) -> Result<(), MpiError> {
    // SAFETY: the peers have forgotten it before.
    unsafe { mpi.disconnect(line) }
}
