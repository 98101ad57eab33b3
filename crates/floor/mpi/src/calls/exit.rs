//! Finalizes MPI at process exit, if this crate initialized it, so that MPI can be used again until then.
//!
//! A rank that is done early sleeps until the others are: `MPI_Finalize` would keep a core busy.
//!
//! Where a rank never arrives because its user code did not return, MPI cannot be finalized. Then rank 0,
//! which has the results, ends the job with `MPI_Abort` and its own exit code, which the launcher returns;
//! the other ranks wait for that.
//!
//! # Invariants
//! - MPI is finalized only when all its users have closed it. Otherwise another rank may wait for this one
//!   forever; when this process exits without finalizing, the launcher ends that rank.

use super::Mpi;
use crate::MpiError;
use crate::functions::{Functions, Handle, InitFunctions, value};
use crate::library::symbol;
use crate::watch::{EXIT_STUCK, watched};
use mpi_abi::LibraryFamily;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Number of users that initialized MPI and did not close it.
static N_OPEN: AtomicU32 = AtomicU32::new(0);
static EXIT: OnceLock<ExitCalls> = OnceLock::new();
/// True if this rank ends the job when a rank is missing at the end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// True if a thread is stuck in an MPI call, so that MPI cannot be finalized.
static IS_STUCK: AtomicBool = AtomicBool::new(false);
/// True if a rank is lost without which the library goes on, so that MPI cannot be finalized.
static HAS_LOST: AtomicBool = AtomicBool::new(false);
/// Environment variables, with values, of started processes that never arrived and would keep the launcher waiting.
static ORPHANS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Exit code of this process.
static CODE: AtomicI32 = AtomicI32::new(0);
/// Calls by which an exit that comes too early ends all ranks.
static EXIT_OF_ALL: OnceLock<ExitCalls> = OnceLock::new();
static HAS_GROWN: AtomicBool = AtomicBool::new(false);

/// Exit code of a Rust program that panics.
const PANIC: c_int = 101;

/// Time between two polls whether the others are done.
const PAUSE: Duration = Duration::from_millis(1);
/// Polls before the first pause: in most programs all ranks are done at once.
const N_AWAKE: u32 = 1000;
/// Longest time for launchers to forward the last output: MPICH's drops unread output when a job is aborted.
const OUTPUT_FLUSH_TIME: Duration = Duration::from_millis(500);
/// Longest time that rank 0 waits for missing ranks.
const MISSING_RANKS_TIMEOUT: Duration = Duration::from_millis(500);

/// MPI functions and constants needed at process exit.
#[derive(Debug)]
struct ExitCalls {
    init_functions: InitFunctions,
    functions: Functions,
    world: Handle,
    status_ignore: isize,
    /// True if the launcher ends all processes after an `MPI_Abort` by one.
    is_abort_heard: bool,
}

/// Registers finalization at process exit; for the code that initialized MPI.
pub(super) fn finalize_at_exit(mpi: &Mpi) -> Result<(), MpiError> {
    if EXIT.set(ExitCalls::of(mpi)?).is_ok() {
        register(at_exit)?;
    }
    Ok(())
}

/// Registers a function for process exit; those registered later run earlier.
fn register(function: extern "C" fn()) -> Result<(), MpiError> {
    // SAFETY: a function without arguments that exists until the program ends.
    registered("atexit", unsafe { libc::atexit(function) })
}

fn registered(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == 0 {
        return Ok(());
    }
    let why = "no further exit function can be registered in this process".to_owned();
    Err(MpiError::Call { call, code, why })
}

/// Counts a user that has initialized MPI.
pub(super) fn opened() {
    N_OPEN.fetch_add(1, Ordering::AcqRel);
}

impl Mpi {
    /// Ends this user's need of MPI: when all users have closed it, MPI is finalized at process exit. A user that does not
    /// close it, as after a failure, prevents that, and the launcher ends the other ranks.
    pub fn close(&self) {
        if self.is_open.swap(false, Ordering::AcqRel) {
            N_OPEN.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Closes MPI when a rank is missing; `is_first` for rank 0, which ends the job. A program that initialized MPI itself
    /// also finalizes it itself.
    ///
    /// # Errors
    /// When no exit function can be registered.
    pub fn finalize_alone(&self, is_first: bool) -> Result<(), MpiError> {
        if is_first && EXIT.get().is_some() {
            IS_ENDING.store(true, Ordering::Release);
            register_exit_code()?;
        }
        self.close();
        Ok(())
    }

    /// Closes MPI when a thread is stuck in a call, so that MPI cannot be finalized. Rank 0 ends the job
    /// when its process exits, with its exit code, or [`EXIT_STUCK`] instead of 0; the other ranks wait for that.
    ///
    /// # Errors
    /// As [`finalize_alone`](Self::finalize_alone).
    pub fn exit_without_finalize(&self, is_first: bool) -> Result<(), MpiError> {
        IS_STUCK.store(true, Ordering::Release);
        self.finalize_alone(is_first)
    }

    /// Closes MPI when a rank is lost without which the library goes on: calls of all ranks would fail. Rank 0 ends the job
    /// when its process exits, with its exit code; the other ranks exit by themselves.
    ///
    /// # Errors
    /// As [`finalize_alone`](Self::finalize_alone).
    pub fn finalize_without_lost(&self, is_first: bool) -> Result<(), MpiError> {
        HAS_LOST.store(true, Ordering::Release);
        self.finalize_alone(is_first)
    }

    /// Registers processes on this host with this `NAME=value` in their environment, which never arrived in MPI, to be
    /// killed when this process exits after [`exit_without_finalize`](Self::exit_without_finalize). Open MPI's launcher
    /// would wait for them.
    pub fn kill_at_exit(&self, variable: String) {
        ORPHANS.lock().unwrap_or_else(PoisonError::into_inner).push(variable);
    }
}

/// Kills the processes that never arrived.
fn kill_orphans() {
    let lost = std::mem::take(&mut *ORPHANS.lock().unwrap_or_else(PoisonError::into_inner));
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

/// `on_exit` of the C library, whose callbacks receive the exit code.
type OnExit = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;

/// Makes the exit code known at process exit.
fn register_exit_code() -> Result<(), MpiError> {
    let name = c"on_exit";
    let address = symbol(name).ok_or(MpiError::NoFunction { name: "on_exit" })?;
    // SAFETY: the C library defines the function of this name with this signature.
    let on_exit = unsafe { std::mem::transmute::<std::ptr::NonNull<c_void>, OnExit>(address) };
    // SAFETY: a function that exists until the program ends, and ignores its argument.
    registered("on_exit", unsafe { on_exit(store_exit_code, std::ptr::null_mut()) })
}

/// Returns the exit code of this process, if [`register_exit_code`] was called in time.
fn exit_code() -> c_int {
    CODE.load(Ordering::Acquire)
}

/// Returns whether a user of MPI has not closed it.
fn is_in_use() -> bool {
    N_OPEN.load(Ordering::Acquire) != 0
}

extern "C" fn store_exit_code(code: c_int, _nothing: *mut c_void) {
    CODE.store(code, Ordering::Release);
}

extern "C" fn at_exit() {
    if let Some(exit) = EXIT.get()
        && !is_in_use()
        && !exit.is_over()
    {
        let is_ending = IS_ENDING.load(Ordering::Acquire);
        if IS_STUCK.load(Ordering::Acquire) {
            if is_ending {
                // With exit code 0, Open MPI would leave processes running that were started later.
                let code = exit_code();
                exit.end_job(if code == 0 { EXIT_STUCK } else { code });
            } else {
                kill_orphans();
            }
            std::thread::sleep(Duration::from_hours(1));
            return;
        }
        if HAS_LOST.load(Ordering::Acquire) {
            // Launchers that go on without lost ranks do not end the others after an `MPI_Abort` with code 0.
            if is_ending {
                std::thread::sleep(MISSING_RANKS_TIMEOUT);
                exit.end_job(exit_code());
            }
            return;
        }
        if exit.are_all_here(is_ending.then_some(MISSING_RANKS_TIMEOUT)) {
            exit.finalize();
        } else {
            exit.end_job(exit_code());
        }
    }
}

impl ExitCalls {
    /// Collects what is needed at process exit.
    fn of(mpi: &Mpi) -> Result<Self, MpiError> {
        Ok(Self {
            init_functions: InitFunctions::find()?,
            functions: Functions::find()?,
            world: value(mpi.constants.comm_world)?,
            status_ignore: mpi.constants.status_ignore,
            is_abort_heard: mpi.library == LibraryFamily::OpenMpi,
        })
    }

    /// Waits for all ranks, at most so long; returns whether they arrived. A failure here recurs in `MPI_Finalize`, which
    /// reports it.
    fn are_all_here(&self, at_most: Option<Duration>) -> bool {
        let began = Instant::now();
        let mut request: Handle = 0;
        // SAFETY: a predefined communicator, all of whose ranks make this call, and room for a handle.
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
            // SAFETY: initialized by us and not finalized; no transfer of ours is in progress.
            unsafe { (self.functions.finalize)() }
        };
        let _code = watched("MPI_Finalize", finalize);
    }

    /// Returns whether MPI is finalized.
    fn is_over(&self) -> bool {
        self.init_functions.is(self.init_functions.finalized)
    }

    /// Ends the job from rank 0, which has the results.
    fn end_job(&self, code: c_int) {
        // The launcher's own message sounds worse than the event is.
        let _written = writeln!(
            std::io::stderr(),
            "a rank did not reach the end of the program; rank 0 has finished and ends the job by `MPI_Abort` with its \
             own exit code, {code}"
        );
        kill_orphans();
        self.abort(code);
    }

    /// Ends all ranks, even where the launcher ignores `MPI_Abort`: every launcher reacts to a signal.
    fn end_all(&self, code: c_int) {
        if self.is_abort_heard {
            return self.abort(code);
        }
        flush();
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: sets a limit of this process, which ends without a core file because its memory is of no interest.
        let _code = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
        std::process::abort();
    }

    /// Ends all ranks by `MPI_Abort`.
    fn abort(&self, code: c_int) {
        flush();
        // SAFETY: initialized and not finalized; a predefined communicator.
        let _code = unsafe { (self.functions.abort)(self.world, code) };
    }
}

/// Flushes standard output: a process that ends abruptly does not.
fn flush() {
    // SAFETY: a null pointer stands for all streams of C.
    let _flushed = unsafe { libc::fflush(std::ptr::null_mut()) };
    wait_for_readers();
}

/// Waits until the launcher has read everything printed from its pipes.
fn wait_for_readers() {
    let began = Instant::now();
    loop {
        std::thread::sleep(OUTPUT_FLUSH_TIME / 10);
        let is_read = [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().all(|file| {
            let mut n_bytes: c_int = 0;
            // SAFETY: queries a file, with room for the answer.
            let code = unsafe { libc::ioctl(file, libc::FIONREAD, &raw mut n_bytes) };
            code != 0 || n_bytes == 0
        });
        if is_read || OUTPUT_FLUSH_TIME < began.elapsed() {
            // Gives the launcher time to forward what it read.
            std::thread::sleep(OUTPUT_FLUSH_TIME / 10);
            return;
        }
    }
}

impl Mpi {
    /// Makes a panic of this process end all ranks, and in a program that has grown any exit with MPI open.
    ///
    /// The launcher should do that. MPICH's sometimes misses it, and the others wait forever: in 2 of 60 runs of a C
    /// program with a rank that ends within milliseconds of its start, in 3 of 110 where one panics equally soon after a
    /// growth, and in 5 of 164 where it calls `MPI_Abort` then; it noticed every signal (250 runs, MPICH 5.0.2).
    ///
    /// # Errors
    /// When no exit function can be registered.
    pub fn abort_on_panic(&self) -> Result<(), MpiError> {
        if EXIT_OF_ALL.get().is_some() {
            return Ok(());
        }
        if EXIT_OF_ALL.set(ExitCalls::of(self)?).is_ok() {
            register(end_all_at_exit)?;
            register_exit_code()?;
        }
        Ok(())
    }
}

/// Records that the program has started processes at run time.
pub(crate) fn has_grown(mpi: &Mpi) -> Result<(), MpiError> {
    HAS_GROWN.store(true, Ordering::Release);
    mpi.abort_on_panic()
}

extern "C" fn end_all_at_exit() {
    let Some(exit) = EXIT_OF_ALL.get().filter(|exit| is_in_use() && !exit.is_over()) else {
        return;
    };
    let code = match exit_code() {
        PANIC => PANIC,
        _ if !HAS_GROWN.load(Ordering::Acquire) => return,
        0 => 1,
        code => code,
    };
    // If the message cannot be written, the exit code or the signal still shows it.
    let _written = writeln!(
        std::io::stderr(),
        "this rank ends before its time, with the code {code}; it ends the other ranks of the program as well"
    );
    exit.end_all(code);
}
