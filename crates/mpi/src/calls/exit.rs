//! The end of MPI where we began it: when the process exits, so that who needs it again finds it.
//!
//! A rank that is done early waits for the others asleep: in `MPI_Finalize` it would keep a core busy.
//!
//! Where a rank does not come, its user's code never having returned, MPI cannot be ended in good order. Then rank 0,
//! which has the results, ends the job with `MPI_Abort` and the code of its own process, which the launcher returns;
//! the other ranks wait for that.
//!
//! # Invariants
//! - MPI is ended only when everybody who began it has closed it in good order. Otherwise somebody may wait for this rank for
//!   ever, whom the launcher ends when this process exits without.

use super::{Mpi, value};
use crate::MpiError;
use crate::functions::{Entrance, Functions, Handle};
use crate::library::symbol;
use crate::watch::{EXIT_STUCK, watched};
use mpi_abi::Library;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Who began MPI and did not close it.
static N_OPEN: AtomicU32 = AtomicU32::new(0);
static EXIT: OnceLock<Exit> = OnceLock::new();
/// Whether this rank ends the job when somebody is missing in the end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Whether a thread does not return from the library, which therefore cannot be ended.
static IS_STUCK: AtomicBool = AtomicBool::new(false);
/// What stands in the environment of processes that never came, and would keep the launcher waiting.
static LOST: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The code that this process ends with.
static CODE: AtomicI32 = AtomicI32::new(0);

/// Between two looks whether the others are done.
const PAUSE: Duration = Duration::from_millis(1);
/// Looks before the first pause: mostly all are done at once.
const N_AWAKE: u32 = 1000;
/// How long launchers get to pass on what was printed last: MPICH's drops what it did not read when a job is aborted.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long rank 0 waits for who was missing.
const LAST_CHANCE: Duration = Duration::from_millis(500);

/// What is needed at the end.
#[derive(Debug)]
pub(super) struct Exit {
    entrance: Entrance,
    functions: Functions,
    world: Handle,
    status_ignore: isize,
    /// Whether its launcher sees to it that `MPI_Abort` of one process is the end of all.
    is_abort_heard: bool,
}

impl Mpi {
    /// Sees to it that MPI is ended with the process; for who began it.
    pub(super) fn end_with_process(&self) -> Result<(), MpiError> {
        if EXIT.set(self.exit()?).is_ok() {
            // SAFETY: a function that takes nothing, and lies in the program to its end.
            let code = unsafe { libc::atexit(at_exit) };
            if code != 0 {
                let why = "the process takes no more functions for its end".to_owned();
                return Err(MpiError::Call { call: "atexit", code, why });
            }
        }
        Ok(())
    }

    /// What is needed at the end.
    pub(super) fn exit(&self) -> Result<Exit, MpiError> {
        Ok(Exit {
            entrance: Entrance::find()?,
            functions: Functions::find()?,
            world: value(self.constants.comm_world)?,
            status_ignore: self.constants.status_ignore,
            is_abort_heard: self.library == Library::OpenMpi,
        })
    }

    pub(super) fn opened() {
        N_OPEN.fetch_add(1, Ordering::AcqRel);
    }

    /// Needs MPI no more: when all who began it say so, it ends with the process. Who does not say so, as after a
    /// failure, keeps it from ending, and the launcher ends the others.
    pub fn close(&self) {
        if self.is_open.swap(false, Ordering::AcqRel) {
            N_OPEN.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The same when somebody is missing; `is_first` for rank 0, which ends the job. A program that began MPI ends it
    /// as well.
    ///
    /// # Errors
    /// When the process takes no more functions for its end.
    pub fn close_alone(&self, is_first: bool) -> Result<(), MpiError> {
        if is_first && EXIT.get().is_some() {
            IS_ENDING.store(true, Ordering::Release);
            remember_code()?;
        }
        self.close();
        Ok(())
    }
}

impl Mpi {
    /// The same when a thread does not return from a call: MPI cannot be ended in good order then, and rank 0 ends the job
    /// as soon as its own process ends, with the code of that, or [`EXIT_STUCK`] instead of 0; the others wait for that.
    ///
    /// # Errors
    /// As [`close_alone`](Self::close_alone).
    pub fn close_stuck(&self, is_first: bool) -> Result<(), MpiError> {
        IS_STUCK.store(true, Ordering::Release);
        self.close_alone(is_first)
    }
}

impl Mpi {
    /// Processes on this host with this variable and value in their environment have not come to MPI: they are killed when this
    /// process ends, after [`close_stuck`](Self::close_stuck). Open MPI's launcher waits for them otherwise.
    pub fn give_up_those_with(&self, variable: String) {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).push(variable);
    }
}

/// Ends those that never came.
fn kill_lost() {
    let lost = std::mem::take(&mut *LOST.lock().unwrap_or_else(PoisonError::into_inner));
    if lost.is_empty() {
        return;
    }
    let own = std::process::id();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != own) else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_lost = |word: &[u8]| lost.iter().any(|variable| variable.as_bytes() == word);
        if environment.split(|byte| *byte == 0).any(is_lost)
            && let Ok(pid) = libc::pid_t::try_from(pid)
        {
            // SAFETY: a signal to a process that this one has started.
            let _code = unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// `on_exit` of the C library, whose functions are told the code of the process.
type OnExit = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;

/// Sees to it that the code of the process is known in the end: functions that are registered later run earlier.
pub(super) fn remember_code() -> Result<(), MpiError> {
    let name = c"on_exit";
    let address = symbol(name).ok_or(MpiError::NoFunction { name: "on_exit" })?;
    // SAFETY: the C library gives the function of this name this signature.
    let on_exit = unsafe { std::mem::transmute::<std::ptr::NonNull<c_void>, OnExit>(address) };
    // SAFETY: a function that lies in the program to its end, and does not look at its argument.
    let code = unsafe { on_exit(keep_code, std::ptr::null_mut()) };
    let why = || "the process takes no more functions for its end".to_owned();
    (code == 0).then_some(()).ok_or_else(|| MpiError::Call { call: "on_exit", code, why: why() })
}

/// The code that this process ends with, where [`remember_code`] was called in time.
pub(super) fn code_of_process() -> c_int {
    CODE.load(Ordering::Acquire)
}

/// Whether somebody who began MPI has not closed it.
pub(super) fn is_anybody_open() -> bool {
    N_OPEN.load(Ordering::Acquire) != 0
}

extern "C" fn keep_code(code: c_int, _nothing: *mut c_void) {
    CODE.store(code, Ordering::Release);
}

extern "C" fn at_exit() {
    if let Some(exit) = EXIT.get()
        && !is_anybody_open()
        && !exit.is_over()
    {
        let is_ending = IS_ENDING.load(Ordering::Acquire);
        if IS_STUCK.load(Ordering::Acquire) {
            if !is_ending {
                kill_lost();
            }
            if is_ending {
                // With the code 0 Open MPI leaves processes that were started later.
                let code = code_of_process();
                exit.end_job(if code == 0 { EXIT_STUCK } else { code });
            }
            std::thread::sleep(Duration::from_hours(1));
            return;
        }
        if exit.are_all_here(is_ending.then_some(LAST_CHANCE)) {
            exit.finalize();
        } else {
            exit.end_job(code_of_process());
        }
    }
}

impl Exit {
    /// Waits for all ranks, at most so long. What fails here fails in `MPI_Finalize` as well, which tells it.
    fn are_all_here(&self, at_most: Option<Duration>) -> bool {
        let began = Instant::now();
        let mut request: Handle = 0;
        // SAFETY: a predefined communicator, whose ranks all come here, and room for a handle.
        let mut code = unsafe { (self.functions.ibarrier)(self.world, &raw mut request) };
        let (mut are_all_here, mut n_looks): (c_int, u32) = (0, 0);
        while code == 0 && are_all_here == 0 {
            let ignored = self.status_ignore as *mut c_void;
            // SAFETY: a request that is not complete, and room for a flag.
            code =
                unsafe { (self.functions.test)(&raw mut request, &raw mut are_all_here, ignored) };
            if code == 0 && are_all_here == 0 && at_most.is_some_and(|most| most < began.elapsed())
            {
                return false;
            }
            n_looks = n_looks.saturating_add(1);
            if N_AWAKE < n_looks {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
        true
    }

    fn finalize(&self) {
        let finalize = || {
            // SAFETY: initialized by us and not finalized; nothing of ours is on its way.
            unsafe { (self.functions.finalize)() }
        };
        let _code = watched("MPI_Finalize", finalize);
    }

    /// Whether MPI has ended.
    pub(super) fn is_over(&self) -> bool {
        self.entrance.is(self.entrance.finalized)
    }

    /// Ends the other ranks, and this one, which has the results.
    fn end_job(&self, code: c_int) {
        // What the launcher says of it sounds worse than it is.
        let _written = writeln!(
            std::io::stderr(),
            "a rank did not come to the end of the program: rank 0 is done, and ends the job with `MPI_Abort` and its \
             own code, {code}"
        );
        kill_lost();
        self.abort(code);
    }

    /// Ends the other ranks, and this one, even where the launcher does not hear `MPI_Abort`: a signal is seen by all of them.
    pub(super) fn end_all(&self, code: c_int) {
        if self.is_abort_heard {
            return self.abort(code);
        }
        flush();
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a limit for this process, which ends: what it holds is of no interest.
        let _code = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
        std::process::abort();
    }

    /// Ends the other ranks, and this one.
    fn abort(&self, code: c_int) {
        flush();
        // SAFETY: initialized and not finalized; a predefined communicator.
        let _code = unsafe { (self.functions.abort)(self.world, code) };
    }
}

/// Passes on what was printed: a process that ends at once does not.
fn flush() {
    // SAFETY: a null pointer stands for all streams of C.
    let _flushed = unsafe { libc::fflush(std::ptr::null_mut()) };
    wait_for_readers();
}

/// Waits until nothing that was printed is left in the pipes to the launcher.
fn wait_for_readers() {
    let began = Instant::now();
    loop {
        std::thread::sleep(LAST_WORDS / 10);
        let is_read = [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().all(|file| {
            let mut n_bytes: c_int = 0;
            // SAFETY: a question about a file, with room for its answer.
            let code = unsafe { libc::ioctl(file, libc::FIONREAD, &raw mut n_bytes) };
            code != 0 || n_bytes == 0
        });
        if is_read || LAST_WORDS < began.elapsed() {
            // What was read is on its way.
            std::thread::sleep(LAST_WORDS / 10);
            return;
        }
    }
}
