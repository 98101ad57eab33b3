//! Messages whose length the receiver does not know.

use crate::calls::Mpi;
use crate::elements::{Elements, start_of_room};
use crate::functions::Handle;
use crate::pause::Pause;
use crate::{CommBase, MpiError};
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// Description of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Rank of its sender.
    pub from: u32,
    /// Its tag.
    pub tag: u16,
    /// Length, in bytes.
    pub n_bytes: usize,
}

/// Memory for an `MPI_Status` of any library: the largest size, and sufficient alignment.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [u8; 32]);

impl Status {
    pub(crate) fn new() -> Self {
        Self([0; 32])
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }
}

impl Mpi {
    /// Reads a status.
    pub(crate) fn arrival(&self, status: &Status) -> Result<Arrival, MpiError> {
        let read = |offset: usize| {
            let bytes = status.0.get(offset..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| c_int::from_ne_bytes(*bytes))
        };
        let from = u32::try_from(read(self.layout.source_offset)).unwrap_or_default();
        let tag = u16::try_from(read(self.layout.tag_offset)).unwrap_or(u16::MAX);
        let n_bytes = match self.layout.bytes_received(&status.0) {
            Some(n_bytes) => usize::try_from(n_bytes).unwrap_or(usize::MAX),
            None => self.count(status)?,
        };
        Ok(Arrival { from, tag, n_bytes })
    }

    /// Asks the library for the length in a status whose layout does not reveal it.
    fn count(&self, status: &Status) -> Result<usize, MpiError> {
        let mut n_bytes = 0;
        let from = (&raw const status.0).cast();
        // SAFETY: a status that the library wrote, and room for a count.
        let code = unsafe { (self.functions.get_count)(from, self.byte, &raw mut n_bytes) };
        self.check("MPI_Get_count", code)?;
        Ok(usize::try_from(n_bytes).unwrap_or_default())
    }
}

impl CommBase {
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
    ) -> Result<Option<(Arrival, Vec<T>)>, MpiError> {
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
    ) -> Result<Option<(Arrival, Handle)>, MpiError> {
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
        Ok(Some((self.mpi.arrival(&status)?, message)))
    }

    fn receive_found<T: Pod>(
        &self,
        arrival: Arrival,
        mut message: Handle,
    ) -> Result<(Arrival, Vec<T>), MpiError> {
        let n = arrival.n_bytes.div_ceil(size_of::<T>().max(1));
        let mut values = vec![T::zeroed(); n];
        let Elements { n, datatype, .. } = &self.mpi.elements::<T>(n)?;
        let (start, ignored) =
            (start_of_room(&mut values), self.mpi.constants.status_ignore as *mut c_void);
        // SAFETY: there is room for `n` of the datatype, which is as long as the message that was found.
        let code =
            unsafe { (self.mpi.functions.mrecv)(start, *n, *datatype, &raw mut message, ignored) };
        self.mpi.check("MPI_Mrecv", code)?;
        Ok((arrival, values))
    }
}
