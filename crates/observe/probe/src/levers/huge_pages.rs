//! Huge pages for the heap and large blocks, where the system gives them to those who ask.
//!
//! Memory for which the program has asked for huge pages, or for none, is left as it is; the kernel tells that in
//! `/proc/self/smaps`. It has no advice that makes it forget another one: memory that was asked for by us is marked as
//! refused once that is taken back, which is the same to a system that gives huge pages only to those who ask.
#![allow(unsafe_code, reason = "advice to the system about memory")]

use super::limits;
use crate::thread;
use events::usage::SMALL_PAGE_BYTES;
use events::usage::mappings::{Mapping, PageAdvice, Span, common, mappings};
use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Smallest mapping that is worth it, in bytes.
const BYTES_MIN: usize = 4 << 20;
/// Size of a huge page, which is filled before the small ones are freed, in bytes.
const PAGE_BYTES: usize = 2 << 20;
/// Share of the processor time so far in which memory may be made huge before the lever is set: one in so many parts. How
/// long that takes depends on the node: in a virtual machine, the host may have to find the memory first.
const READY_SHARE: u32 = 100;
/// Longest such time without a pause, in which no other order is carried out.
const READY_MAX: Duration = Duration::from_secs(1);
/// Processor time in which memory is made huge at each look while the lever is set.
const NEXT: Duration = Duration::from_millis(40);
/// Advice to make pages huge now, since Linux 6.1.
const COLLAPSE: c_int = 25;
/// Share of the time in which new memory may be looked for: one in so many parts.
const LOOK_SHARE: u32 = 50;

/// Memory that was asked for by us.
struct Asked {
    /// It is to have huge pages.
    huge: Vec<Span>,
    /// Part of it that was not looked at since, and may be in small pages.
    left: Vec<Span>,
    /// It no longer is to have huge pages.
    small: Vec<Span>,
    /// Time before which new memory is not looked for.
    next_look: Option<Instant>,
    /// Processor time that went into making memory huge before the lever was set.
    spent: Duration,
}

static ASKED: Mutex<Asked> = Mutex::new(Asked {
    huge: Vec::new(),
    left: Vec::new(),
    small: Vec::new(),
    next_look: None,
    spent: Duration::ZERO,
});

/// Makes the memory huge that the lever is to be set for, so that its trial compares all of it; the mark that would tell
/// the system to go on comes with the lever.
///
/// # Errors
/// A sentence why the lever does not apply, or that there was too little time; what is huge stays so, and the next call goes on.
pub(super) fn ready() -> Result<(), String> {
    applies()?;
    let mut asked = lock();
    let begin = cpu_time(libc::CLOCK_THREAD_CPUTIME_ID);
    let of_process = cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID);
    let time = (of_process / READY_SHARE).saturating_sub(asked.spent).min(READY_MAX);
    let mut wanted = large_and_free(&look());
    if wanted.is_empty() && asked.small.is_empty() {
        return Err("it has no large memory of which nobody asked anything".to_owned());
    }
    make_huge(&mut wanted, time);
    asked.spent += cpu_time(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(begin);
    match wanted.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "its memory is not all in huge pages yet, which may take {} % of the processor time so far; it goes on later",
            100 / READY_SHARE
        )),
    }
}

/// Returns whether advice about huge pages has an effect, and pages of which only a part is used find room.
fn applies() -> Result<(), String> {
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
    let known = asked.look();
    if is_on {
        asked.ask(&known);
        asked.next_look = begin.checked_add(LOOK_SHARE * begin.elapsed());
    } else {
        asked.take_back();
    }
}

/// Asks for huge pages for all large memory of which nobody has asked anything, where they are given to those who ask.
pub(super) fn ask_once() {
    if applies().is_ok() {
        advise_all(&large_and_free(&look()), libc::MADV_HUGEPAGE);
    }
}

/// Asks for huge pages for new memory, as long as there is room.
pub(super) fn renew() {
    let is_due = lock().next_look.is_none_or(|next| next <= Instant::now());
    if is_due && applies().is_ok() {
        let begin = Instant::now();
        let mut asked = lock();
        let known = asked.look();
        asked.ask(&known);
        asked.next_look = begin.checked_add(LOOK_SHARE * begin.elapsed());
        make_huge(&mut asked.left, NEXT);
    }
}

/// Processor time so far, of the process or of the calling thread; without end where it is not known.
fn cpu_time(clock: libc::clockid_t) -> Duration {
    Duration::from_nanos(thread::clock_ns(clock).unwrap_or(u64::MAX))
}

fn lock() -> MutexGuard<'static, Asked> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look() -> Vec<Mapping> {
    mappings(&std::fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

impl Asked {
    /// Returns the memory that there is. What has another mark now was unmapped since, or the program has asked for
    /// something else.
    fn look(&mut self) -> Vec<Mapping> {
        let known = look();
        let with = |advice| -> Vec<Span> {
            known.iter().filter(|it| it.advice == advice).map(|it| it.span).collect()
        };
        self.huge = common(&self.huge, &with(PageAdvice::Huge));
        self.left = common(&self.left, &self.huge);
        self.small = common(&self.small, &with(PageAdvice::Small));
        known
    }

    fn ask(&mut self, known: &[Mapping]) {
        let mut new = large_and_free(known);
        new.append(&mut self.small);
        advise_all(&new, libc::MADV_HUGEPAGE);
        self.left.extend_from_slice(&new);
        self.huge.append(&mut new);
    }

    fn take_back(&mut self) {
        advise_all(&self.huge, libc::MADV_NOHUGEPAGE);
        self.small.append(&mut self.huge);
        self.left.clear();
    }
}

/// Returns the large mappings of which nobody has asked anything.
fn large_and_free(known: &[Mapping]) -> Vec<Span> {
    let is_wanted = |it: &&Mapping| it.advice == PageAdvice::None && BYTES_MIN <= it.n_bytes();
    known.iter().filter(is_wanted).map(|it| it.span).collect()
}

/// Makes the pages of spans huge for so much processor time; leaves the spans that are not done.
fn make_huge(spans: &mut Vec<Span>, time: Duration) {
    let now = || cpu_time(libc::CLOCK_THREAD_CPUTIME_ID);
    let deadline = now().saturating_add(time);
    while let Some((first, end)) = spans.pop() {
        let first = first.next_multiple_of(PAGE_BYTES);
        let pages = (first..end).step_by(PAGE_BYTES).take_while(|at| at + PAGE_BYTES <= end);
        for page in pages {
            if deadline <= now() {
                return spans.push((page, end));
            }
            if is_used(page) && collapse(page) == Err(libc::ENOMEM) {
                // The system has no huge pages left.
                return spans.clear();
            }
        }
    }
}

fn advise_all(spans: &[Span], advice: c_int) {
    for span in spans {
        // Memory that is no longer there needs no advice.
        let _gone = advise(*span, advice);
    }
}

/// Returns whether a part of a huge page is in memory.
fn is_used(page: usize) -> bool {
    let mut of_pages = [0_u8; PAGE_BYTES / SMALL_PAGE_BYTES];
    let address = std::ptr::without_provenance_mut(page);
    // SAFETY: a byte is written for each page of this size, which is the smallest one.
    let found = unsafe { libc::mincore(address, PAGE_BYTES, of_pages.as_mut_ptr()) };
    found == 0 && of_pages.iter().any(|byte| byte & 1 != 0)
}

/// Makes one page huge. One at a time, because the system stops at the first one of which nothing is in memory.
fn collapse(page: usize) -> Result<(), c_int> {
    let span = (page, page + PAGE_BYTES);
    // A page that is being used at this moment is tried again.
    advise(span, COLLAPSE).or_else(|errno| match errno {
        libc::EAGAIN => advise(span, COLLAPSE),
        errno => Err(errno),
    })
}

fn advise((first, end): Span, advice: c_int) -> Result<(), c_int> {
    let address = std::ptr::without_provenance_mut(first);
    // SAFETY: the contents of memory stay what they are under this advice, also of memory that was mapped anew since.
    let result = unsafe { libc::madvise(address, end - first, advice) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error().raw_os_error().unwrap_or_default())
    }
}
