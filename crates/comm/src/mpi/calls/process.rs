//! Processes that are started later.

use super::{Mpi, value};
use crate::CommError;
use crate::mpi::functions::Handle;
use std::ffi::{CString, c_char};

/// A program as `MPI_Comm_spawn` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) host: Option<CString>,
}

impl Mpi {
    /// Starts one process of `program`, as a world of its own, and the communicator with it.
    pub(crate) fn spawn(&self, program: &Program, own_self: Handle) -> Result<Handle, CommError> {
        let info = self.info(program)?;
        let mut arguments: Vec<*const c_char> =
            program.arguments.iter().map(|argument| argument.as_ptr()).collect();
        arguments.push(std::ptr::null());
        let (mut comm, mut failure): (Handle, _) = (0, 0);
        let path = program.path.as_ptr();
        // SAFETY: texts that end with zero, a list of them that ends with null, a communicator of ours
        // with one rank, and room for a handle and for one code.
        let code = unsafe {
            (self.functions.comm_spawn)(
                path,
                arguments.as_ptr(),
                1,
                info,
                0,
                own_self,
                &raw mut comm,
                &raw mut failure,
            )
        };
        self.free_info(info)?;
        self.check("MPI_Comm_spawn", code)?;
        self.check("MPI_Comm_spawn", failure)?;
        self.return_errors(comm)?;
        Ok(comm)
    }

    /// The communicator with the process that started this one.
    pub(crate) fn parent(&self) -> Result<Option<Handle>, CommError> {
        let mut comm: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (self.functions.comm_get_parent)(&raw mut comm) };
        self.check("MPI_Comm_get_parent", code)?;
        if comm == value(self.constants.comm_null)? {
            return Ok(None);
        }
        self.return_errors(comm)?;
        Ok(Some(comm))
    }

    /// Ends the connection with another world, together with it.
    pub(crate) fn disconnect(&self, mut comm: Handle) -> Result<(), CommError> {
        // SAFETY: a communicator between two worlds that its owner gives up.
        let code = unsafe { (self.functions.comm_disconnect)(&raw mut comm) };
        self.check("MPI_Comm_disconnect", code)
    }

    /// Says on which host the program is to run.
    fn info(&self, program: &Program) -> Result<Handle, CommError> {
        let Some(host) = &program.host else { return value(self.constants.info_null) };
        let mut info: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (self.functions.info_create)(&raw mut info) };
        self.check("MPI_Info_create", code)?;
        let is_open_mpi = self.library == mpi_abi::Library::OpenMpi;
        let key = if is_open_mpi { c"host" } else { c"hosts" };
        // SAFETY: an info of ours and texts that end with zero.
        let code = unsafe { (self.functions.info_set)(info, key.as_ptr(), host.as_ptr()) };
        self.check("MPI_Info_set", code)?;
        Ok(info)
    }

    fn free_info(&self, mut info: Handle) -> Result<(), CommError> {
        if info == value(self.constants.info_null)? {
            return Ok(());
        }
        // SAFETY: made by `info`, and used no more.
        let code = unsafe { (self.functions.info_free)(&raw mut info) };
        self.check("MPI_Info_free", code)
    }
}
