//! Reads and writes code of this process.
//!
//! `/proc/self/mem` needs no writable page. Where it cannot be used (a process that may not be dumped, a
//! system that forbids it), pages are made writable for the moment and then get their previous protection back.
#![allow(unsafe_code, reason = "writes code")]

use crate::near::Mappings;
use std::cell::OnceCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};

const PAGE_BYTES: usize = 4096;
const WANTED: i32 = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;

/// Access to write code, open for one pass.
#[derive(Debug)]
pub(super) struct Code {
    memory: Option<File>,
    /// Mappings, read at first use: a pass does not change them.
    maps: OnceCell<Mappings>,
}

impl Code {
    pub(super) fn open() -> Self {
        let memory = OpenOptions::new().write(true).open("/proc/self/mem").ok();
        Self { memory, maps: OnceCell::new() }
    }

    /// Writes the bytes; a single byte changes atomically.
    pub(super) fn write(&self, address: usize, bytes: &[u8]) -> io::Result<()> {
        if let Some(memory) = &self.memory
            && memory.write_all_at(bytes, address as u64).is_ok()
        {
            return Ok(());
        }
        write_unprotected(self.maps.get_or_init(Mappings::read), address, bytes)
    }
}

/// Returns whether memory holds the bytes.
///
/// # Safety
/// The range is mapped and readable.
pub(super) unsafe fn holds(address: usize, bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(idx, expected)| {
        // SAFETY: within the range the caller vouches for.
        unsafe { byte(address + idx) == *expected }
    })
}

/// Reads the byte at an address.
///
/// # Safety
/// The address is mapped and readable.
pub(super) unsafe fn byte(address: usize) -> u8 {
    let place = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: the caller's promise; volatile, because code changes behind the compiler's back.
    unsafe { place.read_volatile() }
}

fn write_unprotected(maps: &Mappings, address: usize, bytes: &[u8]) -> io::Result<()> {
    let pages = pages_of(maps, address, bytes.len())?;
    let n_open = pages.iter().take_while(|(page, _)| protect(*page, WANTED).is_ok()).count();
    let mut outcome = Ok(());
    if n_open == pages.len() {
        store(address, bytes);
    } else {
        outcome = Err(io::Error::last_os_error());
    }
    for (page, protection) in &pages[..n_open] {
        outcome = outcome.and(protect(*page, *protection));
    }
    outcome
}

/// Returns the pages of a range, each with its protection.
fn pages_of(maps: &Mappings, address: usize, n_bytes: usize) -> io::Result<Vec<(usize, i32)>> {
    let pages = (address / PAGE_BYTES..=(address + n_bytes.max(1) - 1) / PAGE_BYTES)
        .map(|number| number * PAGE_BYTES);
    let with_protection = |page| Some((page, maps.protection(page)?));
    let pages = pages.map(with_protection).collect::<Option<Vec<_>>>();
    pages.ok_or_else(|| io::Error::from_raw_os_error(libc::EFAULT))
}

fn store(address: usize, bytes: &[u8]) {
    for (idx, byte) in bytes.iter().enumerate() {
        let place = std::ptr::with_exposed_provenance_mut(address + idx);
        // SAFETY: the caller has made the pages writable.
        let place = unsafe { AtomicU8::from_ptr(place) };
        place.store(*byte, Ordering::SeqCst);
    }
}

fn protect(page: usize, protection: i32) -> io::Result<()> {
    let place = std::ptr::with_exposed_provenance_mut(page);
    // SAFETY: pages of code stay readable and executable, so nothing that runs or reads there is disturbed.
    let answer = unsafe { libc::mprotect(place, PAGE_BYTES, protection) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
