//! Messages and common operations in the background.

use crate::channel::Channel;
use crate::elements::{Elements, start_of_room};
use crate::request::{Kept, Open, Request};
use crate::{Comm, Intercomm, MpiError, Number, Op, Source};
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// Whose elements are broadcast from one group to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Those of this rank; they go to all ranks of the other group.
    Here,
    /// Those of another rank of this group: nothing to do.
    Beside,
    /// Those of this rank of the other group.
    There(u32),
}

impl Channel {
    /// Begins to send elements.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn isend<T: Pod, S: Source<T>>(
        &self,
        values: S,
        to: u32,
        tag: u16,
    ) -> Result<Request<S>, MpiError> {
        let n = values.elements().len();
        self.isend_parts(values, &[(to, 0..n)], tag)
    }

    /// Begins to send parts of the elements, each to a rank.
    ///
    /// # Errors
    /// When there is no such rank or part, or the library refuses; what was begun before goes on, and its memory is lost.
    pub fn isend_parts<T: Pod, S: Source<T>>(
        &self,
        values: S,
        parts: &[(u32, Range<usize>)],
        tag: u16,
    ) -> Result<Request<S>, MpiError> {
        const CALL: &str = "MPI_Isend";
        let (start, n_all) = (values.elements().as_ptr(), values.elements().len());
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), Kept::new(values));
        for (to, part) in parts {
            let (rank, n) = (self.peer(*to)?, length(CALL, part, n_all)?);
            let elements = self.mpi.elements::<T>(n)?;
            let (n, datatype, tag) = (elements.n, elements.datatype, c_int::from(tag));
            let from = start.wrapping_add(part.start).cast();
            let (isend, mut handle) = (self.mpi.functions.isend, 0);
            // SAFETY: the part lies within the elements, which stay with the request until it is complete.
            let code = unsafe { isend(from, n, datatype, rank, tag, self.comm, &raw mut handle) };
            request.began(code, handle, None, elements)?;
        }
        Ok(request)
    }

    /// Begins to receive as many elements as there is room for: exactly so many must come.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn ireceive<T: Pod + Send>(
        &self,
        values: Vec<T>,
        from: u32,
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let n = values.len();
        self.ireceive_parts(values, &[(from, 0..n)], tag)
    }

    /// Begins to receive parts of the elements, each of a rank, which must not overlap.
    ///
    /// # Errors
    /// When there is no such rank or part, or the library refuses; what was begun before goes on, and its memory is lost.
    pub fn ireceive_parts<T: Pod + Send>(
        &self,
        mut values: Vec<T>,
        parts: &[(u32, Range<usize>)],
        tag: u16,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Irecv";
        let (start, n_all) = (values.as_mut_ptr(), values.len());
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), Kept::new(values));
        for (from, part) in parts {
            let (rank, n) = (self.peer(*from)?, length(CALL, part, n_all)?);
            let n_bytes = n * size_of::<T>();
            let elements = self.mpi.elements::<T>(n)?;
            let (n, datatype, tag) = (elements.n, elements.datatype, c_int::from(tag));
            let to = start.wrapping_add(part.start).cast();
            let (irecv, mut handle) = (self.mpi.functions.irecv, 0);
            // SAFETY: the part lies within the elements, which stay with the request until it is complete.
            let code = unsafe { irecv(to, n, datatype, rank, tag, self.comm, &raw mut handle) };
            request.began(code, handle, Some(n_bytes), elements)?;
        }
        Ok(request)
    }

    /// Begins to wait until all are here; all of both groups where there are two. With a deadline where the others may
    /// not come: a barrier that is given up cannot be called back, and this communicator is of no more use for others.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn ibarrier(&self) -> Result<Request<()>, MpiError> {
        self.mpi.enter()?;
        let mut handle = 0;
        // SAFETY: a communicator of ours, and room for a handle.
        let code = unsafe { (self.mpi.functions.ibarrier)(self.comm, &raw mut handle) };
        self.mpi.check("MPI_Ibarrier", code)?;
        let open = vec![Open { handle, n_bytes: None }];
        Ok(Request::new(&self.mpi, "MPI_Ibarrier", open, Kept::new(())))
    }

    fn ibcast<T: Pod + Send>(
        &self,
        mut values: Vec<T>,
        root: c_int,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Ibcast";
        let elements = self.mpi.elements::<T>(values.len())?;
        let (start, n, datatype) = (start_of_room(&mut values), elements.n, elements.datatype);
        let mut request = Request::new(&self.mpi, CALL, Vec::new(), Kept::new(values));
        let (ibcast, mut handle) = (self.mpi.exchanges.ibcast, 0);
        // SAFETY: `n` of the datatype are the values, which stay with the request until it is complete.
        let code = unsafe { ibcast(start, n, datatype, root, self.comm, &raw mut handle) };
        request.began(code, handle, None, elements)?;
        Ok(request)
    }
}

impl Comm {
    /// Begins to give all the elements of `root`; all have as many.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn ibroadcast<T: Pod + Send>(
        &self,
        values: Vec<T>,
        root: u32,
    ) -> Result<Request<Vec<T>>, MpiError> {
        let root = self.peer(root)?;
        self.ibcast(values, root)
    }

    /// Begins to combine the numbers of all, place by place; all have as many, and fewer than 2³¹.
    ///
    /// # Errors
    /// When there are more, or the library refuses.
    pub fn iallreduce<T: Number + Send>(
        &self,
        op: Op,
        mut values: Vec<T>,
    ) -> Result<Request<Vec<T>>, MpiError> {
        const CALL: &str = "MPI_Iallreduce";
        self.mpi.enter()?;
        let (datatype, op) = (self.mpi.datatype_of::<T>()?, self.operation(op)?);
        let n_bytes = size_of_val(values.as_slice());
        let n = c_int::try_from(values.len()).map_err(|_| MpiError::TooLong { n_bytes })?;
        let in_place = self.mpi.constants.in_place as *const c_void;
        let start = start_of_room(&mut values);
        let (iallreduce, comm, mut handle) = (self.mpi.collectives.iallreduce, self.handle(), 0);
        // SAFETY: `n` numbers of this datatype, which stay with the request until it is complete.
        let code = unsafe { iallreduce(in_place, start, n, datatype, op, comm, &raw mut handle) };
        self.mpi.check(CALL, code)?;
        let open = vec![Open { handle, n_bytes: None }];
        Ok(Request::new(&self.mpi, CALL, open, Kept::new(values)))
    }
}

impl Intercomm {
    /// Begins to give the elements of a rank of one group to all of the other; all of both groups call it, and who gives
    /// or receives has as many.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
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
    /// Adds a transfer that a call has begun, with the datatype made for it.
    fn began(
        &mut self,
        code: c_int,
        handle: usize,
        n_bytes: Option<usize>,
        elements: Elements<'_>,
    ) -> Result<(), MpiError> {
        self.begun(code)?;
        self.add(Open { handle, n_bytes }, elements.keep());
        Ok(())
    }
}

/// How many elements a part has.
fn length(call: &'static str, part: &Range<usize>, n_all: usize) -> Result<usize, MpiError> {
    let too_long = MpiError::Length { call, given: n_all, wanted: part.end };
    (part.start <= part.end && part.end <= n_all).then(|| part.len()).ok_or(too_long)
}
