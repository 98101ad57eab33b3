//! Rings that are read only at the program's end.

use events::CallRecord;
use ring::RingCursor;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

const N_RECORDS: usize = 1 << 21;
const N_THREADS: usize = 256;
const RECORDS_OFFSET: usize = 4096;

#[repr(C)]
struct Ring {
    cursor: RingCursor,
    written: AtomicU64,
    acknowledged: AtomicU64,
    dropped: AtomicU64,
}

static RINGS: [AtomicPtr<Ring>; N_THREADS] = [const { AtomicPtr::new(null_mut()) }; N_THREADS];
static N_RINGS: AtomicUsize = AtomicUsize::new(0);

/// Makes a ring for the calling thread.
pub(crate) extern "C" fn attach() -> *mut RingCursor {
    let idx = N_RINGS.fetch_add(1, Ordering::Relaxed);
    let Some(place) = RINGS.get(idx) else { return null_mut() };
    let n_bytes = RECORDS_OFFSET + N_RECORDS * size_of::<CallRecord>();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory.
    let memory = unsafe {
        libc::mmap(null_mut(), n_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    if memory == libc::MAP_FAILED {
        return null_mut();
    }
    let ring = memory.cast::<Ring>();
    // SAFETY: inside the new memory, which is never unmapped; all zero is valid.
    let ring = unsafe { &mut *ring };
    ring.cursor = RingCursor {
        // SAFETY: as above.
        records: unsafe { memory.add(RECORDS_OFFSET) }.cast(),
        mask: N_RECORDS as u64 - 1,
        written: 0,
        acknowledged: 0,
        published: &raw const ring.written,
        reader: &raw const ring.acknowledged,
        dropped: &raw const ring.dropped,
        busy: 0,
    };
    place.store(ring, Ordering::Release);
    &raw mut ring.cursor
}

/// Returns all records, thread by thread, and the number of records dropped.
pub(crate) fn read() -> (Vec<Vec<CallRecord>>, u64) {
    let mut n_dropped = 0;
    let mut threads = Vec::new();
    for place in &RINGS {
        // SAFETY: null, or a ring, which is never unmapped.
        let Some(ring) = (unsafe { place.load(Ordering::Acquire).as_ref() }) else { continue };
        n_dropped += ring.dropped.load(Ordering::Relaxed);
        let n_records = ring.written.load(Ordering::Acquire) as usize;
        // SAFETY: so many records are written.
        let records = unsafe { std::slice::from_raw_parts(ring.cursor.records, n_records) };
        threads.push(records.to_vec());
    }
    (threads, n_dropped)
}
