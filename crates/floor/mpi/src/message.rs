//! Messages whose length the receiver does not know.

use crate::calls::{Arrival, Status};
use crate::elements::{Elements, start_of_room};
use crate::functions::Handle;
use crate::pause::Pause;
use crate::{CommBase, MpiError};
use bytemuck::Pod;
use std::ffi::c_void;
use std::time::Duration;

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
        let Elements { n, datatype, .. } = &self.mpi.datatypes.elements::<T>(n)?;
        let (start, ignored) =
            (start_of_room(&mut values), self.mpi.constants.status_ignore as *mut c_void);
        // SAFETY: there is room for `n` of the datatype, which is as long as the message that was found.
        let code =
            unsafe { (self.mpi.functions.mrecv)(start, *n, *datatype, &raw mut message, ignored) };
        self.mpi.check("MPI_Mrecv", code)?;
        Ok((arrival, values))
    }
}
