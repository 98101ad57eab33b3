//! Point-to-point messages on a communicator.

use crate::MpiError;
use crate::calls::{ArrivedMessage, CommHandle, Mpi, Status, probed};
use crate::elements::{Elements, start_of, start_of_room};
use crate::functions::Handle;
use crate::pause::Pause;
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Common part of communicators of one group ([`Comm`](crate::Comm)) and between two groups
/// ([`Intercomm`](crate::Intercomm)): peers to send to, numbered from 0.
///
/// Lengths are counted in elements. Between two groups, ranks are those of the other group.
///
/// # Invariants
/// - Dropping it does not free it, because freeing is collective: see [`Comm::free`](crate::Comm::free).
///
/// # Threads
/// Where [`Mpi::is_multiple`] is true, several threads may call all methods concurrently; but collective
/// calls must be made in the same order on all ranks, and so by one thread at a time for each communicator.
#[derive(Debug)]
pub struct CommBase {
    pub(crate) mpi: Arc<Mpi>,
    pub(crate) comm: Handle,
    rank: u32,
    n_own: u32,
    n_peers: u32,
}

impl CommBase {
    /// Wraps a communicator of ours; `n_peers` where the peers are another group.
    pub(crate) fn new(
        mpi: &Arc<Mpi>,
        comm: CommHandle,
        n_peers: Option<u32>,
    ) -> Result<Self, MpiError> {
        let (rank, n_own) = mpi.rank_and_size(comm)?;
        let n_peers = n_peers.unwrap_or(n_own);
        Ok(Self { mpi: Arc::clone(mpi), comm: comm.0, rank, n_own, n_peers })
    }

    /// Returns the library.
    #[must_use]
    pub fn mpi(&self) -> &Arc<Mpi> {
        &self.mpi
    }

    /// Returns the rank of this process in its own group.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the number of ranks in its own group.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.n_own
    }

    /// Returns the number of ranks that can be sent to.
    #[must_use]
    pub fn n_peers(&self) -> u32 {
        self.n_peers
    }

    /// Returns the communicator as an `MPI_Comm`, for the program's own MPI calls: a pointer in Open MPI and the ABI of
    /// MPI 5; in MPICH a C `int`, in the lower half. It is valid until the communicator is freed.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.comm
    }

    /// Sends elements; returns when they may be changed again, which may be before they are received.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn send<T: Pod>(&self, values: &[T], to: u32, tag: u16) -> Result<(), MpiError> {
        let (rank, sent) = (self.peer(to)?, self.mpi.datatypes.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = sent;
        let (start, tag) = (start_of(values), c_int::from(tag));
        // SAFETY: the values are `n` of the datatype, and are borrowed during the call.
        let code = unsafe { (self.mpi.functions.send)(start, n, datatype, rank, tag, self.comm) };
        self.mpi.check("MPI_Send", code)
    }

    /// Receives at most as many elements as `values` has; returns their number.
    ///
    /// # Errors
    /// When there is no such rank, the message is longer, or an MPI call fails.
    pub fn receive<T: Pod>(
        &self,
        values: &mut [T],
        from: u32,
        tag: u16,
    ) -> Result<usize, MpiError> {
        let (rank, room) = (self.peer(from)?, self.mpi.datatypes.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = room;
        let (start, mut status) = (start_of_room(values), Status::new());
        let (tag, to) = (c_int::from(tag), status.as_mut_ptr());
        // SAFETY: there is room for `n` of the datatype, in values that take every bit pattern, and for a status.
        let code =
            unsafe { (self.mpi.functions.recv)(start, n, datatype, rank, tag, self.comm, to) };
        self.mpi.check("MPI_Recv", code)?;
        Ok(status.read(&self.mpi)?.n_bytes / size_of::<T>().max(1))
    }

    /// Receives at most as many elements as `values` has, from whichever rank sends first (`MPI_ANY_SOURCE`); returns
    /// the sender and the length. Like [`receive`](Self::receive) it waits without a deadline;
    /// [`take`](Self::take) has one.
    ///
    /// # Errors
    /// When the message is longer, or an MPI call fails.
    pub fn receive_any<T: Pod>(
        &self,
        values: &mut [T],
        tag: u16,
    ) -> Result<ArrivedMessage, MpiError> {
        let (source, tag) = self.wanted(None, Some(tag))?;
        self.mpi.enter()?;
        let room = self.mpi.datatypes.elements::<T>(values.len())?;
        let Elements { n, datatype, .. } = room;
        let (start, mut status) = (start_of_room(values), Status::new());
        let to = status.as_mut_ptr();
        // SAFETY: as in `receive`.
        let code =
            unsafe { (self.mpi.functions.recv)(start, n, datatype, source, tag, self.comm, to) };
        self.mpi.check("MPI_Recv", code)?;
        status.read(&self.mpi)
    }

    /// Sends elements to one rank and receives at most as many as `received` has from another, without a risk of deadlock;
    /// returns the number received.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`receive`](Self::receive).
    pub fn send_receive<T: Pod>(
        &self,
        (sent, to): (&[T], u32),
        (received, from): (&mut [T], u32),
        tag: u16,
    ) -> Result<usize, MpiError> {
        let (to, from) = (self.peer(to)?, self.peer(from)?);
        let leaving = self.mpi.datatypes.elements::<T>(sent.len())?;
        let coming = self.mpi.datatypes.elements::<T>(received.len())?;
        let mut status = Status::new();
        let tag = c_int::from(tag);
        // SAFETY: as in `send` and `receive`; the two buffers are apart, since one is borrowed for writing.
        let code = unsafe {
            (self.mpi.functions.sendrecv)(
                start_of(sent),
                leaving.n,
                leaving.datatype,
                to,
                tag,
                start_of_room(received),
                coming.n,
                coming.datatype,
                from,
                tag,
                self.comm,
                status.as_mut_ptr(),
            )
        };
        self.mpi.check("MPI_Sendrecv", code)?;
        Ok(status.read(&self.mpi)?.n_bytes / size_of::<T>().max(1))
    }

    /// Returns a message that can be received, from this rank or any, with this tag or any, if there is one.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn probe(
        &self,
        from: Option<u32>,
        tag: Option<u16>,
    ) -> Result<Option<ArrivedMessage>, MpiError> {
        probed(&self.mpi, self.comm, self.wanted(from, tag)?)
    }

    /// Waits until all ranks have called it; between two groups, all of both.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn barrier(&self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a communicator of ours.
        let code = unsafe { (self.mpi.collectives.barrier)(self.comm) };
        self.mpi.check("MPI_Barrier", code)
    }

    /// Returns a rank and a tag, or the wildcards, as MPI numbers them.
    pub(crate) fn wanted(
        &self,
        from: Option<u32>,
        tag: Option<u16>,
    ) -> Result<(c_int, c_int), MpiError> {
        let source = from.map_or(Ok(self.mpi.constants.any_source), |from| self.peer(from))?;
        Ok((source, tag.map_or(self.mpi.constants.any_tag, c_int::from)))
    }

    /// Checks that this thread may make calls; returns a rank as MPI numbers it.
    pub(crate) fn peer(&self, rank: u32) -> Result<c_int, MpiError> {
        self.mpi.enter()?;
        let is_there = rank < self.n_peers;
        let number = c_int::try_from(rank).ok().filter(|_| is_there);
        number.ok_or(MpiError::NoRank { rank, n_ranks: self.n_peers })
    }

    /// Waits for a message from this rank or any, with this tag or any, and receives it whatever its length; `None`
    /// when none arrives in time. The wait yields to other threads at first, and sleeps between polls later.
    ///
    /// # Errors
    /// When there is no such rank, the message is not made of whole elements, or an MPI call fails.
    pub fn take<T: Pod>(
        &self,
        from: Option<u32>,
        tag: Option<u16>,
        at_most: Duration,
    ) -> Result<Option<(ArrivedMessage, Vec<T>)>, MpiError> {
        let mut pause = Pause::at_most(at_most);
        loop {
            if let Some((arrival, message)) = self.find(from, tag)? {
                return self.receive_found(arrival, message).map(Some);
            }
            if !pause.pause(Pause::SLEEP_MAX) {
                return Ok(None);
            }
        }
    }

    /// Claims a message, which then no other call can receive.
    fn find(
        &self,
        from: Option<u32>,
        tag: Option<u16>,
    ) -> Result<Option<(ArrivedMessage, Handle)>, MpiError> {
        self.mpi.enter()?;
        let (source, tag) = self.wanted(from, tag)?;
        let (mut flag, mut message, mut status) = (0, 0, Status::new());
        let (found, to) = (&raw mut flag, status.as_mut_ptr());
        // SAFETY: a communicator of ours, and room for a flag, a handle and a status.
        let code = unsafe {
            (self.mpi.functions.improbe)(source, tag, self.comm, found, &raw mut message, to)
        };
        self.mpi.check("MPI_Improbe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        Ok(Some((status.read(&self.mpi)?, message)))
    }

    fn receive_found<T: Pod>(
        &self,
        arrival: ArrivedMessage,
        mut message: Handle,
    ) -> Result<(ArrivedMessage, Vec<T>), MpiError> {
        let n = arrival.n_bytes.div_ceil(size_of::<T>().max(1));
        let mut values = vec![T::zeroed(); n];
        let room = self.mpi.datatypes.elements::<T>(n)?;
        let Elements { n, datatype, .. } = room;
        let start = start_of_room(&mut values);
        let ignored = self.mpi.constants.status_ignore as *mut c_void;
        // SAFETY: there is room for `n` of the datatype, which is as long as the message that was found.
        let code =
            unsafe { (self.mpi.functions.mrecv)(start, n, datatype, &raw mut message, ignored) };
        self.mpi.check("MPI_Mrecv", code)?;
        Ok((arrival, values))
    }
}
