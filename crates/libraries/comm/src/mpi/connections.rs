//! Start of MPI and end of connections: calls whose safety the caller must guarantee.

use mpi::{CommHandle, Mpi, MpiError, Nodes};

/// Waiting ranks sleep, so crowded nodes need no setting; ranks may be added.
const NODES: Nodes = Nodes { is_crowded: false, is_fixed: false };

/// Initializes MPI for a transport to which ranks may be added.
pub(super) fn begin(may_grow: bool) -> Result<Mpi, MpiError> {
    // SAFETY: a transport makes calls only while borrowed mutably, so from one thread at a time; only calls that
    // start and disconnect processes run concurrently, while the transport waits for them.
    unsafe { Mpi::init_serialized(may_grow.then_some(NODES)) }
}

/// Frees the connection with the world, or with this rank itself.
pub(super) fn free(mpi: &Mpi, comm: CommHandle) -> Result<(), MpiError> {
    // SAFETY: the transport has ended, and makes no further call on this connection.
    unsafe { mpi.free(comm) }
}

/// Disconnects from a rank of another world.
pub(super) fn disconnect(mpi: &Mpi, comm: CommHandle) -> Result<(), MpiError> {
    // SAFETY: the peers have dropped this connection before.
    unsafe { mpi.disconnect(comm) }
}
