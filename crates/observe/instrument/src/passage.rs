//! Rare parts of a passage: a thread's first record, actions, and exits by exception.
#![allow(unsafe_code, reason = "called by machine code, and by unwinders")]

use crate::context::{COUNT_EXIT, Context, EXIT, thunk};
use crate::frame::Passage;
use crate::shadow;
use crate::site::{Attribute, StartError, ThreadHooks, ValueSource};
use crate::thread::{self, Errno};
use events::function::{EXIT_BY_EXCEPTION, N_VALUES};
use events::{EventRecord, FunctionKind, ProbePoint};
use ring::RingCursor;
use std::arch::x86_64::__cpuid_count;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

/// Number of bytes that `xsave` writes.
pub(crate) static XSAVE_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Register sets to save: x87, SSE, AVX, AVX-512.
pub(crate) static XSAVE_MASK: AtomicU32 = AtomicU32::new(0xe7);

static HOOKS: OnceLock<ThreadHooks> = OnceLock::new();

/// Stores the hooks, and the size of the register state.
pub(crate) fn start(hooks: ThreadHooks) -> Result<(), StartError> {
    if !std::arch::is_x86_feature_detected!("xsave") {
        return Err(StartError::NoXsave);
    }
    let n_bytes = __cpuid_count(0xd, 0).ebx as usize;
    XSAVE_BYTES.store(n_bytes.next_multiple_of(64), Ordering::Relaxed);
    HOOKS.set(hooks).map_err(|_| StartError::Twice)
}

/// Attaches a ring to the calling thread; returns null if there is none (now).
pub(crate) extern "C" fn attach() -> *mut RingCursor {
    let words = thread::words();
    // Passages during the attaching are not recorded.
    if words.is_attaching() {
        return std::ptr::null_mut();
    }
    let Some(hooks) = HOOKS.get() else { return std::ptr::null_mut() };
    let errno = Errno::keep();
    words.set_attaching(true);
    let cursor = (hooks.attach)();
    words.set_cursor(cursor);
    words.set_attaching(false);
    errno.give_back(cursor)
}

/// Carries out the actions at an entry; `frame` is the frame of the code that calls this.
pub(crate) extern "C" fn act_at_entry(context: &Context, hit: u64, frame: &u64) {
    act(context, ProbePoint::Entry, hit, Some(frame));
}

/// Carries out the actions at an exit.
pub(crate) extern "C" fn act_at_exit(context: &Context, hit: u64) {
    act(context, ProbePoint::Exit, hit, None);
}

#[expect(clippy::cast_possible_truncation, reason = "numbers of passages wrap around")]
fn act(context: &Context, place: ProbePoint, hit: u64, frame: Option<&u64>) {
    let errno = Errno::keep();
    if let Some(actions) = context.actions() {
        actions.act(place, &Passage::new(hit as u32, frame));
    }
    errno.give_back(());
}

const SEARCH_GOES_ON: c_int = 8;
const CLEANUP_PHASE: c_int = 2;

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Personality routine of the thunk: unwinders call it for every hijacked function that is left by an exception
/// or by the end of its thread.
pub(crate) extern "C" fn leave_unwound(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: the unwinder's own context.
        let at = unsafe { _Unwind_GetIP(context) };
        // SAFETY: as above.
        let frame = unsafe { _Unwind_GetCFA(context) };
        // At other addresses in the thunk the exit is already recorded.
        if at == thunk()
            && let Some(context) = shadow::context_at(frame - size_of::<usize>())
        {
            record_unwound(context);
        }
    }
    SEARCH_GOES_ON
}

fn record_unwound(context: &Context) {
    let flags = context.flags.load(Ordering::Acquire);
    let mut hit = 0;
    if flags & COUNT_EXIT != 0 {
        hit = context.exit.hits.fetch_add(1, Ordering::AcqRel) + 1;
    }
    if flags & EXIT == 0 {
        return;
    }
    let words = thread::words();
    let mut cursor = words.cursor();
    if cursor.is_null() {
        cursor = attach();
    }
    // SAFETY: the calling thread's ring, as its hook gave it.
    let Some(cursor) = (unsafe { cursor.as_mut() }) else { return };
    let attributes = context.actions().map_or(&[][..], |actions| &actions.exit_attributes);
    append(cursor, context.exit.event.load(Ordering::Relaxed), hit, attributes);
}

/// Appends the records of an exit by exception; nothing was returned, so only variables are read.
#[expect(clippy::cast_possible_truncation, reason = "numbers of passages wrap around")]
fn append(cursor: &mut RingCursor, event: u32, hit: u64, attributes: &[Attribute]) {
    let n_records = attributes.len().div_ceil(N_VALUES).max(1) as u64;
    if cursor.busy != 0 {
        return add(cursor.dropped, n_records);
    }
    cursor.busy = 1;
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a word of the segment, which is never unmapped.
    cursor.acknowledged = unsafe { &*cursor.reader }.load(Ordering::Acquire);
    let last = cursor.written + n_records - 1;
    if cursor.mask == 0 || cursor.mask < last.wrapping_sub(cursor.acknowledged) {
        add(cursor.dropped, n_records);
    } else {
        let mut record = EventRecord {
            ticks: ring::clock::ticks(),
            event,
            hit: hit as u32,
            exit_kind: EXIT_BY_EXCEPTION,
            kind: FunctionKind::Event as u16,
            ..EventRecord::default()
        };
        for idx in 0..n_records as usize {
            let rest = attributes.iter().skip(N_VALUES * idx);
            let mut values = [0; N_VALUES];
            values.iter_mut().zip(rest).for_each(|(value, attribute)| *value = read(*attribute));
            record.values.copy_from_slice(&values[..4]);
            record.last_value = values[4];
            let position = (cursor.written & cursor.mask) as usize;
            // SAFETY: below the ring's capacity.
            let slot = unsafe { cursor.records.add(position) };
            // SAFETY: as above; the reader does not look at it before it is published.
            unsafe { slot.write(record.into()) };
            cursor.written += 1;
            record.kind = FunctionKind::MoreValues as u16;
        }
        // SAFETY: a word of the segment, which is never unmapped.
        unsafe { &*cursor.published }.store(cursor.written, Ordering::Release);
    }
    compiler_fence(Ordering::SeqCst);
    cursor.busy = 0;
}

fn add(counter: *const AtomicU64, by: u64) {
    // SAFETY: a word of the segment, which is never unmapped; the calling thread alone writes it.
    let counter = unsafe { &*counter };
    counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

/// Reads a variable; what lies behind pointers is 0 here, where no fault may happen.
fn read(attribute: Attribute) -> u64 {
    let ValueSource::Global(address) = attribute.source else { return 0 };
    let mut bytes = [0; 8];
    let n_bytes = attribute.kind.n_bytes();
    let from = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: the requester of the attribute vouches for the address; no type is larger than the room.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), n_bytes) };
    u64::from_le_bytes(bytes)
}
