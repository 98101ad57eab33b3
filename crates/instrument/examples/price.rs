//! Prints what probes cost: nanoseconds per call over a plain one, the median of several rounds.
//!
//! `cargo run --release -p instrument --example price`
#![allow(unsafe_code, reason = "memory for a ring")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example that prints")]

use events::{CallRecord, Place, ValueType};
use instrument::{Attribute, Instrument, Point, Site, Source, ThreadHooks};
use ring::RingCursor;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;

const N_CALLS: u32 = 2_000_000;
const N_ROUNDS: usize = 15;
const N_RECORDS: usize = 1 << 12;

static WRITTEN: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static VARIABLE: AtomicU64 = AtomicU64::new(7);

// A function of a few instructions, whose size is known.
std::arch::global_asm!(
    ".p2align 6",
    "price_small:",
    "lea eax, [rdi + 2 * rdi]",
    "add eax, 1",
    "xor eax, 5",
    "ret",
    "price_small_end:",
    ".p2align 4",
);

unsafe extern "C" {
    fn price_small(number: i32) -> i32;
    fn price_small_end();
}

/// A ring whose reader has always read everything.
extern "C" fn attach() -> *mut RingCursor {
    let records = vec![CallRecord::default(); N_RECORDS].leak();
    let cursor = RingCursor {
        records: records.as_mut_ptr(),
        mask: N_RECORDS as u64 - 1,
        written: 0,
        acknowledged: 0,
        published: &raw const WRITTEN,
        reader: &raw const WRITTEN,
        dropped: &raw const DROPPED,
        busy: 0,
    };
    Box::leak(Box::new(cursor))
}

fn main() {
    let plain = price();
    println!("plain call                 {plain:6.1} ns");
    println!("rdtsc                      {:6.1} ns", median(|| round(tick)));
    let probes = Instrument::start(ThreadHooks { attach }).unwrap();
    let of = |source, kind| Attribute { source, kind };
    let variable = Source::Global((&raw const VARIABLE).addr());
    let three = vec![
        of(Source::Integer(0), ValueType::I32),
        of(Source::Integer(1), ValueType::I64),
        of(variable, ValueType::U64),
    ];
    let line = |text, site: &Site| {
        for outcome in probes.install(std::slice::from_ref(site)) {
            outcome.unwrap();
        }
        println!("{text:26} {:6.1} ns over a plain call", price() - plain);
        for outcome in probes.remove(&[site.id]) {
            outcome.unwrap();
        }
    };
    line("off", &site(1, Some(&[]), Some(&[]), false));
    line("entry", &site(2, Some(&[]), None, true));
    line("entry and exit", &site(3, Some(&[]), Some(&[]), true));
    line("the same, 3 attributes", &site(4, Some(&three), Some(&[]), true));
    line(
        "the same, as sync point",
        &Site { is_sync: true, ..site(5, Some(&three), Some(&[]), true) },
    );
    let armed = Site { is_sync: true, ..site(6, Some(&[]), Some(&[]), true) };
    for outcome in probes.install(std::slice::from_ref(&armed)) {
        outcome.unwrap();
    }
    assert!(probes.arm(armed.id, Place::Entry, 1, u32::MAX, Box::new(|_| false)));
    println!("{:26} {:6.1} ns over a plain call", "an action waits", price() - plain);
}

fn site(id: u32, entry: Option<&[Attribute]>, exit: Option<&[Attribute]>, is_on: bool) -> Site {
    let point = |attributes: Option<&[Attribute]>, event| {
        attributes.map(|attributes| Point { event, attributes: attributes.to_vec(), is_on })
    };
    let function = price_small as *const () as usize;
    let n_bytes = price_small_end as *const () as usize - function;
    Site {
        id,
        function,
        n_bytes,
        n_bytes_to_next: n_bytes,
        entry: point(entry, 2 * id),
        exit: point(exit, 2 * id + 1),
        is_sync: false,
    }
}

fn price() -> f64 {
    median(|| round(call))
}

fn call(number: i32) -> i32 {
    // SAFETY: a function of two registers.
    unsafe { price_small(number) }
}

#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
fn tick(_number: i32) -> i32 {
    // SAFETY: a time-stamp counter is on every processor that can have probes.
    unsafe { std::arch::x86_64::_rdtsc() as i32 }
}

/// Nanoseconds of processor time for one call.
#[inline(never)]
fn round(what: impl Fn(i32) -> i32) -> f64 {
    let start_ns = thread_ns();
    for number in 0..N_CALLS.cast_signed() {
        black_box(what(black_box(number)));
    }
    (thread_ns() - start_ns) / f64::from(N_CALLS)
}

fn thread_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time into our variable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut all: Vec<_> = (0..N_ROUNDS).map(|_| measure()).collect();
    all.sort_by(f64::total_cmp);
    all[N_ROUNDS / 2]
}
