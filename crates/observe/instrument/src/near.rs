//! Memory within reach of a function's 5-byte jump, for code and for its data.
//!
//! Code is one memory file mapped twice, executable near the function and writable elsewhere: no page is both. A gap
//! below the program's image is preferred; above it, the heap needs room to grow.
#![allow(unsafe_code, reason = "maps memory at chosen addresses")]

use crate::context::Context;
use crate::site::Refusal;
use std::ffi::c_void;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};

pub(crate) const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const CODE_BYTES: usize = 1 << 20;
const DATA_BYTES: usize = 1 << 20;
const ARENA_BYTES: usize = CODE_BYTES + DATA_BYTES;
/// Less than the 2 GiB reach of a jump: displaced instructions access data on the other side of the image.
const REACH_BYTES: usize = 0x7000_0000;
/// Lowest address that the system lets a process map.
const LOWEST: usize = 0x1_0000;
const PAGE_BYTES: usize = 4096;
const CODE_ALIGNMENT: usize = 16;

/// All near memory of this process.
#[derive(Debug, Default)]
pub(crate) struct NearArenas {
    arenas: Vec<Arena>,
}

/// Piece of near memory; never freed.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Address of the code; the data follow it.
    code: usize,
    /// Address at which the code can be written.
    writable: usize,
    n_code_bytes: usize,
    n_data_bytes: usize,
}

impl NearArenas {
    /// Returns an arena near `address` with room for one more site of at most `n_code_bytes`.
    pub(crate) fn arena(
        &mut self,
        address: usize,
        n_code_bytes: usize,
        mappings: &Mappings,
    ) -> Result<&mut Arena, Refusal> {
        let known = self.arenas.iter().position(|arena| arena.suits(address, n_code_bytes));
        let idx = match known {
            Some(idx) => idx,
            None => {
                self.arenas.push(Arena::new(address, mappings)?);
                self.arenas.len() - 1
            }
        };
        Ok(&mut self.arenas[idx])
    }
}

impl Arena {
    fn new(address: usize, mappings: &Mappings) -> Result<Self, Refusal> {
        let refusal = |call, errno| Refusal::NoNearMemory { address, call, errno };
        let file = memory_file().map_err(|errno| refusal("memfd_create", errno))?;
        let writable = map(0, CODE_BYTES, READ_WRITE, libc::MAP_SHARED, Some(&file))
            .map_err(|errno| refusal("mmap", errno))?;
        let mut errno = libc::ENOMEM;
        for place in mappings.places_near(address) {
            match map_pair(place, &file) {
                Ok(()) => {
                    return Ok(Self { code: place, writable, n_code_bytes: 0, n_data_bytes: 0 });
                }
                Err(failure) => errno = failure,
            }
        }
        unmap(writable, CODE_BYTES);
        Err(refusal("mmap", errno))
    }

    fn suits(&self, address: usize, n_code_bytes: usize) -> bool {
        self.code.abs_diff(address) < REACH_BYTES
            && self.n_code_bytes + n_code_bytes <= CODE_BYTES
            && self.n_data_bytes + size_of::<Context>() <= DATA_BYTES
    }

    /// Address of the next code.
    pub(crate) fn next_code(&self) -> usize {
        self.code + self.n_code_bytes
    }

    /// Writes code at the address returned by `next_code`; the caller has made sure that there is room.
    pub(crate) fn add_code(&mut self, bytes: &[u8]) {
        let n_bytes = bytes.len().min(CODE_BYTES - self.n_code_bytes);
        let to = std::ptr::with_exposed_provenance_mut(self.writable + self.n_code_bytes);
        // SAFETY: inside our mapping, behind all code that is run.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, n_bytes) };
        self.n_code_bytes =
            (self.n_code_bytes + n_bytes).next_multiple_of(CODE_ALIGNMENT).min(CODE_BYTES);
    }

    /// Returns the next context; it is all zero.
    pub(crate) fn next_context(&mut self) -> &'static Context {
        let place = self.code + CODE_BYTES + self.n_data_bytes;
        let place = std::ptr::with_exposed_provenance::<Context>(place);
        self.n_data_bytes += size_of::<Context>();
        // SAFETY: zeroed memory of our own that is never unmapped and given out once; all zero is valid.
        unsafe { &*place }
    }
}

fn map_pair(place: usize, file: &File) -> Result<(), i32> {
    let fixed = libc::MAP_FIXED_NOREPLACE;
    let run = libc::PROT_READ | libc::PROT_EXEC;
    map(place, CODE_BYTES, run, libc::MAP_SHARED | fixed, Some(file))?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    map(place + CODE_BYTES, DATA_BYTES, READ_WRITE, flags, None)
        .inspect_err(|_| unmap(place, CODE_BYTES))
        .map(|_| ())
}

fn memory_file() -> Result<File, i32> {
    // SAFETY: a static name; no other memory is involved.
    let number = unsafe { libc::memfd_create(c"sintonia-probes".as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return Err(last_errno());
    }
    // SAFETY: just opened, with no other owner.
    let file = unsafe { File::from_raw_fd(number) };
    file.set_len(CODE_BYTES as u64).map_err(|error| error.raw_os_error().unwrap_or(0))?;
    Ok(file)
}

/// Maps new memory at `place`, or where the system likes if that is 0; returns its address.
pub(crate) fn map(
    place: usize,
    n_bytes: usize,
    protection: i32,
    flags: i32,
    file: Option<&File>,
) -> Result<usize, i32> {
    let wanted = std::ptr::with_exposed_provenance_mut::<c_void>(place);
    let number = file.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: new memory, at a place that is free or where the system likes.
    let found = unsafe { libc::mmap(wanted, n_bytes, protection, flags, number, 0) };
    if found == libc::MAP_FAILED {
        return Err(last_errno());
    }
    let found = found.expose_provenance();
    if place != 0 && found != place {
        // On systems that do not support `MAP_FIXED_NOREPLACE`.
        unmap(found, n_bytes);
        return Err(libc::EEXIST);
    }
    Ok(found)
}

/// Unmaps memory that [`map`] has just returned.
pub(crate) fn unmap(place: usize, n_bytes: usize) {
    let place = std::ptr::with_exposed_provenance_mut::<c_void>(place);
    // SAFETY: mapped just before, and not used yet.
    let _result = unsafe { libc::munmap(place, n_bytes) };
}

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Mappings of this process, in order, each with its protection (`PROT_*`).
#[derive(Debug, Default)]
pub struct Mappings {
    ranges: Vec<(Range<usize>, i32)>,
}

impl Mappings {
    /// Reads the current mappings.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let mut fields = line.split_ascii_whitespace();
            let (start, end) = fields.next()?.split_once('-')?;
            let address = |hex| usize::from_str_radix(hex, 16).ok();
            let letters = fields.next()?;
            let bit = |letter, protection| if letters.contains(letter) { protection } else { 0 };
            let protection =
                bit('r', libc::PROT_READ) | bit('w', libc::PROT_WRITE) | bit('x', libc::PROT_EXEC);
            Some((address(start)?..address(end)?, protection))
        };
        Self { ranges: text.lines().filter_map(line).collect() }
    }

    fn around(&self, address: usize) -> Option<&(Range<usize>, i32)> {
        self.ranges.iter().find(|(range, _)| range.contains(&address))
    }

    /// Returns the protection of an address; `None` if nothing is mapped there.
    pub fn protection(&self, address: usize) -> Option<i32> {
        self.around(address).map(|(_, protection)| *protection)
    }

    /// Returns how many bytes from `address` on are readable code, at most `n_bytes`.
    pub(crate) fn code(&self, address: usize, n_bytes: usize) -> usize {
        const CODE: i32 = libc::PROT_READ | libc::PROT_EXEC;
        let around = self.around(address).filter(|(_, protection)| protection & CODE == CODE);
        around.map_or(0, |(range, _)| n_bytes.min(range.end - address))
    }

    /// Returns free places for an arena in reach: below the address, nearest first; then above, farthest first.
    fn places_near(&self, address: usize) -> Vec<usize> {
        let lowest = address.saturating_sub(REACH_BYTES).max(LOWEST);
        let highest = address.saturating_add(REACH_BYTES);
        let ends = self.ranges.iter().map(|(range, _)| range.end);
        let starts = self.ranges.iter().map(|(range, _)| range.start);
        let gaps =
            std::iter::once(0).chain(ends).zip(starts.chain([usize::MAX & !(PAGE_BYTES - 1)]));
        let fitting = gaps.filter_map(|(start, end)| {
            let (start, end) = (start.max(lowest), end.min(highest));
            // A page apart, so that mappings do not merge.
            let place = end.checked_sub(ARENA_BYTES + PAGE_BYTES)? & !(PAGE_BYTES - 1);
            (start + PAGE_BYTES <= place).then_some(place)
        });
        let (mut below, above): (Vec<_>, Vec<_>) = fitting.partition(|place| *place < address);
        below.reverse();
        below.extend(above.into_iter().rev());
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
00400000-00402000 r-xp 00000000 08:01 7 /bin/program
00402000-00403000 rw-p 00002000 08:01 7 /bin/program
01000000-01100000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7f0000300000-7f0000301000 r-xp 00000000 00:00 0
7f0000301000-7f0000302000 ---p 00000000 00:00 0";

    #[track_caller]
    fn check(address: usize, expected: &[usize]) {
        assert_eq!(Mappings::parse(MAPS).places_near(address), expected);
    }

    #[test]
    fn an_arena_goes_below_the_image_and_then_far_above() {
        check(0x40_1000, &[0x1f_f000, 0x7020_1000 - 0x1000, 0xdf_f000]);
        check(
            0x7f00_0030_0010,
            &[0x7f00_000f_f000, 0x7eff_ffdf_f000, 0x7f00_7030_0000 - ARENA_BYTES - PAGE_BYTES],
        );
    }

    #[test]
    fn a_protection_is_that_of_the_mapping_around() {
        let protection = |address| Mappings::parse(MAPS).protection(address);
        assert_eq!(protection(0x40_0fff), Some(libc::PROT_READ | libc::PROT_EXEC));
        assert_eq!(protection(0x40_2000), Some(libc::PROT_READ | libc::PROT_WRITE));
        assert_eq!(protection(0x40_3000), None);
        assert_eq!(protection(0x7f00_0030_1000), Some(libc::PROT_NONE));
    }

    #[test]
    fn code_ends_with_its_mapping() {
        let mappings = Mappings::parse(MAPS);
        assert_eq!(mappings.code(0x40_1ff0, 0x20), 0x10);
        assert_eq!(mappings.code(0x40_2000, 0x20), 0);
    }
}
