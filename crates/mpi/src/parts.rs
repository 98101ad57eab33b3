//! Each rank sends a part of its elements to each other one: all to all.
//!
//! Where a count does not fit an `int`, each part becomes a datatype that says where it begins and how long it is. All
//! ranks must do the same, so they are told to by [`Parts::wide`].

use crate::calls::Mpi;
use crate::channel::Channel;
use crate::elements::{Handles, start_of, start_of_room};
use crate::functions::Handle;
use crate::request::{Kept, Open, Request};
use crate::{MpiError, Source};
use bytemuck::Pod;
use std::ffi::c_int;

/// Which elements go to each rank, or come from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    counts: Vec<usize>,
    starts: Vec<usize>,
    is_wide: bool,
}

impl Parts {
    /// So many for each rank, one part behind the other.
    #[must_use]
    pub fn new(counts: &[usize]) -> Self {
        let ends = counts.iter().scan(0, |end, n| {
            *end += n;
            Some(*end - n)
        });
        Self { counts: counts.to_vec(), starts: ends.collect(), is_wide: false }
    }

    /// Where each part begins, and how many elements it has. Parts that come must not overlap.
    #[must_use]
    pub fn at(parts: &[(usize, usize)]) -> Self {
        let (starts, counts) = parts.iter().copied().unzip();
        Self { counts, starts, is_wide: false }
    }

    /// The same for counts beyond 2³¹ - 1: said on all ranks, if on one.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    /// The largest number that the call is given: when it is below 2³¹ on all ranks, [`wide`](Self::wide) is not needed.
    #[must_use]
    pub fn n_max(&self) -> usize {
        self.counts.iter().chain(&self.starts).copied().max().unwrap_or_default()
    }

    /// Whether the parts are those of `n_peers` ranks and lie within `n_all` elements.
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

/// Parts as the library is told them.
pub(crate) struct Told {
    pub(crate) counts: Vec<c_int>,
    pub(crate) starts: Vec<c_int>,
    /// Of all parts, or one of each.
    pub(crate) datatype: Handle,
    pub(crate) list: Handles,
    /// To be freed.
    pub(crate) made: Vec<Handle>,
}

impl Mpi {
    fn told<T: Pod>(&self, call: &'static str, parts: &Parts) -> Result<Told, MpiError> {
        let datatype = self.datatype_of_width(size_of::<T>())?;
        let none = Handles::of(self.constants, std::iter::empty());
        if !parts.is_wide {
            let number =
                |n: &usize| c_int::try_from(*n).map_err(|_| MpiError::TooMany { call, n: *n });
            let counts = parts.counts.iter().map(number).collect::<Result<_, _>>()?;
            let starts = parts.starts.iter().map(number).collect::<Result<_, _>>()?;
            return Ok(Told { counts, starts, datatype, list: none, made: Vec::new() });
        }
        let mut told = Told {
            counts: Vec::new(),
            starts: vec![0; parts.counts.len()],
            datatype,
            list: none,
            made: Vec::new(),
        };
        let mut datatypes = Vec::new();
        for (n, start) in parts.counts.iter().zip(&parts.starts) {
            if *n == 0 {
                told.counts.push(0);
                datatypes.push(datatype);
                continue;
            }
            let part = self.placed::<T>(*start, *n)?;
            told.counts.push(1);
            told.made.push(part);
            datatypes.push(part);
        }
        told.list = Handles::of(self.constants, datatypes.into_iter());
        Ok(told)
    }

    fn forget(&self, made: Vec<Handle>) {
        for mut datatype in made {
            // There is nobody to tell; the end of MPI frees it as well.
            self.free_datatype(&mut datatype).unwrap_or_default();
        }
    }
}

impl Channel {
    /// Sends each rank its part of `sent`, and receives its part of `received` from each: all of the group, or those of
    /// the other group where there are two.
    ///
    /// # Errors
    /// When the parts do not lie within the elements or are not as many as there are peers, on
    /// [`MpiError::TooMany`], or when the library refuses.
    pub fn alltoallv<T: Pod>(
        &self,
        (sent, leaving): (&[T], &Parts),
        (received, coming): (&mut [T], &Parts),
    ) -> Result<(), MpiError> {
        const CALL: &str = "MPI_Alltoallv";
        self.mpi.enter()?;
        leaving.check(CALL, self.n_peers(), sent.len())?;
        coming.check(CALL, self.n_peers(), received.len())?;
        let (out, into) = (self.mpi.told::<T>(CALL, leaving)?, self.mpi.told::<T>(CALL, coming)?);
        let (from, to) = (start_of(sent), start_of_room(received));
        let (n_out, at_out) = (out.counts.as_ptr(), out.starts.as_ptr());
        let (n_in, at_in) = (into.counts.as_ptr(), into.starts.as_ptr());
        let code = if leaving.is_wide || coming.is_wide {
            let (of_out, of_in) = (out.list.as_ptr(), into.list.as_ptr());
            let make = self.mpi.exchanges.alltoallw;
            // SAFETY: all parts lie within the elements, which are borrowed during the call; lists for all peers.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, self.comm) }
        } else {
            let make = self.mpi.exchanges.alltoallv;
            let (of_out, of_in) = (out.datatype, into.datatype);
            // SAFETY: as above.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, self.comm) }
        };
        self.mpi.forget(out.made);
        self.mpi.forget(into.made);
        self.mpi.check(CALL, code)
    }

    /// Begins the same with elements that belong to the request meanwhile.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn ialltoallv<T: Pod + Send, S: Source<T>>(
        &self,
        (sent, leaving): (S, &Parts),
        (mut received, coming): (Vec<T>, &Parts),
    ) -> Result<Request<(S, Vec<T>)>, MpiError> {
        const CALL: &str = "MPI_Ialltoallv";
        self.mpi.enter()?;
        leaving.check(CALL, self.n_peers(), sent.elements().len())?;
        coming.check(CALL, self.n_peers(), received.len())?;
        let (out, into) = (self.mpi.told::<T>(CALL, leaving)?, self.mpi.told::<T>(CALL, coming)?);
        let (from, to) = (start_of(sent.elements()), start_of_room(&mut received));
        let (n_out, at_out) = (out.counts.as_ptr(), out.starts.as_ptr());
        let (n_in, at_in) = (into.counts.as_ptr(), into.starts.as_ptr());
        let (comm, mut handle) = (self.comm, 0);
        let request = &raw mut handle;
        let code = if leaving.is_wide || coming.is_wide {
            let (of_out, of_in) = (out.list.as_ptr(), into.list.as_ptr());
            let make = self.mpi.exchanges.ialltoallw;
            // SAFETY: all parts lie within the elements; these and the lists, which are for all peers, stay with the
            // request until it is complete.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, comm, request) }
        } else {
            let make = self.mpi.exchanges.ialltoallv;
            let (of_out, of_in) = (out.datatype, into.datatype);
            // SAFETY: as above.
            unsafe { make(from, n_out, at_out, of_out, to, n_in, at_in, of_in, comm, request) }
        };
        self.mpi.check(CALL, code)?;
        let mut kept = Kept::new((sent, received));
        kept.keep(out);
        kept.keep(into);
        Ok(Request::new(&self.mpi, CALL, vec![Open { handle, n_bytes: None }], kept))
    }
}

impl<B> Kept<B> {
    pub(crate) fn keep(&mut self, told: Told) {
        self.lists.extend([told.counts, told.starts]);
        self.handles.push(told.list);
        self.datatypes.extend(told.made);
    }
}
