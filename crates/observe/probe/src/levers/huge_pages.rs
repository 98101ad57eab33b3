//! Huge pages for the heap and large blocks, where the system gives them to those who ask.
//!
//! Memory for which the program has asked for huge pages, or for none, is left as it is; the kernel tells that in
//! `/proc/self/smaps`. It has no advice that makes it forget another one: memory that was asked for by us is marked as
//! refused once that is taken back, which is the same to a system that gives huge pages only to those who ask.
#![allow(unsafe_code, reason = "advice to the system about memory")]

use super::limits;
use events::usage::mappings::{Mapping, PageAdvice, Span, common, mappings};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Smallest mapping that is worth it, in bytes.
const BYTES_MIN: usize = 4 << 20;
/// Size of a huge page, which is filled before the small ones are freed, in bytes.
const PAGE_BYTES: usize = 2 << 20;
/// Memory that is made huge at once, in bytes; the rest comes with later faults, and when the system finds time.
const COLLAPSED_BYTES_MAX: usize = 256 << 20;
/// Advice to make pages huge now, since Linux 6.1.
const COLLAPSE: c_int = 25;
/// Share of the time in which the system may be asked about new memory: one in so many parts.
const LOOK_SHARE: u32 = 50;

/// Memory that was asked for by us.
struct Asked {
    /// It is to have huge pages.
    huge: Vec<Span>,
    /// It no longer is.
    small: Vec<Span>,
    /// Time before which new memory is not looked for.
    next_look: Option<Instant>,
}

static ASKED: Mutex<Asked> =
    Mutex::new(Asked { huge: Vec::new(), small: Vec::new(), next_look: None });

/// Returns whether advice about huge pages has an effect, and pages of which only a part is used find room.
pub(super) fn applies() -> Result<(), String> {
    let text = std::fs::read_to_string(SETTING).unwrap_or_default();
    match () {
        () if text.contains("[madvise]") => {}
        () if text.contains("[always]") => {
            return Err("this node gives huge pages to everybody".to_owned());
        }
        () => return Err("this node has no transparent huge pages".to_owned()),
    }
    let free = look().into_iter().filter(|mapping| mapping.advice == PageAdvice::None);
    let large = free.filter(|mapping| BYTES_MIN <= mapping.n_bytes());
    let unused = large.map(|mapping| mapping.n_bytes().saturating_sub(mapping.resident_bytes));
    let needed_bytes = unused.sum::<usize>().max(PAGE_BYTES);
    limits::room(needed_bytes as u64).map(|_| ())
}

/// Sentence about what is not as before when the lever is set back; else empty.
pub(super) fn note(is_on: bool) -> String {
    if is_on {
        return String::new();
    }
    "new pages are small again, those that are huge stay until they are freed".to_owned()
}

/// Asks for huge pages for all large memory of which nobody has asked anything, or takes that back.
pub(super) fn set(is_on: bool) {
    let begin = Instant::now();
    let mut asked = lock();
    let known = look();
    let with = |advice| -> Vec<Span> {
        known.iter().filter(|it| it.advice == advice).map(|it| it.span).collect()
    };
    // What has another mark now was unmapped since, or the program has asked for something else.
    asked.huge = common(&asked.huge, &with(PageAdvice::Huge));
    asked.small = common(&asked.small, &with(PageAdvice::Small));
    if is_on {
        let large = |it: &&Mapping| it.advice == PageAdvice::None && BYTES_MIN <= it.n_bytes();
        let mut new: Vec<Span> = known.iter().filter(large).map(|it| it.span).collect();
        new.append(&mut asked.small);
        ask(&new);
        asked.huge.append(&mut new);
    } else {
        asked.huge.iter().for_each(|span| advise(*span, libc::MADV_NOHUGEPAGE));
        let mut small = std::mem::take(&mut asked.huge);
        asked.small.append(&mut small);
    }
    asked.next_look = begin.checked_add(LOOK_SHARE * begin.elapsed());
}

/// Asks for huge pages for new memory, as long as there is room.
pub(super) fn renew() {
    let is_due = lock().next_look.is_none_or(|next| next <= Instant::now());
    if is_due && applies().is_ok() {
        set(true);
    }
}

fn lock() -> MutexGuard<'static, Asked> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look() -> Vec<Mapping> {
    mappings(&std::fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

fn ask(new: &[Span]) {
    let mut n_left = COLLAPSED_BYTES_MAX;
    for (first, end) in new {
        advise((*first, *end), libc::MADV_HUGEPAGE);
        let n_bytes = (end - first).min(n_left);
        advise((*first, first + n_bytes), COLLAPSE);
        n_left -= n_bytes;
    }
}

fn advise((first, end): Span, advice: c_int) {
    let address = std::ptr::without_provenance_mut(first);
    // SAFETY: the contents of memory stay what they are under this advice, also of memory that was mapped anew since.
    unsafe { libc::madvise(address, end - first, advice) };
}
