//! Entry points of libgomp, which programs of GCC call: regions, waits and tasks.
//!
//! A region's function is replaced by [`run_part`], which times the function on each thread of the team. All these names are
//! hidden unless libgomp is loaded with the program: a program that loads it later, perhaps twice, must find its own.
//!
//! # Not here
//! `GOMP_parallel_start`, which GCC before 4.9 called, and `GOMP_parallel_reductions`, which reads the region's argument.
#![allow(non_snake_case, reason = "the names of the functions are libgomp's")]
#![allow(clippy::too_many_arguments, reason = "the arguments of the functions are libgomp's")]

use super::{Frame, part, set_part, take};
use crate::next;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

type RegionFunction = unsafe extern "C-unwind" fn(*mut c_void);
/// All entry points of regions begin with function, argument and number of threads. Words that a shorter one lacks are
/// whatever lies there, handed on unread.
type Entry = unsafe extern "C-unwind" fn(
    RegionFunction,
    *mut c_void,
    c_uint,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;
type Wait = unsafe extern "C-unwind" fn(*mut c_void) -> usize;

/// Returns whether a symbol is one of these entry points.
pub(crate) fn is_wrapper(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"GOMP_")
}

/// Returns whether libgomp was loaded with the program, so that calls reach it through us.
pub(crate) fn is_loaded() -> bool {
    real(&PARALLEL, "GOMP_parallel\0").is_some_and(is_of_libgomp)
        && real(&THREAD_NUMBER, "omp_get_thread_num\0").is_some()
        && real(&LEVEL, "omp_get_level\0").is_some()
}

static PARALLEL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static THREAD_NUMBER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static LEVEL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Returns whether a file is libgomp, by its name.
pub(crate) fn is_library(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|file| file.starts_with("libgomp"))
}

fn is_of_libgomp(function: next::Function) -> bool {
    is_library(&next::file_name_of(function))
}

/// The next definition of a symbol after ours, in the linker's order; libraries loaded privately are not searched.
/// `name` ends with a zero byte.
#[inline(always)]
fn real(slot: &AtomicPtr<c_void>, name: &'static str) -> Option<next::Function> {
    let mut address = slot.load(Ordering::Relaxed);
    if address.is_null() {
        address = find(slot, name);
    }
    // SAFETY: null, or the address of a function; null becomes `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<next::Function>>(address) }
}

#[cold]
#[inline(never)]
fn find(slot: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    let name = CStr::from_bytes_with_nul(name.as_bytes());
    let address = name.map_or(null_mut(), next::global_symbol);
    slot.store(address, Ordering::Relaxed);
    address
}

/// Number that a function of libgomp without arguments returns; 0 without libgomp.
#[inline(always)]
fn number(slot: &AtomicPtr<c_void>) -> usize {
    let address = slot.load(Ordering::Relaxed);
    // SAFETY: null, or one of libgomp's functions of this type; null becomes `None`.
    let function = unsafe {
        std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn() -> c_int>>(address)
    };
    // SAFETY: may be called anywhere.
    let number = function.map_or(0, |function| unsafe { function() });
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Threads of a team that the program would start by itself; 1 without libgomp.
pub(super) fn n_threads_by_default() -> usize {
    static N_THREADS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    if !is_loaded() || real(&N_THREADS, "omp_get_max_threads\0").is_none() {
        return 1;
    }
    number(&N_THREADS).max(1)
}

/// Most threads that are added so that libgomp has more of them than cores.
const N_SLEEPERS_MAX: usize = 256;

/// Makes the calling thread, which is ours, start a team of threads that only sleep, so that libgomp has more threads than
/// cores. The team ends with the calling thread.
pub(super) fn add_sleepers() {
    static N_CORES: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    unsafe extern "C-unwind" fn nothing(_argument: *mut c_void) {}
    if !is_loaded() || real(&N_CORES, "omp_get_num_procs\0").is_none() {
        return;
    }
    let Some(parallel) = real(&PARALLEL, "GOMP_parallel\0") else { return };
    // SAFETY: takes up to eight words.
    let parallel = unsafe { std::mem::transmute::<next::Function, Entry>(parallel) };
    let n_threads = number(&N_CORES).saturating_add(1);
    let Some(n_threads) =
        c_uint::try_from(n_threads).ok().filter(|n| *n as usize <= N_SLEEPERS_MAX)
    else {
        return;
    };
    // SAFETY: a region that does nothing, on a thread of our own.
    unsafe { parallel(nothing, null_mut(), n_threads, 0, 0, 0, 0, 0) };
}

/// Executes the region on the calling thread of the team, and notes the time.
unsafe extern "C-unwind" fn run_part(frame: *mut c_void) {
    // SAFETY: the frame that the wrapper passed, which is static.
    let frame = unsafe { &*frame.cast::<Frame>() };
    let argument = frame.argument.load(Ordering::Relaxed) as *mut c_void;
    let function = frame.function.load(Ordering::Relaxed) as *const c_void;
    // SAFETY: the function that the program passed to libgomp.
    let function = unsafe { std::mem::transmute::<*const c_void, RegionFunction>(function) };
    let part = frame.begin_part(number(&THREAD_NUMBER));
    set_part(part);
    // SAFETY: the program's own call.
    unsafe { function(argument) };
    set_part(null_mut());
    // SAFETY: null, or this thread's part.
    if let Some(part) = unsafe { part.as_ref() } {
        part.end.store(ring::clock::ticks(), Ordering::Relaxed);
    }
}

/// Executes a region through us.
#[inline(always)]
unsafe fn region(
    entry: Entry,
    (function, argument, n_threads): (RegionFunction, *mut c_void, c_uint),
    rest: [usize; 5],
) -> usize {
    // Before monitoring, the level is not known and there is no frame either.
    let is_outermost = part().is_none() && number(&LEVEL) == 0;
    // The byte after the first one: places are looked up as those of return addresses.
    let address = function as *const () as u64 + 1;
    let Some(frame) = is_outermost.then(|| take(address)).flatten() else {
        // SAFETY: the program's own call.
        return unsafe {
            entry(function, argument, n_threads, rest[0], rest[1], rest[2], rest[3], rest[4])
        };
    };
    frame.function.store(address - 1, Ordering::Relaxed);
    frame.argument.store(argument as u64, Ordering::Relaxed);
    let argument = std::ptr::from_ref(frame).cast_mut().cast();
    // SAFETY: the program's own call, with a function that calls the program's.
    let result = unsafe {
        entry(run_part, argument, n_threads, rest[0], rest[1], rest[2], rest[3], rest[4])
    };
    frame.finish();
    result
}

/// Exports entry points of regions.
macro_rules! regions {
    ($($name:ident)*) => { $(
        /// # Safety
        /// libgomp's.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            function: RegionFunction,
            argument: *mut c_void,
            n_threads: c_uint,
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
        ) -> usize {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
            let Some(real) = real(&REAL, concat!(stringify!($name), "\0")) else { return 0 };
            // SAFETY: all these functions take up to eight words.
            let entry = unsafe { std::mem::transmute::<next::Function, Entry>(real) };
            // SAFETY: the program's own call.
            unsafe { region(entry, (function, argument, n_threads), [a, b, c, d, e]) }
        }
    )* };
}

regions! {
    GOMP_parallel
    GOMP_parallel_loop_static
    GOMP_parallel_loop_dynamic
    GOMP_parallel_loop_guided
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_dynamic
    GOMP_parallel_loop_nonmonotonic_guided
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
    GOMP_parallel_sections
}

/// Exports functions in which threads wait for others.
macro_rules! waits {
    ($($name:ident)*) => { $(
        /// # Safety
        /// libgomp's.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(argument: *mut c_void) -> usize {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
            let Some(real) = real(&REAL, concat!(stringify!($name), "\0")) else { return 0 };
            // SAFETY: all these functions take at most one word.
            let wait = unsafe { std::mem::transmute::<next::Function, Wait>(real) };
            let part = part();
            if let Some(part) = part {
                part.wait();
            }
            // SAFETY: the program's own call.
            let result = unsafe { wait(argument) };
            if let Some(part) = part {
                part.go_on();
            }
            result
        }
    )* };
}

waits! {
    GOMP_barrier
    GOMP_barrier_cancel
    GOMP_loop_end
    GOMP_loop_end_cancel
    GOMP_sections_end
    GOMP_sections_end_cancel
    GOMP_critical_start
    GOMP_critical_name_start
}

/// Notes that the calling thread makes tasks.
extern "C" fn note_tasks() {
    if let Some(part) = part() {
        part.make_tasks();
    }
}

/// Exports functions that make tasks, whatever their arguments: notes that, and goes on in the real function.
macro_rules! tasks {
    ($($name:ident $find:ident)*) => { $(
        extern "C" fn $find() -> usize {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
            note_tasks();
            real(&REAL, concat!(stringify!($name), "\0")).map_or(0, |real| real as usize)
        }

        /// # Safety
        /// libgomp's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push r10",
                "call {find}",
                "pop r10", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "test rax, rax",
                "jz 2f",
                "jmp rax",
                "2: ret",
                find = sym $find,
            )
        }
    )* };
}

tasks! {
    GOMP_task find_task
    GOMP_taskloop find_taskloop
    GOMP_taskloop_ull find_taskloop_ull
}
