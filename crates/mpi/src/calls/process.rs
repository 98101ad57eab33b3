//! Processes that are started later.

use super::{Line, Mpi, value};
use crate::MpiError;
use crate::functions::Handle;
use std::ffi::{CString, c_char, c_int};

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
        self.spawn_many(program, (1, &[]), own_self.0, 0).map(Line)
    }

    /// Starts `n` processes of `program` with further words for the launcher, together with all of `comm`; only what
    /// the root says is heard.
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
        // SAFETY: texts that end with zero, a list of them that ends with null, a communicator of ours, and room for a
        // handle and for a code of each process.
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

    /// Says on which host the program is to run, and what else there is to say.
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
            // SAFETY: an info of ours and texts that end with zero.
            let code = unsafe { (self.functions.info_set)(info, key.as_ptr(), value.as_ptr()) };
            self.check("MPI_Info_set", code)?;
        }
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
