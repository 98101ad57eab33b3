//! MPI calls that cannot be misused: errors are values, and buffers outlive their transfers.
//!
//! # Invariants
//! - One thread at a time calls: whoever has the `Mpi` is the only one to use it, and the library was
//!   initialized for calls of one thread after another. Only processes are started by several threads at a time,
//!   where the library says that it can.
//!
//! # Not here
//! Whom to send to and when: [`MpiTransport`](super::MpiTransport).

mod datatype;
mod exit;
mod process;
mod transfer;

use super::functions::{Entrance, Functions, Handle};
use super::library;
use super::watch::watched;
use crate::CommError;
use mpi_abi::{Constants, Library, StatusLayout};
use std::ffi::{CString, c_char, c_int};

pub use datatype::Datatype;
pub(crate) use process::Program;
pub(crate) use transfer::{Address, Found, Transfer};

/// Longest text that a library returns (MPICH's description of itself).
const TEXT_BYTES_MAX: usize = 8192;

/// An initialized MPI library.
#[derive(Debug)]
pub(crate) struct Mpi {
    library: Library,
    constants: &'static Constants,
    layout: StatusLayout,
    entrance: Entrance,
    functions: Functions,
    byte: Handle,
}

impl Mpi {
    /// Initializes the library, unless the program has done so; `is_multiple` asks for calls of several threads at
    /// a time, which a library may not grant.
    pub(crate) fn init(is_multiple: bool) -> Result<Self, CommError> {
        let library = library::load()?;
        let constants = library.constants();
        let entrance = Entrance::find()?;
        if entrance.is(entrance.finalized) {
            return Err(CommError::Finalized);
        }
        let is_ours = !entrance.is(entrance.initialized);
        if is_ours {
            let Constants { thread_serialized, thread_multiple, .. } = *constants;
            let level = if is_multiple { thread_multiple } else { thread_serialized };
            watched("MPI_Init_thread", || entrance.init(level))?;
        }
        if entrance.thread_level() < constants.thread_serialized {
            return Err(CommError::ThreadLevel);
        }
        let functions = Functions::find()?;
        let byte = value(constants.byte)?;
        let layout = library.status_layout();
        let mpi = Self { library, constants, layout, entrance, functions, byte };
        if is_ours {
            mpi.end_with_process()?;
        }
        Self::opened();
        Ok(mpi)
    }

    /// Whether several threads may call at a time.
    pub(crate) fn is_multiple(&self) -> bool {
        self.constants.thread_multiple <= self.entrance.thread_level()
    }

    /// What the library says of itself.
    pub(crate) fn version(&self) -> String {
        text(|bytes, n_bytes| {
            // SAFETY: room for the longest text of any library, and for its length.
            unsafe { (self.entrance.get_library_version)(bytes, n_bytes) }
        })
    }

    /// A communicator of ours with the ranks of all that were launched together.
    pub(crate) fn own_world(&self) -> Result<Handle, CommError> {
        self.duplicate(value(self.constants.comm_world)?)
    }

    /// A communicator of ours with this rank only.
    pub(crate) fn own_self(&self) -> Result<Handle, CommError> {
        self.duplicate(value(self.constants.comm_self)?)
    }

    fn duplicate(&self, comm: Handle) -> Result<Handle, CommError> {
        let mut copy: Handle = 0;
        let duplicate = || {
            // SAFETY: a predefined communicator, and room for a handle.
            unsafe { (self.functions.comm_dup)(comm, &raw mut copy) }
        };
        let code = watched("MPI_Comm_dup", duplicate);
        self.check("MPI_Comm_dup", code)?;
        self.return_errors(copy)?;
        Ok(copy)
    }

    /// Frees a communicator of ours.
    pub(crate) fn free(&self, mut comm: Handle) -> Result<(), CommError> {
        let free = || {
            // SAFETY: `comm` came from `duplicate`, and its owner gives it up.
            unsafe { (self.functions.comm_free)(&raw mut comm) }
        };
        let code = watched("MPI_Comm_free", free);
        self.check("MPI_Comm_free", code)
    }

    /// Makes errors on `comm` values instead of the end of the program.
    fn return_errors(&self, comm: Handle) -> Result<(), CommError> {
        let handler = value(self.constants.errors_return)?;
        // SAFETY: a communicator of ours and a predefined error handler.
        let code = unsafe { (self.functions.comm_set_errhandler)(comm, handler) };
        self.check("MPI_Comm_set_errhandler", code)
    }

    /// Number of this process in `comm`, and the number of all there.
    pub(crate) fn place(&self, comm: Handle) -> Result<(u32, u32), CommError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator of ours, and room for an `int`.
        let code = unsafe { (self.functions.comm_rank)(comm, &raw mut rank) };
        self.check("MPI_Comm_rank", code)?;
        // SAFETY: as above.
        let code = unsafe { (self.functions.comm_size)(comm, &raw mut size) };
        self.check("MPI_Comm_size", code)?;
        Ok((u32::try_from(rank).unwrap_or_default(), u32::try_from(size).unwrap_or_default()))
    }

    /// The error of a call that returned `code`.
    fn check(&self, call: &'static str, code: c_int) -> Result<(), CommError> {
        failure(self.functions.error_string, call, code).map_or(Ok(()), Err)
    }
}

impl Entrance {
    /// What one of the questions with a flag for an answer says.
    fn is(&self, question: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
        let mut flag = 0;
        // SAFETY: `MPI_Initialized` or `MPI_Finalized`, which may be called at any time.
        let code = unsafe { question(&raw mut flag) };
        code == 0 && flag != 0
    }

    fn init(&self, level: c_int) -> Result<(), CommError> {
        let mut provided = 0;
        let nothing = std::ptr::null_mut;
        // SAFETY: not initialized yet; the arguments of `main` may be left out.
        let code =
            unsafe { (self.init_thread)(nothing(), nothing().cast(), level, &raw mut provided) };
        let why = || "the library's own words are above".to_owned();
        let failed = || CommError::Mpi { call: "MPI_Init_thread", code, why: why() };
        (code == 0).then_some(()).ok_or_else(failed)
    }

    fn thread_level(&self) -> c_int {
        let mut level = 0;
        // SAFETY: initialized.
        let code = unsafe { (self.query_thread)(&raw mut level) };
        if code == 0 { level } else { 0 }
    }
}

/// `MPI_Error_string`.
type ErrorString = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;

/// What a call that returned `code` failed with, if it did.
fn failure(error_string: ErrorString, call: &'static str, code: c_int) -> Option<CommError> {
    if code == 0 {
        return None;
    }
    let why = text(|bytes, n_bytes| {
        // SAFETY: a code that the library returned, and room for its longest text.
        unsafe { error_string(code, bytes, n_bytes) }
    });
    Some(CommError::Mpi { call, code, why })
}

/// The value of a predefined handle in this process.
fn value(handle: mpi_abi::Handle) -> Result<Handle, CommError> {
    match handle {
        mpi_abi::Handle::Value(value) => Ok(value as Handle),
        mpi_abi::Handle::AddressOf(name) => {
            let missing = CommError::NoFunction { name };
            let symbol = CString::new(name).ok().and_then(|name| library::symbol(&name));
            symbol.map(|address| address.as_ptr() as Handle).ok_or(missing)
        }
    }
}

/// The text that `write` writes, given room for it and for its length.
fn text(write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut bytes = vec![0_u8; TEXT_BYTES_MAX];
    let mut n_bytes = 0;
    let code = write(bytes.as_mut_ptr().cast(), &raw mut n_bytes);
    bytes.truncate(if code == 0 { usize::try_from(n_bytes).unwrap_or_default() } else { 0 });
    String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).to_owned()
}
