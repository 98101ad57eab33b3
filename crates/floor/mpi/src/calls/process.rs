//! Processes that are started at run time.

use super::{CommHandle, Mpi, value};
use crate::MpiError;
use crate::functions::Handle;
use std::ffi::{CString, c_char, c_int};

/// Program to start by `MPI_Comm_spawn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Path, or a name that the launcher finds.
    pub path: CString,
    /// Arguments after the name.
    pub arguments: Vec<CString>,
    /// Host to run on; `None` leaves the choice to the launcher.
    pub host: Option<CString>,
}

impl Mpi {
    /// Starts one process of `program`, as a world of its own, and returns the connection with it; `own_self` comes
    /// from [`own_self`](Self::own_self), and no other thread may use it meanwhile.
    ///
    /// # Errors
    /// When the library does not support it, or the program does not start.
    pub fn spawn(&self, program: &Program, own_self: CommHandle) -> Result<CommHandle, MpiError> {
        self.spawn_many(program, (1, &[]), own_self.0, 0).map(CommHandle)
    }

    /// Starts `n` processes of `program` with further keys and values for the launcher, collectively over `comm`; the
    /// arguments are significant only at `root`.
    pub(crate) fn spawn_many(
        &self,
        program: &Program,
        (n, more): (c_int, &[(CString, CString)]),
        comm: Handle,
        root: c_int,
    ) -> Result<Handle, MpiError> {
        let info = self.info(program, more)?;
        let mut arguments: Vec<*const c_char> =
            program.arguments.iter().map(|argument| argument.as_ptr()).collect();
        arguments.push(std::ptr::null());
        let mut failures = vec![0; usize::try_from(n).unwrap_or_default()];
        let mut inter: Handle = 0;
        let path = program.path.as_ptr();
        // SAFETY: NUL-terminated strings, a list of them that ends with null, a communicator of ours, and room for a
        // handle and for an error code of each process.
        let code = unsafe {
            (self.functions.comm_spawn)(
                path,
                arguments.as_ptr(),
                n,
                info,
                root,
                comm,
                &raw mut inter,
                failures.as_mut_ptr(),
            )
        };
        self.free_info(info)?;
        self.check("MPI_Comm_spawn", code)?;
        failures.into_iter().try_for_each(|code| self.check("MPI_Comm_spawn", code))?;
        self.return_errors(inter)?;
        Ok(inter)
    }

    /// Returns the connection with the processes that started this one, if a program started it.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn parent(&self) -> Result<Option<CommHandle>, MpiError> {
        let mut comm: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (self.functions.comm_get_parent)(&raw mut comm) };
        self.check("MPI_Comm_get_parent", code)?;
        if comm == value(self.constants.comm_null)? {
            return Ok(None);
        }
        self.return_errors(comm)?;
        Ok(Some(CommHandle(comm)))
    }

    /// Disconnects from another world; collective over both.
    ///
    /// # Errors
    /// When an MPI call fails.
    ///
    /// # Safety
    /// The communicator is not used any more, by none of its copies.
    pub unsafe fn disconnect(&self, mut comm: CommHandle) -> Result<(), MpiError> {
        // SAFETY: a communicator between two worlds that its owner gives up.
        let code = unsafe { (self.functions.comm_disconnect)(&raw mut comm.0) };
        self.check("MPI_Comm_disconnect", code)
    }

    /// Creates the info object with the program's host and further keys and values.
    fn info(&self, program: &Program, more: &[(CString, CString)]) -> Result<Handle, MpiError> {
        if program.host.is_none() && more.is_empty() {
            return value(self.constants.info_null);
        }
        let mut info: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (self.functions.info_create)(&raw mut info) };
        self.check("MPI_Info_create", code)?;
        let is_open_mpi = self.library == mpi_abi::Library::OpenMpi;
        let key = if is_open_mpi { c"host" } else { c"hosts" };
        let host = program.host.iter().map(|host| (key, host.as_c_str()));
        for (key, value) in host.chain(more.iter().map(|(key, value)| (&**key, &**value))) {
            // SAFETY: an info object of ours and NUL-terminated strings.
            let code = unsafe { (self.functions.info_set)(info, key.as_ptr(), value.as_ptr()) };
            self.check("MPI_Info_set", code)?;
        }
        Ok(info)
    }

    fn free_info(&self, mut info: Handle) -> Result<(), MpiError> {
        if info == value(self.constants.info_null)? {
            return Ok(());
        }
        // SAFETY: created by `info`, and not used any more.
        let code = unsafe { (self.functions.info_free)(&raw mut info) };
        self.check("MPI_Info_free", code)
    }
}
