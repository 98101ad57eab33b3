//! Huge pages for the heap and large blocks, where the system gives them to those who ask.
//!
//! Memory for which the program has asked for huge pages, or for none, is left as it is; the kernel tells that in
//! `/proc/self/smaps`. It has no advice that makes it forget another one: memory that was asked for by us is marked as
//! refused once that is taken back, which is the same to a system that gives huge pages only to those who ask.
#![allow(unsafe_code, reason = "advice to the system about memory")]

use super::limits;
use events::usage::mappings::{Mapping, PageAdvice, Span, common, mappings};
use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Smallest mapping that is worth it, in bytes.
const BYTES_MIN: usize = 4 << 20;
/// Size of a huge page, which is filled before the small ones are freed, in bytes.
const PAGE_BYTES: usize = 2 << 20;
/// Memory that is made huge at once when that is asked for, in bytes.
const FIRST_BYTES: usize = 1 << 30;
/// The same at each later look, until all of it is huge.
const NEXT_BYTES: usize = 256 << 20;
/// Size of the smallest pages, in bytes.
const SMALL_PAGE_BYTES: usize = 4096;
/// Advice to make pages huge now, since Linux 6.1.
const COLLAPSE: c_int = 25;
/// Share of the time in which new memory may be looked for and made huge: one in so many parts.
const LOOK_SHARE: u32 = 50;

/// Memory that was asked for by us.
struct Asked {
    /// It is to have huge pages.
    huge: Vec<Span>,
    /// Part of it that was not made huge yet.
    left: Vec<Span>,
    /// It no longer is to have huge pages.
    small: Vec<Span>,
    /// Time before which new memory is not looked for.
    next_look: Option<Instant>,
}

static ASKED: Mutex<Asked> =
    Mutex::new(Asked { huge: Vec::new(), left: Vec::new(), small: Vec::new(), next_look: None });

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
    let known = asked.look();
    if is_on {
        asked.ask(&known);
        let looked = begin.elapsed();
        asked.make_huge(FIRST_BYTES);
        asked.next_look = Instant::now().checked_add(LOOK_SHARE * looked);
    } else {
        asked.take_back();
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
        asked.make_huge(NEXT_BYTES);
        asked.next_look = begin.checked_add(LOOK_SHARE * begin.elapsed());
    }
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
        let large = |it: &&Mapping| it.advice == PageAdvice::None && BYTES_MIN <= it.n_bytes();
        let mut new: Vec<Span> = known.iter().filter(large).map(|it| it.span).collect();
        new.append(&mut self.small);
        advise_all(&new, libc::MADV_HUGEPAGE);
        self.left.extend_from_slice(&new);
        self.huge.append(&mut new);
    }

    /// Makes pages huge of so many bytes at most; the rest comes later.
    fn make_huge(&mut self, n_bytes: usize) {
        let mut n_left = n_bytes / PAGE_BYTES;
        while 0 < n_left
            && let Some((first, end)) = self.left.pop()
        {
            let first = first.next_multiple_of(PAGE_BYTES);
            let pages = (first..end).step_by(PAGE_BYTES).take_while(|at| at + PAGE_BYTES <= end);
            for page in pages.filter(|page| is_used(*page)) {
                if n_left == 0 {
                    self.left.push((page, end));
                    break;
                }
                n_left -= 1;
                if collapse(page) == Err(libc::ENOMEM) {
                    // The system has no huge pages left.
                    self.left.clear();
                    return;
                }
            }
        }
    }

    fn take_back(&mut self) {
        advise_all(&self.huge, libc::MADV_NOHUGEPAGE);
        self.small.append(&mut self.huge);
        self.left.clear();
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
