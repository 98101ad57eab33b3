//! Processes that are started later.

use super::{Line, Mpi, value};
use crate::MpiError;
use crate::functions::Handle;
use std::ffi::{CString, c_char};

/// A program as `MPI_Comm_spawn` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file, or a name that the launcher finds.
    pub path: CString,
    /// Its words after the name.
    pub arguments: Vec<CString>,
    /// Where it runs; the launcher's choice when there is none.
    pub host: Option<CString>,
}

impl Mpi {
    /// Starts one process of `program`, as a world of its own, and the line to it; `own_self` is one of
    /// [`own_self`](Self::own_self) that no other thread uses meanwhile.
    ///
    /// # Errors
    /// When the library cannot, or the program does not start.
    pub fn spawn(&self, program: &Program, own_self: Line) -> Result<Line, MpiError> {
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
                own_self.0,
                &raw mut comm,
                &raw mut failure,
            )
        };
        self.free_info(info)?;
        self.check("MPI_Comm_spawn", code)?;
        self.check("MPI_Comm_spawn", failure)?;
        self.return_errors(comm)?;
        Ok(Line(comm))
    }

    /// The line to the process that started this one.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn parent(&self) -> Result<Option<Line>, MpiError> {
        let mut comm: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (self.functions.comm_get_parent)(&raw mut comm) };
        self.check("MPI_Comm_get_parent", code)?;
        if comm == value(self.constants.comm_null)? {
            return Ok(None);
        }
        self.return_errors(comm)?;
        Ok(Some(Line(comm)))
    }

    /// Ends the connection with another world, together with it.
    ///
    /// # Errors
    /// When the library refuses.
    ///
    /// # Safety
    /// The line is used no more, in none of its copies.
    pub unsafe fn disconnect(&self, mut line: Line) -> Result<(), MpiError> {
        // SAFETY: a communicator between two worlds that its owner gives up.
        let code = unsafe { (self.functions.comm_disconnect)(&raw mut line.0) };
        self.check("MPI_Comm_disconnect", code)
    }

    /// Says on which host the program is to run.
    fn info(&self, program: &Program) -> Result<Handle, MpiError> {
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

    fn free_info(&self, mut info: Handle) -> Result<(), MpiError> {
        if info == value(self.constants.info_null)? {
            return Ok(());
        }
        // SAFETY: made by `info`, and used no more.
        let code = unsafe { (self.functions.info_free)(&raw mut info) };
        self.check("MPI_Info_free", code)
    }
}
