//! Safe MPI calls: errors are values, and buffers outlive their transfers.
//!
//! # Invariants
//! - Where the library does not support concurrent calls, only the thread that initialized it makes calls, or
//!   the initializing caller has guaranteed that threads take turns.

mod datatype;
mod exit;
mod faults;
mod process;
mod status;
mod transfer;

use crate::MpiError;
use crate::elements::Datatypes;
use crate::functions::{
    Collectives, Exchanges, Functions, Handle, InitFunctions, Worlds, failure, text, value,
};
use crate::library;
use crate::settings::{self, Nodes};
use crate::support::{self, SpawnSupport};
use crate::watch::watched;
use mpi_abi::{Constants, LibraryFamily, Setting, StatusLayout};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::ThreadId;

pub use datatype::Datatype;
pub(crate) use exit::has_grown;
pub use process::Spawn;
pub(crate) use process::c_string;
pub use status::ArrivedMessage;
pub(crate) use status::Status;
pub(crate) use transfer::probed;
pub use transfer::{Address, FoundMessage, Transfer};

/// An initialized MPI library.
#[derive(Debug)]
pub struct Mpi {
    pub(crate) library: LibraryFamily,
    pub(crate) constants: &'static Constants,
    pub(crate) layout: StatusLayout,
    init_functions: InitFunctions,
    pub(crate) functions: Functions,
    pub(crate) collectives: Collectives,
    pub(crate) worlds: Worlds,
    pub(crate) exchanges: Exchanges,
    pub(crate) datatypes: Datatypes,
    /// The only thread that may make calls; `None` where several may, or take turns.
    pub(crate) owner: Option<ThreadId>,
    /// Environment variables that were set for the library because they were unset.
    settings: Vec<Setting>,
    /// True if the holder of this value has not closed it yet.
    is_open: AtomicBool,
}

/// Handle of a communicator created by this crate. Copies denote the same communicator, which lives until its holder
/// frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommHandle(pub(crate) Handle);

impl Mpi {
    /// Initializes the library, unless the program has done so, and requests support for concurrent calls of several
    /// threads. Where that is not provided, only the thread that calls this may make further calls.
    /// If this call initialized MPI, it is finalized at process exit, once every user has [closed](Self::close) it.
    ///
    /// # Errors
    /// When this process was not launched as a rank, the library is missing or unknown, or the program initialized MPI
    /// below `MPI_THREAD_SERIALIZED`.
    pub fn init() -> Result<Arc<Self>, MpiError> {
        Self::owned(Vec::new())
    }

    /// Does the same as [`init`](Self::init) for programs that start processes: sets the environment variables that such
    /// programs need, where they are unset and this is the only thread, then calls `before` and initializes the library.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_dynamic(nodes: Nodes, before: impl FnOnce()) -> Result<Arc<Self>, MpiError> {
        let settings = set(nodes)?;
        before();
        Self::owned(settings)
    }

    fn owned(settings: Vec<Setting>) -> Result<Arc<Self>, MpiError> {
        let mut mpi = Self::begin(true)?;
        mpi.owner = (!mpi.is_multiple()).then(|| std::thread::current().id());
        mpi.settings = settings;
        Ok(Arc::new(mpi))
    }

    /// Returns the variables that were set for the library; processes of other worlds need them, too.
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Initializes the library, unless the program has done so. With `nodes`, sets variables as
    /// [`init_dynamic`](Self::init_dynamic) does and requests support for concurrent calls, which a
    /// library may not provide. If this call initialized MPI, it is finalized at process exit.
    ///
    /// # Errors
    /// When this process was not launched as a rank, the library is missing or unknown, or it was initialized for fewer
    /// threads.
    ///
    /// # Safety
    /// Where [`is_multiple`](Self::is_multiple) is false, calls must be made by one thread at a time.
    pub unsafe fn init_serialized(nodes: Option<Nodes>) -> Result<Self, MpiError> {
        let settings = nodes.map(set).transpose()?;
        let mut mpi = Self::begin(nodes.is_some())?;
        mpi.settings = settings.unwrap_or_default();
        Ok(mpi)
    }

    fn begin(is_multiple: bool) -> Result<Self, MpiError> {
        let library = library::load()?;
        let constants = library.constants();
        let init_functions = InitFunctions::find()?;
        if init_functions.is(init_functions.finalized) {
            return Err(MpiError::Finalized);
        }
        let is_ours = !init_functions.is(init_functions.initialized);
        if is_ours {
            let Constants { thread_serialized, thread_multiple, .. } = *constants;
            let level = if is_multiple { thread_multiple } else { thread_serialized };
            watched("MPI_Init_thread", || init_functions.init(level))?;
        }
        if init_functions.thread_level() < constants.thread_serialized {
            return Err(MpiError::ThreadLevel);
        }
        let mpi = Self {
            library,
            constants,
            layout: library.status_layout(),
            init_functions,
            functions: Functions::find()?,
            collectives: Collectives::find()?,
            worlds: Worlds::find()?,
            exchanges: Exchanges::find()?,
            datatypes: Datatypes::of(library)?,
            owner: None,
            settings: Vec::new(),
            is_open: AtomicBool::new(true),
        };
        if is_ours {
            exit::finalize_at_exit(&mpi)?;
        }
        exit::opened();
        Ok(mpi)
    }

    /// Returns whether several threads may make calls concurrently.
    #[must_use]
    pub fn is_multiple(&self) -> bool {
        self.constants.thread_multiple <= self.init_functions.thread_level()
    }

    /// Sets the largest count given to a call; larger ones become one datatype or pieces. The default is 2³¹ - 1; tests
    /// set less. It must be the same on all ranks.
    pub fn set_count_max(&self, n_elements: i32) {
        self.datatypes.set_count_max(n_elements);
    }

    /// Returns the version text of the library.
    #[must_use]
    pub fn version(&self) -> String {
        version(&self.init_functions)
    }

    /// Returns whether the library can start processes with its current settings, with the reason.
    #[must_use]
    pub fn spawn_support(&self) -> SpawnSupport {
        let netmod = std::env::var(settings::NETMOD).ok();
        support::of_library(&self.version(), netmod.as_deref())
    }

    /// Duplicates `MPI_COMM_WORLD`; collective over all ranks that were launched together.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn own_world(&self) -> Result<CommHandle, MpiError> {
        self.duplicate(value(self.constants.comm_world)?).map(CommHandle)
    }

    /// Duplicates `MPI_COMM_SELF`, which contains this rank only.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn own_self(&self) -> Result<CommHandle, MpiError> {
        self.duplicate(value(self.constants.comm_self)?).map(CommHandle)
    }

    pub(crate) fn duplicate(&self, comm: Handle) -> Result<Handle, MpiError> {
        let mut copy: Handle = 0;
        let duplicate = || {
            // SAFETY: a predefined communicator or one of ours, and room for a handle.
            unsafe { (self.functions.comm_dup)(comm, &raw mut copy) }
        };
        let code = watched("MPI_Comm_dup", duplicate);
        self.check("MPI_Comm_dup", code)?;
        self.return_errors(copy)?;
        Ok(copy)
    }

    /// Frees a communicator.
    ///
    /// # Errors
    /// When an MPI call fails.
    ///
    /// # Safety
    /// The communicator is not used any more, by none of its copies.
    pub unsafe fn free(&self, mut comm: CommHandle) -> Result<(), MpiError> {
        let free = || {
            // SAFETY: a communicator of ours, which its owner gives up.
            unsafe { (self.functions.comm_free)(&raw mut comm.0) }
        };
        let code = watched("MPI_Comm_free", free);
        self.check("MPI_Comm_free", code)
    }

    /// Makes errors on `comm` return values instead of aborting the program.
    pub(crate) fn return_errors(&self, comm: Handle) -> Result<(), MpiError> {
        let handler = value(self.constants.errors_return)?;
        // SAFETY: a communicator of ours and a predefined error handler.
        let code = unsafe { (self.functions.comm_set_errhandler)(comm, handler) };
        self.check("MPI_Comm_set_errhandler", code)
    }

    /// Returns the rank of this process in a communicator, and its size.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn rank_and_size(&self, comm: CommHandle) -> Result<(u32, u32), MpiError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator of ours, and room for an `int`.
        let code = unsafe { (self.functions.comm_rank)(comm.0, &raw mut rank) };
        self.check("MPI_Comm_rank", code)?;
        // SAFETY: as above.
        let code = unsafe { (self.functions.comm_size)(comm.0, &raw mut size) };
        self.check("MPI_Comm_size", code)?;
        Ok((u32::try_from(rank).unwrap_or_default(), u32::try_from(size).unwrap_or_default()))
    }

    /// Checks that this thread may make calls.
    pub(crate) fn enter(&self) -> Result<(), MpiError> {
        match self.owner {
            Some(owner) if owner != std::thread::current().id() => Err(MpiError::OtherThread),
            _ => Ok(()),
        }
    }

    /// Returns the error of a call that returned `code`, unless it succeeded.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        failure(self.functions.error_string, call, code).map_or(Ok(()), Err)
    }
}

impl InitFunctions {
    /// Returns the flag that a query function reports.
    fn is(&self, question: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
        let mut flag = 0;
        // SAFETY: `MPI_Initialized` or `MPI_Finalized`, which may be called at any time.
        let code = unsafe { question(&raw mut flag) };
        code == 0 && flag != 0
    }

    fn init(&self, level: c_int) -> Result<(), MpiError> {
        let mut provided = 0;
        let nothing = std::ptr::null_mut;
        // SAFETY: not initialized yet; the arguments of `main` may be left out.
        let code =
            unsafe { (self.init_thread)(nothing(), nothing().cast(), level, &raw mut provided) };
        if code == 0 {
            return Ok(());
        }
        let why = "the library's own words are above".to_owned();
        Err(MpiError::Call { call: "MPI_Init_thread", code, why })
    }

    fn thread_level(&self) -> c_int {
        let mut level = 0;
        // SAFETY: initialized.
        let code = unsafe { (self.query_thread)(&raw mut level) };
        if code == 0 { level } else { 0 }
    }
}

/// Sets the variables that programs which start processes need on such nodes; returns those that were set.
fn set(nodes: Nodes) -> Result<Vec<Setting>, MpiError> {
    library::load()?;
    let init_functions = InitFunctions::find()?;
    let is_begun = init_functions.is(init_functions.initialized);
    let is_set = |name: &str| is_begun || settings::is_set(std::env::var_os(name).as_deref());
    let is_fast = settings::has_fast_network();
    Ok(settings::apply(settings::choose(&version(&init_functions), nodes, is_fast, is_set)))
}

fn version(init_functions: &InitFunctions) -> String {
    text(|bytes, n_bytes| {
        // SAFETY: room for the longest text of any library, and for its length.
        unsafe { (init_functions.get_library_version)(bytes, n_bytes) }
    })
}
