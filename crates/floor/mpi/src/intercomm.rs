//! Communicators between two groups, which may belong to different worlds.
//!
//! Processes that are started or connect at run time are worlds of their own. A whole world can leave once the merged
//! communicator is freed ([`Comm::free`]) and the communicator between the worlds disconnected
//! ([`Intercomm::disconnect`]), in this order, which works in Open MPI 5 and MPICH 5; Open MPI hangs when a merged
//! communicator is disconnected.
//!
//! # Not here
//! A deadline: these calls return when the other side makes its own, and cannot be interrupted. A caller that must not
//! wait makes them in another thread, where [`Mpi::is_multiple`] allows it.

use crate::calls::{CommHandle, Mpi, Spawn, c_string};
use crate::functions::{Handle, value};
use crate::{Comm, CommBase, MpiError};
use std::ffi::{CString, c_char, c_int};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two groups of ranks: messages and collective operations go to the other group.
///
/// # Invariants
/// - Dropping it does not free it, because that is collective over both sides: see [`disconnect`](Self::disconnect).
#[derive(Debug)]
pub struct Intercomm {
    base: CommBase,
}

/// A port to which another world can connect.
#[derive(Debug)]
pub struct Port {
    name: CString,
    mpi: Arc<Mpi>,
}

impl Port {
    /// Returns the name that the other world needs to connect; one line.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Closes the port for further connections.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn close(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a port that was opened, and ends with this value.
        let code = unsafe { (self.mpi.worlds.close_port)(self.name.as_ptr()) };
        self.mpi.check("MPI_Close_port", code)
    }
}

impl Deref for Intercomm {
    type Target = CommBase;

    fn deref(&self) -> &CommBase {
        &self.base
    }
}

impl Mpi {
    /// Returns the connection with the group that started this process, on the first call; `None` where a launcher did.
    ///
    /// # Errors
    /// [`MpiError::ParentTaken`] on further calls; otherwise when an MPI call fails.
    pub fn take_parent(self: &Arc<Self>) -> Result<Option<Intercomm>, MpiError> {
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        self.enter()?;
        let Some(comm) = self.parent()? else { return Ok(None) };
        if IS_TAKEN.swap(true, Ordering::AcqRel) {
            return Err(MpiError::ParentTaken);
        }
        Intercomm::new(self, comm.0).map(Some)
    }

    /// Opens a port to which another world can connect.
    ///
    /// # Errors
    /// When the library does not support it: MPICH 5 needs `MPIR_CVAR_CH4_NETMOD=ofi` in its environment.
    pub fn open_port(self: &Arc<Self>) -> Result<Port, MpiError> {
        self.enter()?;
        let info = value(self.constants.info_null)?;
        let mut bytes = vec![0_u8; self.constants.max_port_name + 1];
        let to = bytes.as_mut_ptr().cast::<c_char>();
        // SAFETY: room for the longest name.
        let code = unsafe { (self.worlds.open_port)(info, to) };
        self.check("MPI_Open_port", code)?;
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        Ok(Port { name: c_string(&bytes)?, mpi: Arc::clone(self) })
    }
}

impl Comm {
    /// Starts processes; collective over this group, with arguments significant only at `root`. Returns when the
    /// processes have called `MPI_Init`.
    ///
    /// # Errors
    /// When the library does not support it (see [`Mpi::spawn_support`], which is not checked here), or the program does
    /// not start.
    pub fn spawn(&self, start: &Spawn, root: u32) -> Result<Intercomm, MpiError> {
        let root = self.peer(root)?;
        let inter = start.start(&self.mpi, self.handle(), root)?;
        Intercomm::new(self.mpi(), inter)
    }

    /// Connects this group with another, whose ranks make the matching call (`MPI_Intercomm_create`). `local_leader` is a
    /// rank of this group. At that rank, `peer` is a communicator that contains both leaders, and the rank of the other
    /// leader in it; on other ranks `peer` is ignored.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn join(
        &self,
        local_leader: u32,
        peer: Option<(&Comm, u32)>,
        tag: u16,
    ) -> Result<Intercomm, MpiError> {
        let leader = self.peer(local_leader)?;
        let (between, other) = match peer {
            Some((between, rank)) => (between.handle(), between.peer(rank)?),
            None => (value(self.mpi.constants.comm_null)?, 0),
        };
        let (own, tag) = (self.handle(), c_int::from(tag));
        let mut inter: Handle = 0;
        // SAFETY: communicators of ours, and room for a handle.
        let code = unsafe {
            (self.mpi.worlds.intercomm_create)(own, leader, between, other, tag, &raw mut inter)
        };
        self.mpi.check("MPI_Intercomm_create", code)?;
        self.mpi.return_errors(inter)?;
        Intercomm::new(self.mpi(), inter)
    }

    /// Waits for another world to connect to a port that rank `root` has opened; collective over this group.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn accept(&self, port: Option<&Port>, root: u32) -> Result<Intercomm, MpiError> {
        let name = port.map(|port| port.name.clone()).unwrap_or_default();
        self.meet("MPI_Comm_accept", self.mpi.worlds.accept, &name, root)
    }

    /// Connects with the world that has opened the port of this name; collective over this group, with the name
    /// significant only at `root`.
    ///
    /// # Errors
    /// When there is no such rank, no world has opened that port, or an MPI call fails.
    pub fn connect(&self, port: &str, root: u32) -> Result<Intercomm, MpiError> {
        self.meet("MPI_Comm_connect", self.mpi.worlds.connect, &c_string(port.as_bytes())?, root)
    }

    fn meet(
        &self,
        call: &'static str,
        make: unsafe extern "C" fn(*const c_char, Handle, c_int, Handle, *mut Handle) -> c_int,
        port: &CString,
        root: u32,
    ) -> Result<Intercomm, MpiError> {
        let (root, info) = (self.peer(root)?, value(self.mpi.constants.info_null)?);
        let mut inter: Handle = 0;
        // SAFETY: a NUL-terminated string, a communicator of ours, and room for a handle.
        let code = unsafe { make(port.as_ptr(), info, root, self.handle(), &raw mut inter) };
        self.mpi.check(call, code)?;
        self.mpi.return_errors(inter)?;
        Intercomm::new(self.mpi(), inter)
    }
}

impl Intercomm {
    pub(crate) fn new(mpi: &Arc<Mpi>, inter: Handle) -> Result<Self, MpiError> {
        let mut n_peers = 0;
        // SAFETY: a communicator between two groups, and room for an `int`.
        let code = unsafe { (mpi.worlds.comm_remote_size)(inter, &raw mut n_peers) };
        mpi.check("MPI_Comm_remote_size", code)?;
        let n_peers = u32::try_from(n_peers).unwrap_or_default();
        Ok(Self { base: CommBase::new(mpi, CommHandle(inter), Some(n_peers))? })
    }

    /// Merges both groups into one, collectively over both; the ranks of the side with `is_high` come last.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn merge(&self, is_high: bool) -> Result<Comm, MpiError> {
        self.mpi.enter()?;
        let mut merged: Handle = 0;
        let high = c_int::from(is_high);
        // SAFETY: a communicator between two groups, and room for a handle.
        let code = unsafe { (self.mpi.worlds.intercomm_merge)(self.comm, high, &raw mut merged) };
        self.mpi.check("MPI_Intercomm_merge", code)?;
        self.mpi.return_errors(merged)?;
        crate::calls::has_grown(&self.mpi)?;
        Comm::new(&self.mpi, CommHandle(merged))
    }

    /// Frees the communicator, collectively; the worlds stay connected.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn free(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: the communicator has no other owner, and ends with this value.
        unsafe { self.mpi.free(CommHandle(self.comm)) }
    }

    /// Disconnects, collectively over both sides, once all transfers are complete. Worlds without
    /// another connection are then independent, and each can end.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn disconnect(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: the communicator has no other owner, and ends with this value.
        unsafe { self.mpi.disconnect(CommHandle(self.comm)) }
    }
}
