//! LLVM's OpenMP library tells of its regions by callbacks (OMPT).
//!
//! The library asks every process for a tool by the function `ompt_start_tool`, and takes the first one that answers. A tool
//! of the program's own comes before us, where it is linked or loaded after us as well.
#![allow(clippy::too_many_arguments, reason = "the arguments of the functions are OMPT's")]

use super::{Frame, INNER, Part, idling, part, set_part, take};
use crate::next;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Data that OMPT keeps for a tool.
type Data = *mut u64;
type Lookup = unsafe extern "C" fn(*const c_char) -> Option<next::Function>;
type Initialize = unsafe extern "C" fn(Lookup, c_int, Data) -> c_int;
type SetCallback = unsafe extern "C" fn(c_uint, *const c_void) -> c_int;
type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *mut Tool;

/// `ompt_start_tool_result_t`.
#[repr(C)]
#[allow(dead_code, reason = "read by the library")]
struct Tool {
    initialize: Initialize,
    finalize: unsafe extern "C" fn(Data),
    data: u64,
}

static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Returns whether the library tells us of regions, or is loaded and has not begun yet.
pub(super) fn is_loaded() -> bool {
    IS_ACTIVE.load(Ordering::Acquire) || !next::global_symbol(c"__kmpc_fork_call").is_null()
}

static mut TOOL: Tool = Tool { initialize, finalize, data: 0 };

/// # Safety
/// OMPT's.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut Tool {
    let own = other_tool().map_or(null_mut(), |start| {
        // SAFETY: the library's own arguments.
        unsafe { start(version, runtime) }
    });
    // SAFETY: a look-up in the environment.
    let is_monitored = !unsafe { libc::getenv(c"SINTONIA_RUN".as_ptr()) }.is_null();
    if own.is_null() && is_monitored { &raw mut TOOL } else { own }
}

/// The function of another tool, or the library's own, which looks for tools that are linked after it.
fn other_tool() -> Option<StartTool> {
    let address = next::global_symbol(c"ompt_start_tool");
    // SAFETY: null, or a function of this name and type; null becomes `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<StartTool>>(address) }
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _tool: Data) -> c_int {
    // SAFETY: the library's own function.
    let Some(set) = (unsafe { lookup(c"ompt_set_callback".as_ptr()) }) else { return 0 };
    // SAFETY: the function of this name has this type.
    let set = unsafe { std::mem::transmute::<next::Function, SetCallback>(set) };
    let callbacks: [(c_uint, *const c_void); 5] = [
        (3, parallel_begin as *const c_void),
        (4, parallel_end as *const c_void),
        (5, task_create as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
    ];
    for (event, callback) in callbacks {
        // SAFETY: callbacks with the types of OMPT 5.0.
        unsafe { set(event, callback) };
    }
    IS_ACTIVE.store(true, Ordering::Release);
    1
}

unsafe extern "C" fn finalize(_tool: Data) {
    IS_ACTIVE.store(false, Ordering::Release);
}

/// Whether waiting threads sleep at once because we asked for it.
static IS_PASSIVE: AtomicBool = AtomicBool::new(false);
/// Time in ms that waiting threads spun before.
static SPIN_MS: AtomicI32 = AtomicI32::new(0);

/// Tells the library how long threads of the calling thread's teams spin before they sleep.
#[cold]
fn follow_lever() {
    let is_on = idling::is_on();
    if IS_PASSIVE.swap(is_on, Ordering::Relaxed) == is_on {
        return;
    }
    let get = next::global_symbol(c"kmp_get_blocktime");
    let set = next::global_symbol(c"kmp_set_blocktime");
    // SAFETY: null, or a function of this name and type; null becomes `None`.
    let get =
        unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn() -> c_int>>(get) };
    // SAFETY: as above.
    let set =
        unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(c_int)>>(set) };
    let (Some(get), Some(set)) = (get, set) else { return };
    if is_on {
        // SAFETY: the library's function for any thread.
        SPIN_MS.store(unsafe { get() }, Ordering::Relaxed);
    }
    let ms = if is_on { 0 } else { SPIN_MS.load(Ordering::Relaxed) };
    // SAFETY: as above.
    unsafe { set(ms) };
}

const SCOPE_BEGIN: c_int = 1;
const INITIAL_TASK: c_int = 1;
/// Marks the data of a region inside another one.
const IS_INNER: u64 = 1;

unsafe extern "C" fn parallel_begin(
    _task: Data,
    _frame: *const c_void,
    parallel: Data,
    _n_threads: c_uint,
    _flags: c_int,
    address: *const c_void,
) {
    if IS_PASSIVE.load(Ordering::Relaxed) != idling::is_on() {
        follow_lever();
    }
    let taken = match part() {
        Some(_) => IS_INNER,
        None => take(address as u64).map_or(0, |frame| std::ptr::from_ref(frame) as u64),
    };
    // SAFETY: the library's place for our data.
    unsafe { *parallel = taken };
}

unsafe extern "C" fn parallel_end(
    parallel: Data,
    _task: Data,
    _flags: c_int,
    _address: *const c_void,
) {
    // SAFETY: the place that `parallel_begin` filled.
    if let Some(frame) = unsafe { frame_of(parallel) } {
        set_part(null_mut());
        frame.finish();
    }
}

/// Frame of a region.
///
/// # Safety
/// Null, or the place that [`parallel_begin`] filled.
unsafe fn frame_of(parallel: Data) -> Option<&'static Frame> {
    // SAFETY: the caller's promise.
    let data = *unsafe { parallel.as_ref() }?;
    if data == IS_INNER {
        return None;
    }
    // SAFETY: 0, or the address of a frame, which is static.
    unsafe { (data as *const Frame).as_ref() }
}

unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: Data,
    _task: Data,
    _n_threads: c_uint,
    thread: c_uint,
    flags: c_int,
) {
    if flags & INITIAL_TASK != 0 {
        return;
    }
    if endpoint != SCOPE_BEGIN {
        end_part(thread);
        return;
    }
    // SAFETY: the place that `parallel_begin` filled.
    if let Some(frame) = unsafe { frame_of(parallel) } {
        set_part(frame.begin_part(thread as usize));
        return;
    }
    // SAFETY: as above.
    let is_inner = unsafe { parallel.as_ref() }.is_some_and(|data| *data == IS_INNER);
    if is_inner && part().is_none() {
        set_part(std::ptr::from_ref::<Part>(&INNER).cast_mut());
    }
}

/// Ends the part of the calling thread. The thread that met the region goes on in it until the region ends, and a thread that
/// waits for its next region is told of the end of its part only then.
fn end_part(thread: c_uint) {
    let Some(part) = part() else { return };
    if part.is_inner() || thread != 0 {
        set_part(null_mut());
    } else {
        part.end.store(ring::clock::ticks(), Ordering::Relaxed);
    }
}

unsafe extern "C" fn task_create(
    _task: Data,
    _frame: *const c_void,
    _new: Data,
    flags: c_int,
    _has_dependences: c_int,
    _address: *const c_void,
) {
    const EXPLICIT: c_int = 4;
    if let Some(part) = part().filter(|_| flags & EXPLICIT != 0) {
        part.make_tasks();
    }
}

unsafe extern "C" fn sync_region_wait(
    _kind: c_int,
    endpoint: c_int,
    _parallel: Data,
    _task: Data,
    _address: *const c_void,
) {
    let Some(part) = part().filter(|part| !part.is_inner()) else { return };
    if endpoint == SCOPE_BEGIN {
        part.wait();
    } else {
        part.go_on();
    }
}
