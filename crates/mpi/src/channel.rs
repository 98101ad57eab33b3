//! Ranks that can send each other messages.

use crate::MpiError;
use crate::calls::{Line, Mpi};
use crate::elements::{Elements, start_of, start_of_room};
use crate::functions::Handle;
use crate::message::Arrival;
use bytemuck::Pod;
use std::ffi::c_int;
use std::sync::Arc;

/// What communicators of one group ([`Comm`](crate::Comm)) and between two groups
/// ([`Intercomm`](crate::Intercomm)) have in common: ranks to send to, numbered from 0.
///
/// Lengths are counted in elements. Ranks are those of the other group where there are two.
///
/// # Invariants
/// - Dropping it does not free it, since all its ranks do that together: see [`Comm::free`](crate::Comm::free).
///
/// # Threads
/// Where [`Mpi::is_multiple`] says so, all methods may be called by several threads at a time; but what all ranks do
/// together must be called in one order on all of them, and so by one thread at a time for each communicator.
#[derive(Debug)]
pub struct Channel {
    pub(crate) mpi: Arc<Mpi>,
    pub(crate) comm: Handle,
    rank: u32,
    n_own: u32,
    n_peers: u32,
}

impl Channel {
    /// Of a communicator of ours; `n_peers` where the peers are not this group.
    pub(crate) fn new(mpi: &Arc<Mpi>, line: Line, n_peers: Option<u32>) -> Result<Self, MpiError> {
        let (rank, n_own) = mpi.place(line)?;
        let n_peers = n_peers.unwrap_or(n_own);
        Ok(Self { mpi: Arc::clone(mpi), comm: line.0, rank, n_own, n_peers })
    }

    /// The library.
    #[must_use]
    pub fn mpi(&self) -> &Arc<Mpi> {
        &self.mpi
    }

    /// The number of this process in its group.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks its group has.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.n_own
    }

    /// How many ranks can be sent to.
    #[must_use]
    pub fn n_peers(&self) -> u32 {
        self.n_peers
    }

    /// The communicator as an `MPI_Comm`, for calls that the program makes itself: a pointer in Open MPI and the ABI of
    /// MPI 5, a C `int` in MPICH, which is the lower half then. It is valid as long as the communicator is not freed.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.comm
    }

    /// Sends elements, and returns when they may be changed again, which may be before they are received.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn send<T: Pod>(&self, values: &[T], to: u32, tag: u16) -> Result<(), MpiError> {
        let (rank, sent) = (self.peer(to)?, self.mpi.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = sent;
        let (start, tag) = (start_of(values), c_int::from(tag));
        // SAFETY: `n` of the datatype are the values, which are borrowed during the call.
        let code = unsafe { (self.mpi.functions.send)(start, n, datatype, rank, tag, self.comm) };
        self.mpi.check("MPI_Send", code)
    }

    /// Receives at most as many elements as there is room for; how many they are.
    ///
    /// # Errors
    /// When there is no such rank, the message is longer, or the library refuses.
    pub fn receive<T: Pod>(
        &self,
        values: &mut [T],
        from: u32,
        tag: u16,
    ) -> Result<usize, MpiError> {
        let (rank, room) = (self.peer(from)?, self.mpi.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = room;
        let (start, mut status) = (start_of_room(values), crate::message::Status::new());
        let (tag, to) = (c_int::from(tag), status.as_mut_ptr());
        // SAFETY: there is room for `n` of the datatype, in values that take every bit pattern, and for a status.
        let code =
            unsafe { (self.mpi.functions.recv)(start, n, datatype, rank, tag, self.comm, to) };
        self.mpi.check("MPI_Recv", code)?;
        Ok(self.mpi.arrival(&status)?.n_bytes / size_of::<T>().max(1))
    }

    /// Receives at most as many elements as there is room for, from whichever rank sends some first (`MPI_ANY_SOURCE`): who
    /// that is, and how much came. As [`receive`](Self::receive) it waits without a deadline;
    /// [`take`](Self::take) has one.
    ///
    /// # Errors
    /// When the message is longer, or the library refuses.
    pub fn receive_any<T: Pod>(&self, values: &mut [T], tag: u16) -> Result<Arrival, MpiError> {
        let (source, tag) = self.wanted(None, Some(tag))?;
        self.mpi.enter()?;
        let Elements { n, datatype, .. } = &self.mpi.elements::<T>(values.len())?;
        let (start, mut status) = (start_of_room(values), crate::message::Status::new());
        let to = status.as_mut_ptr();
        // SAFETY: as in `receive`.
        let code =
            unsafe { (self.mpi.functions.recv)(start, *n, *datatype, source, tag, self.comm, to) };
        self.mpi.check("MPI_Recv", code)?;
        self.mpi.arrival(&status)
    }

    /// Sends elements to one rank and receives as many as there is room for of another, without waiting in a circle;
    /// how many were received.
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
        let leaving = self.mpi.elements::<T>(sent.len())?;
        let coming = self.mpi.elements::<T>(received.len())?;
        let mut status = crate::message::Status::new();
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
        Ok(self.mpi.arrival(&status)?.n_bytes / size_of::<T>().max(1))
    }

    /// A message that waits to be received: of this rank or any, with this tag or any.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn probe(&self, from: Option<u32>, tag: Option<u16>) -> Result<Option<Arrival>, MpiError> {
        let (source, tag) = self.wanted(from, tag)?;
        let (mut flag, mut status) = (0, crate::message::Status::new());
        let (found, to) = (&raw mut flag, status.as_mut_ptr());
        // SAFETY: a communicator of ours, and room for a flag and a status.
        let code = unsafe { (self.mpi.functions.iprobe)(source, tag, self.comm, found, to) };
        self.mpi.check("MPI_Iprobe", code)?;
        if flag == 0 { Ok(None) } else { self.mpi.arrival(&status).map(Some) }
    }

    /// Waits until all are here; all of both groups where there are two.
    ///
    /// # Errors
    /// When the library refuses, or a rank is gone.
    pub fn barrier(&self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a communicator of ours.
        let code = unsafe { (self.mpi.collectives.barrier)(self.comm) };
        self.mpi.check("MPI_Barrier", code)
    }

    /// A rank and a tag, or any, as MPI numbers them.
    pub(crate) fn wanted(
        &self,
        from: Option<u32>,
        tag: Option<u16>,
    ) -> Result<(c_int, c_int), MpiError> {
        let source = from.map_or(Ok(self.mpi.constants.any_source), |from| self.peer(from))?;
        Ok((source, tag.map_or(self.mpi.constants.any_tag, c_int::from)))
    }

    /// A rank as MPI numbers it, from a thread that may call.
    pub(crate) fn peer(&self, rank: u32) -> Result<c_int, MpiError> {
        self.mpi.enter()?;
        let is_there = rank < self.n_peers;
        let number = c_int::try_from(rank).ok().filter(|_| is_there);
        number.ok_or(MpiError::NoRank { rank, n_ranks: self.n_peers })
    }
}
