//! Samples that the process takes of itself (`--sample`), where the system allows no performance events.
//!
//! Each thread has a timer of its processor time in user mode. Its signal therefore never interrupts a system call, and
//! no call of the program ends early. The handler copies registers and the top of the stack into a file in shared
//! memory; the collector makes call paths of them.
//!
//! # Invariants
//! - The signal is one for which the program has no handler; when the program takes it, sampling ends.
//! - The handler takes no lock, allocates nothing, keeps `errno`, and reads only memory that the system finds readable.
#![allow(unsafe_code, reason = "signals, timers, and the stack of the interrupted thread")]

use crate::control;
use crate::monitoring::{Process, is_running};
use crate::options::SelfSampling;
use ring::samples::{N_REGISTERS, Refusal, SUFFIX, SampleWriter};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

/// User time of a thread between two samples, in ns.
const PERIOD_NS: i64 = 1_000_000_000 / 99;
/// Time between two looks for new threads.
const SCAN_EVERY: Duration = Duration::from_millis(250);
/// Mark of our timers' signals.
const MARK: usize = 0x5149_4e54;
const PAGE_BYTES: usize = 4096;

/// File of the samples; null while none are taken.
static WRITER: AtomicPtr<SampleWriter> = AtomicPtr::new(null_mut());
/// Signal in use; 0 while there is none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Never set: the scanning thread waits on it.
static BELL: AtomicU32 = AtomicU32::new(0);

/// `clock` of a thread's user time, for `timer_create`.
fn user_time_of(tid: i32) -> i32 {
    const OF_THREAD: i32 = 4;
    const USER_TIME: i32 = 1;
    !tid << 3 | OF_THREAD | USER_TIME
}

/// Returns whether the system allows performance events, which need nothing in this process.
fn has_events() -> bool {
    const ATTRIBUTE_BYTES: u64 = 64;
    const TASK_CLOCK: u64 = 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const CLOSE_ON_EXEC: u64 = 8;
    // `struct perf_event_attr`, version 0: kind 1 and its length, the event, and flags in the sixth word.
    let attributes = [1 | ATTRIBUTE_BYTES << 32, TASK_CLOCK, 0, 0, 0, EXCLUDE_KERNEL, 0, 0_u64];
    let place = attributes.as_ptr();
    // SAFETY: the call reads the attributes only.
    let event =
        unsafe { libc::syscall(libc::SYS_perf_event_open, place, 0, -1, -1, CLOSE_ON_EXEC) };
    let Some(event) = c_int::try_from(event).ok().filter(|event| 0 <= *event) else {
        return false;
    };
    // SAFETY: the descriptor is new, and nobody else has it.
    unsafe { libc::close(event) };
    true
}

/// Starts to sample all threads, if that was asked for.
pub(crate) fn start(process: &'static Process) {
    let is_wanted = match process.options.self_sampling {
        SelfSampling::Never => false,
        SelfSampling::WithoutEvents => !has_events(),
        SelfSampling::Always => true,
    };
    if !is_wanted || !WRITER.load(Ordering::Acquire).is_null() {
        return;
    }
    let path = process.segment.path().with_extension(SUFFIX);
    let Ok(writer) = SampleWriter::create(&path) else { return };
    let writer: &'static SampleWriter = Box::leak(Box::new(writer));
    let Some(signal) = take_signal() else {
        writer.refuse(Refusal::NoSignal);
        return;
    };
    SIGNAL.store(signal, Ordering::Release);
    WRITER.store(std::ptr::from_ref(writer).cast_mut(), Ordering::Release);
    if control::start_with(Box::new(move || keep_timers(signal, writer))).is_err() {
        writer.refuse(Refusal::NoTimer);
    }
}

/// Ends sampling if the program sets an action for our signal. The timers go with the next look for threads; until then
/// their signals are ignored, since the program's own handler would not expect them.
pub(crate) fn yields(signal: c_int) {
    if signal != 0 && SIGNAL.load(Ordering::Acquire) == signal {
        SIGNAL.store(0, Ordering::Release);
        if let Some(writer) = writer() {
            writer.refuse(Refusal::SignalTaken);
        }
        TIMERS.iter().for_each(Timer::disarm);
    }
}

fn writer() -> Option<&'static SampleWriter> {
    // SAFETY: null, or what `start` has leaked.
    unsafe { WRITER.load(Ordering::Acquire).as_ref() }
}

/// Installs the handler for the last real-time signal that the program does not use.
fn take_signal() -> Option<c_int> {
    let free = |signal: &c_int| {
        // SAFETY: numbers and an empty set.
        let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
        // SAFETY: fills our own struct.
        let result = unsafe { libc::sigaction(*signal, std::ptr::null(), &raw mut action) };
        result == 0 && action.sa_sigaction == libc::SIG_DFL
    };
    let signal = (libc::SIGRTMIN() + 1..libc::SIGRTMAX() - 3).rev().find(free)?;
    // SAFETY: numbers and an empty set.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe.
    let result = unsafe { libc::sigaction(signal, &raw const action, null_mut()) };
    (result == 0).then_some(signal)
}

/// Maximum number of threads with a timer.
const N_TIMERS_MAX: usize = 256;

/// Timer of a thread: its number plus one; 0 if there is none.
struct Timer(AtomicI32);

static TIMERS: [Timer; N_TIMERS_MAX] = [const { Timer(AtomicI32::new(0)) }; N_TIMERS_MAX];

impl Timer {
    /// Starts a timer of thread `tid`; false if the system refuses.
    fn arm(&self, tid: i32, signal: c_int) -> bool {
        // SAFETY: numbers and null pointers.
        let mut event = unsafe { std::mem::zeroed::<libc::sigevent>() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value.sival_ptr = std::ptr::without_provenance_mut(MARK);
        event.sigev_notify_thread_id = tid;
        let (clock, mut number) = (user_time_of(tid), 0_i32);
        let (event, place) = (&raw const event, &raw mut number);
        // SAFETY: the call reads the event and writes the number.
        if unsafe { libc::syscall(libc::SYS_timer_create, clock, event, place) } != 0 {
            return false;
        }
        self.0.store(number + 1, Ordering::Release);
        let interval = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NS };
        let times = libc::itimerspec { it_interval: interval, it_value: interval };
        let nothing = null_mut::<c_void>();
        // SAFETY: the call reads the times.
        unsafe { libc::syscall(libc::SYS_timer_settime, number, 0, &raw const times, nothing) == 0 }
    }

    /// Ends the timer, if there is one.
    fn disarm(&self) {
        let number = self.0.swap(0, Ordering::AcqRel) - 1;
        if 0 <= number {
            // SAFETY: a timer of our own, deleted once.
            unsafe { libc::syscall(libc::SYS_timer_delete, number) };
        }
    }
}

/// Gives each thread a timer, until monitoring ends.
fn keep_timers(signal: c_int, writer: &SampleWriter) {
    // SAFETY: a system call without arguments.
    let own = unsafe { libc::gettid() };
    let mut by_thread: BTreeMap<i32, &'static Timer> = BTreeMap::new();
    while is_running() && SIGNAL.load(Ordering::Acquire) == signal {
        let living = thread_ids();
        by_thread.retain(|tid, timer| {
            let lives = living.contains(tid);
            if !lives {
                timer.disarm();
            }
            lives
        });
        for tid in living.into_iter().filter(|tid| *tid != own) {
            let free = TIMERS.iter().find(|timer| timer.0.load(Ordering::Acquire) == 0);
            if let (false, Some(timer)) = (by_thread.contains_key(&tid), free) {
                if timer.arm(tid, signal) {
                    by_thread.insert(tid, timer);
                } else if by_thread.is_empty() {
                    writer.refuse(Refusal::NoTimer);
                }
            }
        }
        control::wait_while(&BELL, 0, SCAN_EVERY);
    }
    TIMERS.iter().for_each(Timer::disarm);
}

fn thread_ids() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

extern "C" fn on_signal(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a readable description.
    let info = unsafe { &*info };
    // SAFETY: for signals of other origin the value is compared only.
    let value = unsafe { info.si_value() };
    let is_ours = info.si_code == libc::SI_TIMER && value.sival_ptr.addr() == MARK;
    let Some(writer) = writer().filter(|_| is_ours) else { return };
    // SAFETY: the kernel passes the interrupted thread's state to a handler with `SA_SIGINFO`.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let registers = &context.uc_mcontext.gregs;
    let sample = ORDER.map(|register| registers[register].cast_unsigned());
    // SAFETY: the calling thread's own word.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    writer.add(&sample, |to, n_bytes| copy_stack(sample[STACK_POINTER], to, n_bytes));
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Registers in the order of a sample.
const ORDER: [usize; N_REGISTERS] = [
    libc::REG_RAX as usize,
    libc::REG_RBX as usize,
    libc::REG_RCX as usize,
    libc::REG_RDX as usize,
    libc::REG_RSI as usize,
    libc::REG_RDI as usize,
    libc::REG_RBP as usize,
    libc::REG_RSP as usize,
    libc::REG_RIP as usize,
    libc::REG_R8 as usize,
    libc::REG_R9 as usize,
    libc::REG_R10 as usize,
    libc::REG_R11 as usize,
    libc::REG_R12 as usize,
    libc::REG_R13 as usize,
    libc::REG_R14 as usize,
    libc::REG_R15 as usize,
];
const STACK_POINTER: usize = 7;

/// Copies up to `n_bytes` bytes from address `from` on, page by page up to the first one that is not readable.
fn copy_stack(from: u64, to: *mut u8, n_bytes: usize) -> usize {
    const N_PAGES: usize = 3;
    let Ok(from) = usize::try_from(from) else { return 0 };
    let empty = libc::iovec { iov_base: null_mut(), iov_len: 0 };
    let mut pages = [empty; N_PAGES];
    let (mut at, mut left) = (from, n_bytes);
    for page in &mut pages {
        let n_here = (PAGE_BYTES - at % PAGE_BYTES).min(left);
        *page = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: n_here };
        (at, left) = (at.wrapping_add(n_here), left - n_here);
    }
    let target = libc::iovec { iov_base: to.cast(), iov_len: n_bytes };
    let (target, pages) = (&raw const target, pages.as_ptr());
    // SAFETY: a system call without arguments.
    let own = unsafe { libc::getpid() };
    // SAFETY: the target has room for `n_bytes`; the system checks whether the source is readable.
    let copied = unsafe { libc::process_vm_readv(own, target, 1, pages, N_PAGES as u64, 0) };
    usize::try_from(copied).unwrap_or_default()
}
