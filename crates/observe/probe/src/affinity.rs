//! Cores that threads of this process may use, and who has chosen them.
//!
//! Threads that we bind are remembered with what they had before. Whoever binds one of them later, or has bound one since
//! `MPI_Init`, knows why: such a thread is left as it is.
#![allow(unsafe_code, reason = "asks the system about cores")]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

type Mask = libc::cpu_set_t;

/// Variables by which a user lets an OpenMP library bind its threads.
const BINDING: [&str; 4] = ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"];
/// Values of these variables that bind nothing.
const UNBOUND: [&str; 4] = ["", "false", "none", "disabled"];

/// Threads at the end of `MPI_Init`, with their cores.
static AT_START: Mutex<Vec<(c_int, Vec<usize>)>> = Mutex::new(Vec::new());
/// Cores that the process has instead of those at the start; none while it has those.
static MOVED_TO: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Notes the cores of all threads at the end of `MPI_Init`: libraries and launchers have bound them by then.
pub(crate) fn note_start() {
    let of_thread = |tid| Some((tid, cores_of(tid)?));
    *lock(&AT_START) = threads().into_iter().filter_map(of_thread).collect();
}

/// Returns why threads have the cores that they have, if the program or its user has bound them; an OpenMP library binds them by
/// variables.
pub(crate) fn bound_by_program(has_openmp: bool) -> Option<String> {
    let is_binding = |name: &&&str| {
        std::env::var(name).is_ok_and(|value| {
            let value = value.trim().to_ascii_lowercase();
            !UNBOUND.contains(&value.as_str())
        })
    };
    if has_openmp && let Some(name) = BINDING.iter().find(is_binding) {
        return Some(format!("`{name}` binds its threads"));
    }
    has_bound_threads().then(|| "it has bound its threads itself since `MPI_Init`".to_owned())
}

/// Returns whether a thread may no longer use all cores that it would have been left.
fn has_bound_threads() -> bool {
    let at_start = lock(&AT_START);
    let moved_to = lock(&MOVED_TO);
    let before = |wanted| at_start.iter().find(|(tid, _)| *tid == wanted).map(|(_, cores)| cores);
    let Some(of_process) = before(main_thread()) else { return false };
    threads().into_iter().any(|tid| {
        let before = before(tid).unwrap_or(of_process);
        let is_moved = before == of_process && !moved_to.is_empty();
        let expected = if is_moved { &*moved_to } else { before };
        // Threads that borrow cores have more.
        cores_of(tid).is_some_and(|now| !expected.iter().all(|core| now.contains(core)))
    })
}

/// Notes that the process has other cores than at its start, or, without cores, those again.
pub(crate) fn note_moved(cores: &[usize]) {
    cores.clone_into(&mut lock(&MOVED_TO));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads with the same cores that we bind to others together.
#[derive(Debug, Default)]
pub(crate) struct BoundThreads {
    tids: Vec<c_int>,
    /// Cores that they had, and cores that they have from us.
    before: Vec<usize>,
    now: Vec<usize>,
}

impl BoundThreads {
    /// Makes a set without threads, for threads with these cores.
    pub(crate) const fn with(before: Vec<usize>) -> Self {
        Self { tids: Vec::new(), before, now: Vec::new() }
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.tids.is_empty()
    }

    /// Adds a thread if it has the cores of the others, or those that they had before.
    pub(crate) fn add(&mut self, tid: c_int) {
        if self.tids.contains(&tid) {
            return;
        }
        let cores = cores_of(tid);
        if cores.as_ref() == Some(&self.before) {
            if self.now.is_empty() || bind(tid, &self.now).is_ok() {
                self.tids.push(tid);
            }
        } else if cores.is_some_and(|cores| cores == self.now) {
            // One of the others has started it.
            self.tids.push(tid);
        }
    }

    /// Binds them to these cores, but for threads that ended or were bound by somebody else since. The first thread comes last:
    /// a program that sees it moved may bind the others itself.
    ///
    /// # Errors
    /// What the system says if it refuses these cores to one of them, which keeps those that it has.
    pub(crate) fn bind(&mut self, cores: &[usize]) -> Result<(), c_int> {
        let last = if self.now.is_empty() { &self.before } else { &self.now };
        let main = main_thread();
        self.tids.sort_by_key(|tid| *tid == main);
        let mut refused = Ok(());
        self.tids.retain(|tid| {
            let is_ours = cores_of(*tid).as_ref() == Some(last);
            let outcome = if is_ours { bind(*tid, cores) } else { Ok(()) };
            let is_refused = outcome.is_err();
            refused = refused.and(outcome);
            is_ours && !is_refused
        });
        cores.clone_into(&mut self.now);
        refused
    }

    /// Gives them, and threads that they have started since, the cores from before.
    pub(crate) fn release(&mut self) {
        let bound = std::mem::take(self);
        if bound.now.is_empty() || bound.now == bound.before {
            return;
        }
        for tid in threads() {
            if cores_of(tid).as_ref() == Some(&bound.now) {
                // Cores that were taken from the job meanwhile are none to go back to.
                bind(tid, &bound.before).ok();
            }
        }
    }
}

/// The first thread.
pub(crate) fn main_thread() -> c_int {
    std::process::id().cast_signed()
}

/// All threads of this process.
pub(crate) fn threads() -> Vec<c_int> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Cores of a thread, or of the first thread of a process, in ascending order.
pub(crate) fn cores_of(tid: c_int) -> Option<Vec<usize>> {
    let mut mask = MaybeUninit::<Mask>::zeroed();
    // SAFETY: fills the mask.
    let failed = unsafe { libc::sched_getaffinity(tid, size_of::<Mask>(), mask.as_mut_ptr()) };
    // SAFETY: zeros are a valid mask, too.
    let mask = unsafe { mask.assume_init() };
    let n_cores = 8 * size_of::<Mask>();
    // SAFETY: the number of a core within the mask.
    let cores = (0..n_cores).filter(|core| unsafe { libc::CPU_ISSET(*core, &mask) });
    (failed == 0).then(|| cores.collect())
}

/// Binds a thread to cores that came from a mask; one that has ended needs none.
pub(crate) fn bind(tid: c_int, cores: &[usize]) -> Result<(), c_int> {
    // SAFETY: zeros are an empty mask.
    let mut mask = unsafe { MaybeUninit::<Mask>::zeroed().assume_init() };
    for core in cores {
        // SAFETY: the number of a core that came from a mask.
        unsafe { libc::CPU_SET(*core, &mut mask) };
    }
    // SAFETY: reads the mask.
    let failed = unsafe { libc::sched_setaffinity(tid, size_of::<Mask>(), &raw const mask) };
    if failed == 0 {
        return Ok(());
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => Ok(()),
        errno => Err(errno.unwrap_or(libc::EINVAL)),
    }
}
