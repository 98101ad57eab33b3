//! The ranks of two groups, which may be of two worlds.
//!
//! Processes that are started, and those that connect later, are worlds of their own: a whole world can leave, once what
//! was merged is freed ([`Comm::free`]) and the communicator between the worlds disconnected
//! ([`Intercomm::disconnect`]), in this order, which works in Open MPI 5 and MPICH 5; Open MPI hangs when a merged
//! communicator is disconnected.
//!
//! # Not here
//! A deadline: these calls return when the other side makes its own, and cannot be interrupted. Who must not wait
//! makes them in a thread of its own, where [`Mpi::is_multiple`] says that it may.

use crate::calls::{Line, Mpi, Program, value};
use crate::functions::Handle;
use crate::{Channel, Comm, MpiError};
use std::ffi::{CString, OsStr, OsString, c_char, c_int};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The ranks of two groups: messages and what they do together go to the other one.
///
/// # Invariants
/// - Dropping it ends nothing, since both sides do that together: see [`disconnect`](Self::disconnect).
#[derive(Debug)]
pub struct Intercomm {
    channel: Channel,
}

/// Processes to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// The program.
    pub program: OsString,
    /// Its words after the name.
    pub arguments: Vec<OsString>,
    /// How many processes, which are one world.
    pub n: u32,
    /// Hosts, separated by commas; the launcher's choice when there are none.
    pub hosts: Option<String>,
    /// Further keys and values, in the words of the library.
    pub info: Vec<(String, String)>,
}

impl Spawn {
    /// `n` processes of a program without arguments, where the launcher likes.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>, n: u32) -> Self {
        let program = program.as_ref().to_owned();
        Self { program, arguments: Vec::new(), n, hosts: None, info: Vec::new() }
    }
}

/// A place where another world can connect.
#[derive(Debug)]
pub struct Port {
    name: CString,
    mpi: Arc<Mpi>,
}

impl Port {
    /// What the other world must know to connect; one line.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Closes it: nobody connects any more.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn close(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a port that was opened, and ends with this value.
        let code = unsafe { (self.mpi.worlds.close_port)(self.name.as_ptr()) };
        self.mpi.check("MPI_Close_port", code)
    }
}

impl Deref for Intercomm {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl Mpi {
    /// The group that started this process, on the first call; none where a launcher did.
    ///
    /// # Errors
    /// [`MpiError::ParentTaken`] on further calls; otherwise when the library refuses.
    pub fn take_parent(self: &Arc<Self>) -> Result<Option<Intercomm>, MpiError> {
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        self.enter()?;
        let Some(line) = self.parent()? else { return Ok(None) };
        if IS_TAKEN.swap(true, Ordering::AcqRel) {
            return Err(MpiError::ParentTaken);
        }
        Intercomm::new(self, line.0).map(Some)
    }

    /// Opens a place where another world can connect.
    ///
    /// # Errors
    /// When the library cannot: MPICH 5 needs `MPIR_CVAR_CH4_NETMOD=ofi` in its environment.
    pub fn open_port(self: &Arc<Self>) -> Result<Port, MpiError> {
        self.enter()?;
        let info = value(self.constants.info_null)?;
        let mut bytes = vec![0_u8; self.constants.max_port_name + 1];
        let to = bytes.as_mut_ptr().cast::<c_char>();
        // SAFETY: room for the longest name.
        let code = unsafe { (self.worlds.open_port)(info, to) };
        self.check("MPI_Open_port", code)?;
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        Ok(Port { name: text(&String::from_utf8_lossy(&bytes))?, mpi: Arc::clone(self) })
    }
}

impl Comm {
    /// Starts processes, together with all of this group; what rank `root` says is heard. It returns when they have come
    /// to their `MPI_Init`.
    ///
    /// # Errors
    /// When the library cannot (see [`Mpi::spawn_support`], which is not asked here), or the program does not start.
    pub fn spawn(&self, start: &Spawn, root: u32) -> Result<Intercomm, MpiError> {
        let root = self.peer(root)?;
        let path = words(start.program.as_encoded_bytes())?;
        let arguments = start.arguments.iter().map(|word| words(word.as_encoded_bytes()));
        let arguments = arguments.collect::<Result<_, _>>()?;
        let host = start.hosts.as_deref().map(text).transpose()?;
        let more: Result<Vec<_>, _> =
            start.info.iter().map(|(key, value)| Ok((text(key)?, text(value)?))).collect();
        let n = c_int::try_from(start.n).unwrap_or(c_int::MAX);
        let program = Program { path, arguments, host };
        let inter = self.mpi.spawn_many(&program, (n, &more?), self.handle(), root)?;
        Intercomm::new(self.mpi(), inter)
    }

    /// Joins this group with another, whose ranks call the same with each other's leaders: `local_leader` is a rank of
    /// this group, and in it `peer` is a group that has both leaders and the number of the other one there. What other
    /// ranks say of `peer` is not heard.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
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

    /// Waits for another world to connect to a port that rank `root` has opened; all of this group call it.
    ///
    /// # Errors
    /// When there is no such rank, or the library refuses.
    pub fn accept(&self, port: Option<&Port>, root: u32) -> Result<Intercomm, MpiError> {
        let name = port.map(|port| port.name.clone()).unwrap_or_default();
        self.meet("MPI_Comm_accept", self.mpi.worlds.accept, &name, root)
    }

    /// Connects with the world that has opened the port of this name; all of this group call it, and what rank `root`
    /// says is heard.
    ///
    /// # Errors
    /// When there is no such rank, nobody has opened that port, or the library refuses.
    pub fn connect(&self, port: &str, root: u32) -> Result<Intercomm, MpiError> {
        self.meet("MPI_Comm_connect", self.mpi.worlds.connect, &text(port)?, root)
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
        // SAFETY: a text that ends with zero, a communicator of ours, and room for a handle.
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
        Ok(Self { channel: Channel::new(mpi, Line(inter), Some(n_peers))? })
    }

    /// One group of both, together with the other side: the ranks of the side that says `is_high` come behind.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn merge(&self, is_high: bool) -> Result<Comm, MpiError> {
        self.mpi.enter()?;
        let mut merged: Handle = 0;
        let high = c_int::from(is_high);
        // SAFETY: a communicator between two groups, and room for a handle.
        let code = unsafe { (self.mpi.worlds.intercomm_merge)(self.comm, high, &raw mut merged) };
        self.mpi.check("MPI_Intercomm_merge", code)?;
        self.mpi.return_errors(merged)?;
        self.mpi.has_grown()?;
        Comm::new(&self.mpi, Line(merged))
    }

    /// Gives the communicator back, together with its other ranks; the worlds stay connected.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn free(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: nobody else has the communicator, and it ends with this value.
        unsafe { self.mpi.free(Line(self.comm)) }
    }

    /// Ends the connection, together with all ranks of both sides, once all transfers have come to their end. Worlds that
    /// have no other connection are independent then, and each can end.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn disconnect(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: nobody else has the communicator, and it ends with this value.
        unsafe { self.mpi.disconnect(Line(self.comm)) }
    }
}

fn words(bytes: &[u8]) -> Result<CString, MpiError> {
    let zero = |_| MpiError::ZeroByte { text: String::from_utf8_lossy(bytes).into_owned() };
    CString::new(bytes).map_err(zero)
}

fn text(text: &str) -> Result<CString, MpiError> {
    words(text.as_bytes())
}
