//! All-to-all exchange: each rank sends a part of its elements to every other one.
//!
//! Where a count does not fit an `int`, each part becomes a datatype with its position and length. All
//! ranks must do this consistently, so the caller requests it by [`CountsDispls::wide`].

use crate::comm_base::CommBase;
use crate::elements::{Datatypes, start_of, start_of_room};
use crate::functions::{Handle, Handles};
use crate::request::{HeldMemory, PendingTransfer, Request};
use crate::{MpiError, Source};
use bytemuck::Pod;
use std::ffi::c_int;

/// Elements that go to each rank, or come from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountsDispls {
    counts: Vec<usize>,
    starts: Vec<usize>,
    is_wide: bool,
}

impl CountsDispls {
    /// Creates consecutive parts with these numbers of elements, one for each rank.
    #[must_use]
    pub fn new(counts: &[usize]) -> Self {
        let ends = counts.iter().scan(0, |end, n| {
            *end += n;
            Some(*end - n)
        });
        Self { counts: counts.to_vec(), starts: ends.collect(), is_wide: false }
    }

    /// Creates parts from pairs of first element and number of elements. Parts that are received must not overlap.
    #[must_use]
    pub fn at(parts: &[(usize, usize)]) -> Self {
        let (starts, counts) = parts.iter().copied().unzip();
        Self { counts, starts, is_wide: false }
    }

    /// Allows counts beyond 2³¹ - 1; must be called on all ranks, if on one.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    /// Returns the largest number passed to the call: when it is below 2³¹ on all ranks, [`wide`](Self::wide) is not
    /// needed.
    #[must_use]
    pub fn n_max(&self) -> usize {
        self.counts.iter().chain(&self.starts).copied().max().unwrap_or_default()
    }

    /// Checks that there is a part for each of `n_peers` ranks and that all lie within `n_all` elements.
    fn check(&self, call: &'static str, n_peers: u32, n_all: usize) -> Result<(), MpiError> {
        crate::error::wanted(call, self.counts.len(), n_peers as usize)?;
        let ends = self.counts.iter().zip(&self.starts).map(|(n, start)| start.saturating_add(*n));
        let wanted = ends.max().unwrap_or_default();
        if n_all < wanted {
            return Err(MpiError::Length { call, given: n_all, wanted });
        }
        Ok(())
    }
}

/// Parts as arguments of the MPI call.
pub(crate) struct CallArguments {
    pub(crate) counts: Vec<c_int>,
    pub(crate) starts: Vec<c_int>,
    /// Datatype of all parts, unless `list` has one for each.
    pub(crate) datatype: Handle,
    pub(crate) list: Handles,
    /// Datatypes to be freed.
    pub(crate) made: Vec<Handle>,
}

impl Datatypes {
    fn arguments<T: Pod>(
        &self,
        call: &'static str,
        parts: &CountsDispls,
    ) -> Result<CallArguments, MpiError> {
        let datatype = self.datatype_of_width(size_of::<T>())?;
        let none = self.handles(std::iter::empty());
        if !parts.is_wide {
            let number =
                |n: &usize| c_int::try_from(*n).map_err(|_| MpiError::TooMany { call, n: *n });
            let counts = parts.counts.iter().map(number).collect::<Result<_, _>>()?;
            let starts = parts.starts.iter().map(number).collect::<Result<_, _>>()?;
            return Ok(CallArguments { counts, starts, datatype, list: none, made: Vec::new() });
        }
        let mut arguments = CallArguments {
            counts: Vec::new(),
            starts: vec![0; parts.counts.len()],
            datatype,
            list: none,
            made: Vec::new(),
        };
        let mut datatypes = Vec::new();
        for (n, start) in parts.counts.iter().zip(&parts.starts) {
            if *n == 0 {
                arguments.counts.push(0);
                datatypes.push(datatype);
                continue;
            }
            let part = self.placed::<T>(*start, *n)?;
            arguments.counts.push(1);
            arguments.made.push(part);
            datatypes.push(part);
        }
        arguments.list = self.handles(datatypes.into_iter());
        Ok(arguments)
    }

    fn forget(&self, made: Vec<Handle>) {
        for mut datatype in made {
            // The error cannot be reported; finalizing MPI frees the datatype as well.
            self.free_datatype(&mut datatype).unwrap_or_default();
        }
    }
}

impl CommBase {
    /// Sends each peer its part of `sent`, and receives its part of `received` from each: all ranks of the group, or
    /// of the other group where there are two.
    ///
    /// # Errors
    /// When the parts do not lie within the elements or there is not one for each peer, on
    /// [`MpiError::TooMany`], or when an MPI call fails.
    pub fn alltoallv<T: Pod>(
        &self,
        (sent, leaving): (&[T], &CountsDispls),
        (received, coming): (&mut [T], &CountsDispls),
    ) -> Result<(), MpiError> {
        const CALL: &str = "MPI_Alltoallv";
        self.mpi.enter()?;
        leaving.check(CALL, self.n_peers(), sent.len())?;
        coming.check(CALL, self.n_peers(), received.len())?;
        let (out, into) = (
            self.mpi.datatypes.arguments::<T>(CALL, leaving)?,
            self.mpi.datatypes.arguments::<T>(CALL, coming)?,
        );
        let (from, to) = (start_of(sent), start_of_room(received));
        let (n_out, at_out) = (out.counts.as_ptr(), out.starts.as_ptr());
        let (n_in, at_in) = (into.counts.as_ptr(), into.starts.as_ptr());
        let code = if leaving.is_wide || coming.is_wide {
            let (of_out, of_in) = (out.list.as_ptr(), into.list.as_ptr());
            let make = self.mpi.exchanges.alltoallw;
            // SAFETY: all parts lie within the elements, which are borrowed during the call; the lists have an entry for
            // each peer.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, self.comm) }
        } else {
            let make = self.mpi.exchanges.alltoallv;
            let (of_out, of_in) = (out.datatype, into.datatype);
            // SAFETY: as above.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, self.comm) }
        };
        self.mpi.datatypes.forget(out.made);
        self.mpi.datatypes.forget(into.made);
        self.mpi.check(CALL, code)
    }

    /// Starts the same with elements that belong to the request meanwhile.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn ialltoallv<T: Pod + Send, S: Source<T>>(
        &self,
        (sent, leaving): (S, &CountsDispls),
        (mut received, coming): (Vec<T>, &CountsDispls),
    ) -> Result<Request<(S, Vec<T>)>, MpiError> {
        const CALL: &str = "MPI_Ialltoallv";
        self.mpi.enter()?;
        leaving.check(CALL, self.n_peers(), sent.elements().len())?;
        coming.check(CALL, self.n_peers(), received.len())?;
        let (out, into) = (
            self.mpi.datatypes.arguments::<T>(CALL, leaving)?,
            self.mpi.datatypes.arguments::<T>(CALL, coming)?,
        );
        let (from, to) = (start_of(sent.elements()), start_of_room(&mut received));
        let (n_out, at_out) = (out.counts.as_ptr(), out.starts.as_ptr());
        let (n_in, at_in) = (into.counts.as_ptr(), into.starts.as_ptr());
        let (comm, mut handle) = (self.comm, 0);
        let request = &raw mut handle;
        let code = if leaving.is_wide || coming.is_wide {
            let (of_out, of_in) = (out.list.as_ptr(), into.list.as_ptr());
            let make = self.mpi.exchanges.ialltoallw;
            // SAFETY: all parts lie within the elements; these and the lists, which have an entry for each peer, stay
            // with the request until it is complete.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, comm, request) }
        } else {
            let make = self.mpi.exchanges.ialltoallv;
            let (of_out, of_in) = (out.datatype, into.datatype);
            // SAFETY: as above.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, comm, request) }
        };
        self.mpi.check(CALL, code)?;
        let mut kept = HeldMemory::new((sent, received));
        kept.keep(out);
        kept.keep(into);
        Ok(Request::new(&self.mpi, CALL, vec![PendingTransfer { handle, n_bytes: None }], kept))
    }
}

impl<B> HeldMemory<B> {
    pub(crate) fn keep(&mut self, arguments: CallArguments) {
        self.lists.extend([arguments.counts, arguments.starts]);
        self.handles.push(arguments.list);
        self.datatypes.extend(arguments.made);
    }
}
