//! Exchanges stretches of arrays between ranks.
//!
//! All stretches that one rank sends to another, from any number of arrays, are one message: a derived datatype of
//! their addresses. Sender and receiver name them in the same order.
//!
//! # Invariants
//! - Memory in transit belongs to the [`Exchange`], which returns it once complete. When it is dropped before, the
//!   memory is leaked, because the library may still use it.

mod side;

use crate::calls::Mpi;
use crate::elements::start_of_room;
use crate::functions::Handle;
use crate::memory::{Memory, SharedBuffer};
use crate::request::keep_open;
use crate::{Comm, CommBase, MpiError};
use side::{Side, received, sent};
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A contiguous part of an array that another rank sends or gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The other rank.
    pub peer: u32,
    /// Offset of its first byte.
    pub start: usize,
    /// Length, in bytes.
    pub n_bytes: usize,
}

/// Arrays to send stretches of, and arrays to receive stretches into. A rank sends nothing to itself.
#[derive(Default)]
pub struct Bundle {
    /// Arrays to send from.
    pub sent: Vec<(SharedBuffer, Vec<ByteRange>)>,
    /// Arrays to receive into.
    pub received: Vec<(Box<dyn Memory>, Vec<ByteRange>)>,
}

/// A bundle in transit.
pub struct Exchange {
    mpi: Arc<Mpi>,
    requests: Vec<Handle>,
    bundle: ManuallyDrop<Bundle>,
    /// Lists that the library may read until the exchange is complete.
    lists: ManuallyDrop<Vec<Side>>,
    is_done: bool,
}

impl Comm {
    /// Starts an exchange with all ranks (`MPI_Ialltoallw`), with one datatype for each message; collective.
    ///
    /// # Errors
    /// When there is no such rank, a stretch is longer than its array, or an MPI call fails.
    pub fn start_exchange(&self, bundle: Bundle) -> Result<Exchange, MpiError> {
        self.exchange(bundle, None, true)
    }

    /// Does the same, and waits until the part of this rank is done (`MPI_Alltoallw`).
    ///
    /// # Errors
    /// As [`start_exchange`](Self::start_exchange).
    pub fn exchange_now(&self, bundle: Bundle) -> Result<Exchange, MpiError> {
        self.exchange(bundle, None, false)
    }

    /// Does the same for one array of elements of `width` bytes, with at most one stretch to and from each rank
    /// (`MPI_Ialltoallv`).
    ///
    /// # Errors
    /// As [`start_exchange`](Self::start_exchange); [`MpiError::TooLong`] beyond 2³¹ elements.
    pub fn start_exchange_of_rows(
        &self,
        bundle: Bundle,
        width: usize,
    ) -> Result<Exchange, MpiError> {
        self.exchange(bundle, Some(width), true)
    }

    /// Does the same, and waits until the part of this rank is done (`MPI_Alltoallv`).
    ///
    /// # Errors
    /// As [`start_exchange_of_rows`](Self::start_exchange_of_rows).
    pub fn exchange_rows_now(&self, bundle: Bundle, width: usize) -> Result<Exchange, MpiError> {
        self.exchange(bundle, Some(width), false)
    }

    fn exchange(
        &self,
        mut bundle: Bundle,
        width: Option<usize>,
        is_started: bool,
    ) -> Result<Exchange, MpiError> {
        let sent = sent(&bundle)?;
        let received = received(&mut bundle)?;
        let datatype =
            width.map(|width| self.mpi.datatypes.datatype_of_width(width)).transpose()?;
        let sides = match width {
            Some(width) => {
                vec![Side::rows(self, &sent, width)?, Side::rows(self, &received, width)?]
            }
            None => vec![Side::derived(self, &sent)?, Side::derived(self, &received)?],
        };
        let mut exchange = Exchange::of(&self.mpi, bundle, sides);
        let request = exchange.call(self.comm, datatype, is_started)?;
        exchange.requests.extend(request);
        exchange.is_done = !is_started;
        Ok(exchange)
    }
}

impl CommBase {
    /// Starts an exchange only with ranks that have stretches in the bundle, in one message each (`MPI_Isend`,
    /// `MPI_Irecv`).
    ///
    /// # Errors
    /// When there is no such rank, a stretch is longer than its array, or an MPI call fails.
    pub fn start_messages(&self, mut bundle: Bundle, tag: u16) -> Result<Exchange, MpiError> {
        let (sent, received) = (sent(&bundle)?, received(&mut bundle)?);
        let (functions, tag) = (&self.mpi.functions, c_int::from(tag));
        let mut exchange = Exchange::of(&self.mpi, bundle, Vec::new());
        for (peer, blocks) in (0..).zip(&received).filter(|(_, blocks)| !blocks.is_empty()) {
            let (rank, mut datatype) = (self.peer(peer)?, self.mpi.datatypes.ranges(blocks)?);
            let (bottom, mut request) = (std::ptr::null_mut(), 0);
            // SAFETY: a datatype of addresses inside arrays that the exchange keeps until they are received.
            let code = unsafe {
                (functions.irecv)(bottom, 1, datatype, rank, tag, self.comm, &raw mut request)
            };
            self.mpi.check("MPI_Irecv", code)?;
            exchange.requests.push(request);
            self.mpi.datatypes.free_datatype(&mut datatype)?;
        }
        for (peer, blocks) in (0..).zip(&sent).filter(|(_, blocks)| !blocks.is_empty()) {
            let (rank, mut datatype) = (self.peer(peer)?, self.mpi.datatypes.ranges(blocks)?);
            let (bottom, mut request) = (std::ptr::null(), 0);
            // SAFETY: a datatype of addresses inside arrays that the exchange keeps until they are sent.
            let code = unsafe {
                (functions.isend)(bottom, 1, datatype, rank, tag, self.comm, &raw mut request)
            };
            self.mpi.check("MPI_Isend", code)?;
            exchange.requests.push(request);
            self.mpi.datatypes.free_datatype(&mut datatype)?;
        }
        Ok(exchange)
    }
}

impl Comm {
    /// Starts a broadcast of the bytes of `root` (`MPI_Ibcast`); all ranks have equally much memory.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn start_broadcast(
        &self,
        memory: Box<dyn Memory>,
        root: u32,
    ) -> Result<Exchange, MpiError> {
        let root = self.peer(root)?;
        let mut bundle = Bundle { sent: Vec::new(), received: vec![(memory, Vec::new())] };
        let bytes = (*bundle.received[0].0).as_mut();
        let (start, moved) =
            (start_of_room(bytes), self.mpi.datatypes.elements::<u8>(bytes.len())?);
        let mut exchange = Exchange::of(&self.mpi, bundle, Vec::new());
        let mut request = 0;
        let broadcast = self.mpi.exchanges.ibcast;
        // SAFETY: as many bytes as the memory has, which the exchange keeps until it is complete.
        let code =
            unsafe { broadcast(start, moved.n, moved.datatype, root, self.comm, &raw mut request) };
        self.mpi.check("MPI_Ibcast", code)?;
        exchange.requests.push(request);
        Ok(exchange)
    }

    /// Starts a barrier (`MPI_Ibarrier`).
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn start_barrier(&self) -> Result<Exchange, MpiError> {
        self.mpi.enter()?;
        let mut exchange = Exchange::of(&self.mpi, Bundle::default(), Vec::new());
        let mut request = 0;
        // SAFETY: a communicator of ours, and room for a request.
        let code = unsafe { (self.mpi.functions.ibarrier)(self.comm, &raw mut request) };
        self.mpi.check("MPI_Ibarrier", code)?;
        exchange.requests.push(request);
        Ok(exchange)
    }
}

impl Exchange {
    fn of(mpi: &Arc<Mpi>, bundle: Bundle, lists: Vec<Side>) -> Self {
        let (bundle, lists) = (ManuallyDrop::new(bundle), ManuallyDrop::new(lists));
        Self { mpi: Arc::clone(mpi), requests: Vec::new(), bundle, lists, is_done: false }
    }

    /// Returns whether this rank's part is complete; makes progress on all transfers of the process.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn is_complete(&mut self) -> Result<bool, MpiError> {
        if !self.is_done {
            self.is_done = keep_open(&self.mpi, &mut self.requests, |request| request)?;
        }
        Ok(self.is_done)
    }

    /// Returns the bundle, if the exchange [is complete](Self::is_complete).
    #[must_use]
    pub fn finished(mut self) -> Option<Bundle> {
        self.is_done.then(|| std::mem::take(&mut *self.bundle))
    }

    /// Makes the collective call, with one datatype of elements or with one for each rank.
    fn call(
        &mut self,
        comm: Handle,
        element: Option<Handle>,
        is_started: bool,
    ) -> Result<Option<Handle>, MpiError> {
        let [from, to] = self.lists.as_slice() else { return Ok(None) };
        let functions = &self.mpi.exchanges;
        let (read, write) = (from.base as *const c_void, to.base as *mut c_void);
        let [n_read, n_write] = [from, to].map(|side| side.counts.as_ptr());
        let [at_read, at_write] = [from, to].map(|side| side.displacements.as_ptr());
        let [of_read, of_write] = [from, to].map(|side| side.list.as_ptr());
        let mut request = 0;
        let made = &raw mut request;
        let (call, code) = match (element, is_started) {
            (Some(element), true) => ("MPI_Ialltoallv", {
                // SAFETY: lists with an entry for each rank, of elements inside arrays; the exchange keeps both until it
                // is complete.
                unsafe {
                    (functions.ialltoallv)(
                        read, n_read, at_read, element, write, n_write, at_write, element, comm,
                        made,
                    )
                }
            }),
            (Some(element), false) => ("MPI_Alltoallv", {
                // SAFETY: as above.
                unsafe {
                    (functions.alltoallv)(
                        read, n_read, at_read, element, write, n_write, at_write, element, comm,
                    )
                }
            }),
            (None, true) => ("MPI_Ialltoallw", {
                // SAFETY: as above; the datatypes hold addresses inside arrays.
                unsafe {
                    (functions.ialltoallw)(
                        read, n_read, at_read, of_read, write, n_write, at_write, of_write, comm,
                        made,
                    )
                }
            }),
            (None, false) => ("MPI_Alltoallw", {
                // SAFETY: as above.
                unsafe {
                    (functions.alltoallw)(
                        read, n_read, at_read, of_read, write, n_write, at_write, of_write, comm,
                    )
                }
            }),
        };
        self.mpi.check(call, code)?;
        for datatype in self.lists.iter().flat_map(|side| &side.datatypes).filter(|one| **one != 0)
        {
            self.mpi.datatypes.free_datatype(&mut datatype.clone())?;
        }
        Ok(is_started.then_some(request))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.is_done {
            drop(std::mem::take(&mut *self.bundle));
            drop(std::mem::take(&mut *self.lists));
        }
    }
}
