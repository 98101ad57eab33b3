//! Processes that are started at run time.

use super::{CommHandle, Mpi};
use crate::MpiError;
use crate::functions::{Handle, value};
use std::ffi::{CString, OsStr, OsString, c_char, c_int};

/// Processes to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// Path of the program, or a name that the launcher finds.
    pub program: OsString,
    /// Arguments after the name.
    pub arguments: Vec<OsString>,
    /// Number of processes, which form one world.
    pub n: u32,
    /// Hosts, separated by commas; `None` leaves the choice to the launcher.
    pub hosts: Option<String>,
    /// Further info keys and values, as the library defines them.
    pub info: Vec<(String, String)>,
}

impl Spawn {
    /// Creates `n` processes of a program without arguments, on hosts that the launcher chooses.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>, n: u32) -> Self {
        let program = program.as_ref().to_owned();
        Self { program, arguments: Vec::new(), n, hosts: None, info: Vec::new() }
    }

    /// Starts processes, collectively over `comm`; they are significant only at `root`.
    pub(crate) fn start(&self, mpi: &Mpi, comm: Handle, root: c_int) -> Result<Handle, MpiError> {
        let path = c_string(self.program.as_encoded_bytes())?;
        let arguments = self.arguments.iter().map(|word| c_string(word.as_encoded_bytes()));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let info = self.info(mpi)?;
        let mut pointers: Vec<*const c_char> = arguments.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let n = c_int::try_from(self.n).unwrap_or(c_int::MAX);
        let mut failures = vec![0; usize::try_from(n).unwrap_or_default()];
        let mut inter: Handle = 0;
        // SAFETY: NUL-terminated strings, a list of them that ends with null, a communicator of ours, and room for a
        // handle and for an error code of each process.
        let code = unsafe {
            (mpi.functions.comm_spawn)(
                path.as_ptr(),
                pointers.as_ptr(),
                n,
                info,
                root,
                comm,
                &raw mut inter,
                failures.as_mut_ptr(),
            )
        };
        free_info(mpi, info)?;
        mpi.check("MPI_Comm_spawn", code)?;
        failures.into_iter().try_for_each(|code| mpi.check("MPI_Comm_spawn", code))?;
        mpi.return_errors(inter)?;
        Ok(inter)
    }

    /// Creates the info object with the hosts and further keys and values.
    fn info(&self, mpi: &Mpi) -> Result<Handle, MpiError> {
        if self.hosts.is_none() && self.info.is_empty() {
            return value(mpi.constants.info_null);
        }
        let is_open_mpi = mpi.library == mpi_abi::LibraryFamily::OpenMpi;
        let key = if is_open_mpi { "host" } else { "hosts" };
        let hosts = self.hosts.iter().map(|hosts| (key, hosts.as_str()));
        let all = hosts.chain(self.info.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let all =
            all.map(|(key, value)| Ok((c_string(key.as_bytes())?, c_string(value.as_bytes())?)));
        let all = all.collect::<Result<Vec<_>, MpiError>>()?;
        let mut info: Handle = 0;
        // SAFETY: room for a handle.
        let code = unsafe { (mpi.functions.info_create)(&raw mut info) };
        mpi.check("MPI_Info_create", code)?;
        for (key, value) in &all {
            // SAFETY: an info object of ours and NUL-terminated strings.
            let code = unsafe { (mpi.functions.info_set)(info, key.as_ptr(), value.as_ptr()) };
            mpi.check("MPI_Info_set", code)?;
        }
        Ok(info)
    }
}

impl Mpi {
    /// Starts one process, as a world of its own, and returns the connection with it; `own_self` comes from
    /// [`own_self`](Self::own_self), and no other thread may use it meanwhile.
    ///
    /// # Errors
    /// When the library does not support it, or the program does not start.
    pub fn spawn_one(&self, start: &Spawn, own_self: CommHandle) -> Result<CommHandle, MpiError> {
        start.start(self, own_self.0, 0).map(CommHandle)
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
}

/// Returns a text for the library.
pub(crate) fn c_string(bytes: &[u8]) -> Result<CString, MpiError> {
    let zero = |_| MpiError::ZeroByte { text: String::from_utf8_lossy(bytes).into_owned() };
    CString::new(bytes).map_err(zero)
}

fn free_info(mpi: &Mpi, mut info: Handle) -> Result<(), MpiError> {
    if info == value(mpi.constants.info_null)? {
        return Ok(());
    }
    // SAFETY: created by `info`, and not used any more.
    let code = unsafe { (mpi.functions.info_free)(&raw mut info) };
    mpi.check("MPI_Info_free", code)
}
