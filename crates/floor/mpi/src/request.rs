//! Requests: transfers in the background.

use crate::calls::{Mpi, Status};
use crate::elements::{Elements, start_of, start_of_room};
use crate::functions::Handle;
use crate::pause::Pause;
use crate::{Comm, CommBase, MpiError, Number, Op};
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

/// A transfer in the background, with the memory that it uses.
///
/// MPI makes progress when it is called, by any thread: most libraries do little or nothing between
/// [`test`](Self::test)s.
///
/// # Invariants
/// - The memory is returned when the transfer is complete. When the request is dropped before, the memory is
///   leaked, because the library may still read and write it.
#[must_use = "the memory is lost when the request is dropped before it is complete"]
pub struct Request<B> {
    mpi: Arc<Mpi>,
    call: &'static str,
    /// Handle of the transfer; `None` once it is complete.
    open: Option<Handle>,
    /// Expected length in bytes, where it is known.
    n_bytes: Option<usize>,
    failed: Option<MpiError>,
    /// Memory in use; `None` once it is returned.
    memory: ManuallyDrop<Option<B>>,
}

impl CommBase {
    /// Starts to send elements.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn isend<T: Pod>(
        &self,
        values: Vec<T>,
        to: u32,
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let (rank, sent) = (self.peer(to)?, self.mpi.datatypes.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = sent;
        let (start, tag) = (start_of(&values), c_int::from(tag));
        let (isend, mut handle) = (self.mpi.functions.isend, 0);
        // SAFETY: the values are `n` of the datatype, and stay with the request until it is complete.
        let code = unsafe { isend(start, n, datatype, rank, tag, self.comm, &raw mut handle) };
        Request::started(&self.mpi, "MPI_Isend", (code, handle), None, values)
    }

    /// Starts to receive exactly as many elements as `values` has.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn ireceive<T: Pod>(
        &self,
        mut values: Vec<T>,
        from: u32,
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let (rank, room) = (self.peer(from)?, self.mpi.datatypes.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = room;
        let n_bytes = Some(size_of_val(values.as_slice()));
        let (start, tag) = (start_of_room(&mut values), c_int::from(tag));
        let (irecv, mut handle) = (self.mpi.functions.irecv, 0);
        // SAFETY: there is room for `n` of the datatype, which stays with the request until it is complete.
        let code = unsafe { irecv(start, n, datatype, rank, tag, self.comm, &raw mut handle) };
        Request::started(&self.mpi, "MPI_Irecv", (code, handle), n_bytes, values)
    }
}

impl Comm {
    /// Starts to combine the numbers of all ranks elementwise; all have equally many, and fewer than 2³¹.
    ///
    /// # Errors
    /// When there are more, or an MPI call fails.
    pub fn iallreduce<T: Number>(
        &self,
        op: Op,
        mut values: Vec<T>,
    ) -> Result<Request<Vec<T>>, MpiError> {
        self.mpi.enter()?;
        let (datatype, op) = (self.mpi.datatypes.datatype_of::<T>()?, self.operation(op)?);
        let n_bytes = size_of_val(values.as_slice());
        let n = c_int::try_from(values.len()).map_err(|_| MpiError::TooLong { n_bytes })?;
        let in_place = self.mpi.constants.in_place as *const c_void;
        let start = start_of_room(&mut values);
        let (iallreduce, comm, mut handle) = (self.mpi.collectives.iallreduce, self.handle(), 0);
        // SAFETY: `n` numbers of this datatype, which stay with the request until it is complete.
        let code = unsafe { iallreduce(in_place, start, n, datatype, op, comm, &raw mut handle) };
        Request::started(&self.mpi, "MPI_Iallreduce", (code, handle), None, values)
    }
}

impl<B> Request<B> {
    /// Creates the request of a call that returned this code and handle. If it failed, the memory is leaked.
    fn started(
        mpi: &Arc<Mpi>,
        call: &'static str,
        (code, handle): (c_int, Handle),
        n_bytes: Option<usize>,
        memory: B,
    ) -> Result<Self, MpiError> {
        let memory = ManuallyDrop::new(Some(memory));
        mpi.check(call, code)?;
        Ok(Self { mpi: Arc::clone(mpi), call, open: Some(handle), n_bytes, failed: None, memory })
    }

    /// Returns whether the transfer is complete; makes progress on all transfers of this process.
    ///
    /// # Errors
    /// When the transfer failed, or received another length than expected. The memory is leaked then.
    pub fn test(&mut self) -> Result<bool, MpiError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let looked = self.look();
        self.failed = looked.as_ref().err().cloned();
        looked
    }

    fn look(&mut self) -> Result<bool, MpiError> {
        self.mpi.enter()?;
        let Some(request) = &mut self.open else { return Ok(true) };
        let (mut flag, mut status) = (0, Status::new());
        let (request, to) = (&raw mut *request, status.as_mut_ptr());
        // SAFETY: a request that was not completed before, and room for a flag and a status.
        let code = unsafe { (self.mpi.functions.test)(request, &raw mut flag, to) };
        self.mpi.check(self.call, code)?;
        if flag == 0 {
            return Ok(false);
        }
        self.open = None;
        if let Some(wanted) = self.n_bytes {
            crate::error::wanted(self.call, status.read(&self.mpi)?.n_bytes, wanted)?;
        }
        Ok(true)
    }

    /// Waits until the transfer is complete, at most so long; returns whether it is. The wait yields to other
    /// threads at first, and sleeps between polls later.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait(&mut self, at_most: Duration) -> Result<bool, MpiError> {
        let mut pause = Pause::at_most(at_most);
        while !self.test()? {
            if !pause.pause(Pause::SLEEP_MAX) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until the transfer is complete, and returns the memory.
    ///
    /// # Errors
    /// [`MpiError::Late`] when it is not complete in time, and as [`test`](Self::test). The memory is leaked then:
    /// a caller that may wait again uses [`wait`](Self::wait).
    pub fn finish(mut self, at_most: Duration) -> Result<B, MpiError> {
        self.wait(at_most)?;
        self.give_back().ok_or(MpiError::Late { call: self.call, waited: at_most })
    }

    /// Returns the memory of a complete request. Otherwise the memory is leaked.
    #[must_use]
    pub fn finished(mut self) -> Option<B> {
        self.give_back()
    }

    fn give_back(&mut self) -> Option<B> {
        self.memory.take_if(|_| self.open.is_none() && self.failed.is_none())
    }
}

impl<B> Drop for Request<B> {
    fn drop(&mut self) {
        drop(self.give_back());
    }
}

/// Removes the requests that are complete; returns whether none is left. Makes progress on all transfers of the process.
pub(crate) fn keep_open<P>(
    mpi: &Mpi,
    open: &mut Vec<P>,
    request: impl Fn(&mut P) -> &mut Handle,
) -> Result<bool, MpiError> {
    mpi.enter()?;
    for at in (0..open.len()).rev() {
        let mut flag = 0;
        let ignored = mpi.constants.status_ignore as *mut c_void;
        // SAFETY: a request that was not completed before, and room for a flag.
        let code = unsafe { (mpi.functions.test)(request(&mut open[at]), &raw mut flag, ignored) };
        mpi.check("MPI_Test", code)?;
        if flag != 0 {
            open.swap_remove(at);
        }
    }
    Ok(open.is_empty())
}
