//! Handlers for a thread that hits half-changed code, or is asked for its position (a *quiesce request*).
//!
//! # Invariants
//! - No lock and no allocation, and for our own signals no function of the C library: a handler may interrupt
//!   anything, and any function may have a probe.
//! - A signal that is not ours is passed to the program's own action.
//!
//! # Not here
//! A thread inside a handler of the program that interrupted displaced instructions: its return address lies on its
//! stack, out of sight. If a profiler interrupts the code all the time, patch the code early.
#![allow(unsafe_code, reason = "signal handlers")]

use super::redirects::Redirects;
use super::sigaction::{KernelSigaction, change_mask};
use super::signals;
use libc::{c_void, siginfo_t, ucontext_t};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Maximum number of threads asked at the same time.
pub(super) const N_REQUESTS_MAX: usize = 1024;
/// `si_code` of our requests; the kernel and the C library do not use it.
pub(super) const QUIESCE_REQUEST: i32 = -0x51;

const SI_KERNEL: i32 = 0x80;
const TRAP_BRKPT: i32 = 1;
/// Return value of a system call that a signal interrupted.
const INTERRUPTED: usize = (libc::EINTR.unsigned_abs() as usize).wrapping_neg();
const RIP: usize = libc::REG_RIP as usize;
const RAX: usize = libc::REG_RAX as usize;

/// Stubs by trapped address.
pub(super) static TRAPS: Redirects = Redirects::new();
/// Copies by address of the displaced instruction, during a pass; 0 otherwise.
pub(super) static COPIES: Redirects = Redirects::new();
/// Instructions to continue at, by the address of a load of ours that may fault.
pub(super) static LOADS: Redirects = Redirects::new();
/// Number of the last pass whose request each place has acknowledged.
pub(super) static ACKNOWLEDGED: [AtomicUsize; N_REQUESTS_MAX] =
    [const { AtomicUsize::new(0) }; N_REQUESTS_MAX];

static N_TRAPPED: AtomicU64 = AtomicU64::new(0);
static N_MOVED: AtomicU64 = AtomicU64::new(0);
static N_RESTARTED: AtomicU64 = AtomicU64::new(0);

/// Counts of threads that hit half-changed code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedirectCounts {
    /// Threads redirected from a trap to a stub.
    pub n_trapped: u64,
    /// Threads redirected from a displaced instruction to its copy.
    pub n_moved: u64,
    /// Threads sent back into a system call that a request had interrupted.
    pub n_restarted: u64,
}

/// Counts of threads that hit half-changed code, since the process began.
pub fn redirect_counts() -> RedirectCounts {
    RedirectCounts {
        n_trapped: N_TRAPPED.load(Ordering::Relaxed),
        n_moved: N_MOVED.load(Ordering::Relaxed),
        n_restarted: N_RESTARTED.load(Ordering::Relaxed),
    }
}

/// Request, in the layout of the kernel's `siginfo_t`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct QuiesceRequest {
    pub(super) signal: i32,
    pub(super) errno: i32,
    pub(super) code: i32,
    pub(super) filling: i32,
    pub(super) sender: [u32; 2],
    /// Number of the pass times [`N_REQUESTS_MAX`] plus the place of the thread.
    pub(super) number: usize,
    pub(super) rest: [u64; 12],
}

/// Handler of the trap: continues in the stub.
pub(super) extern "C" fn on_trap(signal: i32, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the structure that it has filled in.
    let code = unsafe { (*info).si_code };
    if code == SI_KERNEL || code == TRAP_BRKPT {
        let next = register(context, RIP);
        if let Some(stub) = TRAPS.target(next.wrapping_sub(1)) {
            set_register(context, RIP, stub);
            N_TRAPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Handler of faults: a load of ours finds 0 and goes on. Other faults are the program's.
pub(super) extern "C" fn on_fault(signal: i32, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the structure that it has filled in.
    let is_fault = 0 < unsafe { (*info).si_code };
    if is_fault && let Some(next) = LOADS.target(register(context, RIP)) {
        set_register(context, RAX, 0);
        set_register(context, RIP, next);
        return;
    }
    let handler = signals::program_actions(signal).get().handler;
    let is_deadly = is_fault && [libc::SIG_DFL, libc::SIG_IGN].contains(&handler);
    // The instruction faults again, and the process ends there, as it would have.
    if !(is_deadly && KernelSigaction::default().set(signal).is_ok()) {
        pass_on(signal, info, context);
    }
}

/// Handler of the request: leaves displaced instructions, and acknowledges.
pub(super) extern "C" fn on_quiesce(signal: i32, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the structure that it has filled in.
    if unsafe { (*info).si_code } != QUIESCE_REQUEST {
        return pass_on(signal, info, context);
    }
    let next = register(context, RIP);
    if let Some(copy) = COPIES.target(next).filter(|copy| *copy != 0) {
        set_register(context, RIP, copy);
        N_MOVED.fetch_add(1, Ordering::Relaxed);
    } else if register(context, RAX) == INTERRUPTED && is_after_call(next) {
        set_register(context, RIP, next - CALL_BYTES);
        N_RESTARTED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the code says that the rest of the structure is a request of ours.
    let number = unsafe { (*info.cast::<QuiesceRequest>()).number };
    ACKNOWLEDGED[number % N_REQUESTS_MAX].fetch_max(number / N_REQUESTS_MAX, Ordering::Release);
}

/// Size in bytes of `mov eax, number; syscall`.
const CALL_BYTES: usize = 7;

/// Returns whether the preceding instructions are a system call that can be repeated unchanged.
///
/// Some calls (`nanosleep`, `poll`) are interrupted by any signal, whatever the action says; the program would
/// learn of a signal that it never sent. The kernel preserves all their registers but the number, which is in the code.
fn is_after_call(next: usize) -> bool {
    // Only within a page: the previous page may not be mapped.
    if next % 4096 < CALL_BYTES {
        return false;
    }
    let byte = |back: usize| {
        let place = std::ptr::with_exposed_provenance::<u8>(next - back);
        // SAFETY: on the page of the next instruction, which is mapped; code can be read.
        unsafe { place.read_volatile() }
    };
    byte(7) == 0xb8 && byte(2) == 0x0f && byte(1) == 0x05
}

/// Passes a signal to the program's own action.
fn pass_on(signal: i32, info: *mut siginfo_t, context: *mut c_void) {
    let action = signals::program_actions(signal).get();
    // SAFETY: the kernel passes the structure that it has filled in.
    let code = unsafe { (*info).si_code };
    match action.handler {
        // A trap raised by the processor cannot be ignored.
        libc::SIG_IGN if code <= 0 => {}
        libc::SIG_DFL | libc::SIG_IGN => end(signal),
        _ => call(action, signal, info, context),
    }
}

/// Ends the process as the signal would have.
fn end(signal: i32) {
    // With the default action the signal is deadly, and arrives when this handler returns. If the system refuses
    // to set that action, the program continues.
    if KernelSigaction::default().set(signal).is_ok() {
        // SAFETY: asks for a number.
        let thread = unsafe { libc::gettid() };
        // SAFETY: sends a signal to the calling thread.
        unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal) };
    }
}

fn call(action: KernelSigaction, signal: i32, info: *mut siginfo_t, context: *mut c_void) {
    let has = |flag: i32| action.flags & flag.cast_unsigned() as usize != 0;
    if has(libc::SA_RESETHAND) {
        signals::program_actions(signal).set(KernelSigaction::default());
    }
    // The program's handler may pass a probe. The kernel restores the whole mask when our handler returns.
    change_mask(libc::SIG_UNBLOCK, signals::ours());
    change_mask(libc::SIG_BLOCK, action.mask & !signals::ours());
    if has(libc::SA_SIGINFO) {
        // SAFETY: the program set this function for this signal, with these arguments.
        let handler = unsafe {
            std::mem::transmute::<usize, extern "C" fn(i32, *mut siginfo_t, *mut c_void)>(
                action.handler,
            )
        };
        handler(signal, info, context);
    } else {
        // SAFETY: the program set this function for this signal, with this argument.
        let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(action.handler) };
        handler(signal);
    }
}

fn register(context: *mut c_void, idx: usize) -> usize {
    // SAFETY: the kernel passes the context of the thread, which is the handler's alone.
    let value = unsafe { (*context.cast::<ucontext_t>()).uc_mcontext.gregs[idx] };
    usize::from_ne_bytes(value.to_ne_bytes())
}

fn set_register(context: *mut c_void, idx: usize, value: usize) {
    // SAFETY: as in `register`.
    unsafe {
        (*context.cast::<ucontext_t>()).uc_mcontext.gregs[idx] = (value as u64).cast_signed()
    };
}
