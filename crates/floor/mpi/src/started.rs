//! Starts messages and collective operations in the background.

use crate::comm_base::CommBase;
use crate::elements::{Elements, start_of_room};
use crate::request::{HeldMemory, PendingTransfer, Request};
use crate::{Comm, Intercomm, MpiError, Number, Op, Source};
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// Source of a broadcast from one group to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This rank; its elements go to all ranks of the other group.
    Here,
    /// Another rank of this group; this rank does nothing.
    Beside,
    /// This rank of the other group.
    There(u32),
}

impl CommBase {
    /// Starts to send elements.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn isend<T: Pod, S: Source<T>>(
        &self,
        values: S,
        to: u32,
        tag: u16,
    ) -> Result<Request<S>, MpiError> {
        let n = values.elements().len();
        self.isend_parts(values, &[(to, 0..n)], tag)
    }

    /// Starts to send parts of the elements, each to a rank.
    ///
    /// # Errors
    /// When there is no such rank or part, or an MPI call fails; transfers already started continue, and their memory is
    /// leaked.
    pub fn isend_parts<T: Pod, S: Source<T>>(
        &self,
        values: S,
        parts: &[(u32, Range<usize>)],
        tag: u16,
    ) -> Result<Request<S>, MpiError> {
        const CALL: &str = "MPI_Isend";
        let (start, n_all) = (values.elements().as_ptr(), values.elements().len());
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), HeldMemory::new(values));
        for (to, part) in parts {
            let (rank, n) = (self.peer(*to)?, length(CALL, part, n_all)?);
            let elements = self.mpi.datatypes.elements::<T>(n)?;
            let (n, datatype, tag) = (elements.n, elements.datatype, c_int::from(tag));
            let from = start.wrapping_add(part.start).cast();
            let (isend, mut handle) = (self.mpi.functions.isend, 0);
            // SAFETY: the part lies within the elements, which stay with the request until it is complete.
            let code = unsafe { isend(from, n, datatype, rank, tag, self.comm, &raw mut handle) };
            request.began(code, handle, None, elements)?;
        }
        Ok(request)
    }

    /// Starts to receive exactly as many elements as `values` has.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn ireceive<T: Pod + Send>(
        &self,
        values: Vec<T>,
        from: u32,
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let n = values.len();
        self.ireceive_parts(values, &[(from, 0..n)], tag)
    }

    /// Starts to receive parts of the elements, each from a rank; the parts must not overlap.
    ///
    /// # Errors
    /// When there is no such rank or part, or an MPI call fails; transfers already started continue, and their memory is
    /// leaked.
    pub fn ireceive_parts<T: Pod + Send>(
        &self,
        mut values: Vec<T>,
        parts: &[(u32, Range<usize>)],
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Irecv";
        let (start, n_all) = (values.as_mut_ptr(), values.len());
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), HeldMemory::new(values));
        for (from, part) in parts {
            let (rank, n) = (self.peer(*from)?, length(CALL, part, n_all)?);
            let n_bytes = n * size_of::<T>();
            let elements = self.mpi.datatypes.elements::<T>(n)?;
            let (n, datatype, tag) = (elements.n, elements.datatype, c_int::from(tag));
            let to = start.wrapping_add(part.start).cast();
            let (irecv, mut handle) = (self.mpi.functions.irecv, 0);
            // SAFETY: the part lies within the elements, which stay with the request until it is complete.
            let code = unsafe { irecv(to, n, datatype, rank, tag, self.comm, &raw mut handle) };
            request.began(code, handle, Some(n_bytes), elements)?;
        }
        Ok(request)
    }

    /// Starts a barrier of all ranks; between two groups, of both. Wait for it with a deadline where ranks may be
    /// missing: an abandoned barrier cannot be canceled, and this communicator cannot be used for further collective
    /// operations.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn ibarrier(&self) -> Result<Request<()>, MpiError> {
        self.mpi.enter()?;
        let mut handle = 0;
        // SAFETY: a communicator of ours, and room for a handle.
        let code = unsafe { (self.mpi.functions.ibarrier)(self.comm, &raw mut handle) };
        self.mpi.check("MPI_Ibarrier", code)?;
        let pending = vec![PendingTransfer { handle, n_bytes: None }];
        Ok(Request::new(&self.mpi, "MPI_Ibarrier", pending, HeldMemory::new(())))
    }

    fn ibcast<T: Pod + Send>(
        &self,
        mut values: Vec<T>,
        root: c_int,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Ibcast";
        let elements = self.mpi.datatypes.elements::<T>(values.len())?;
        let (start, n, datatype) = (start_of_room(&mut values), elements.n, elements.datatype);
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), HeldMemory::new(values));
        let (ibcast, mut handle) = (self.mpi.exchanges.ibcast, 0);
        // SAFETY: the values are `n` of the datatype, and stay with the request until it is complete.
        let code = unsafe { ibcast(start, n, datatype, root, self.comm, &raw mut handle) };
        request.began(code, handle, None, elements)?;
        Ok(request)
    }
}

impl Comm {
    /// Starts a broadcast of the elements of `root`; all ranks have equally many.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn ibroadcast<T: Pod + Send>(
        &self,
        values: Vec<T>,
        root: u32,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let root = self.peer(root)?;
        self.ibcast(values, root)
    }

    /// Starts to combine the numbers of all ranks elementwise; all have equally many, and fewer than 2³¹.
    ///
    /// # Errors
    /// When there are more, or an MPI call fails.
    pub fn iallreduce<T: Number + Send>(
        &self,
        op: Op,
        mut values: Vec<T>,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Iallreduce";
        self.mpi.enter()?;
        let (datatype, op) = (self.mpi.datatypes.datatype_of::<T>()?, self.operation(op)?);
        let n_bytes = size_of_val(values.as_slice());
        let n = c_int::try_from(values.len()).map_err(|_| MpiError::TooLong { n_bytes })?;
        let in_place = self.mpi.constants.in_place as *const c_void;
        let start = start_of_room(&mut values);
        let (iallreduce, comm, mut handle) = (self.mpi.collectives.iallreduce, self.handle(), 0);
        // SAFETY: `n` numbers of this datatype, which stay with the request until it is complete.
        let code = unsafe { iallreduce(in_place, start, n, datatype, op, comm, &raw mut handle) };
        self.mpi.check(CALL, code)?;
        let pending = vec![PendingTransfer { handle, n_bytes: None }];
        Ok(Request::new(&self.mpi, CALL, pending, HeldMemory::new(values)))
    }
}

impl Intercomm {
    /// Starts a broadcast from one rank of a group to all ranks of the other; collective over both, with equally many
    /// elements on all ranks that send or receive.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn ibroadcast<T: Pod + Send>(
        &self,
        values: Vec<T>,
        origin: Origin,
    ) -> Result<Request<Vec<T>>, MpiError> {
        self.mpi.enter()?;
        let root = match origin {
            Origin::Here => self.mpi.constants.root,
            Origin::Beside => self.mpi.constants.proc_null,
            Origin::There(rank) => self.peer(rank)?,
        };
        self.ibcast(values, root)
    }
}

impl<B> Request<B> {
    /// Adds a transfer that a call has started, with the datatype created for it.
    fn began(
        &mut self,
        code: c_int,
        handle: usize,
        n_bytes: Option<usize>,
        elements: Elements<'_>,
    ) -> Result<(), MpiError> {
        self.begun(code)?;
        self.add(PendingTransfer { handle, n_bytes }, elements.keep());
        Ok(())
    }
}

/// Returns the number of elements in a part.
fn length(call: &'static str, part: &Range<usize>, n_all: usize) -> Result<usize, MpiError> {
    let too_long = MpiError::Length { call, given: n_all, wanted: part.end };
    (part.start <= part.end && part.end <= n_all).then(|| part.len()).ok_or(too_long)
}
