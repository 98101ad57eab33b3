//! Huge pages for the heap and large blocks, where the system gives them to those who ask.
#![allow(unsafe_code, reason = "advice to the system about memory")]

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Smallest mapping that is worth it, in bytes.
const BYTES_MIN: usize = 4 << 20;
/// Memory that is made huge at once, in bytes; the rest comes with later faults, and when the system finds time.
const COLLAPSED_BYTES_MAX: usize = 256 << 20;
/// Advice to make pages huge now, since Linux 6.1.
const COLLAPSE: c_int = 25;

/// Mappings that got the advice: first and end address.
static ADVISED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Returns whether advice about huge pages has an effect.
pub(super) fn applies() -> Result<(), String> {
    let text = std::fs::read_to_string(SETTING).unwrap_or_default();
    match () {
        () if text.contains("[madvise]") => Ok(()),
        () if text.contains("[always]") => {
            Err("this node gives huge pages to everybody".to_owned())
        }
        () => Err("this node has no transparent huge pages".to_owned()),
    }
}

/// Asks for huge pages for all memory that has not been asked for yet, or no longer.
pub(super) fn set(is_on: bool) {
    let mut advised = ADVISED.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_on {
        for (first, end) in advised.drain(..) {
            advise((first, end), libc::MADV_NOHUGEPAGE);
        }
        return;
    }
    let mappings = large(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default());
    let mut n_left = COLLAPSED_BYTES_MAX;
    for mapping in mappings.iter().filter(|mapping| !advised.contains(mapping)) {
        advise(*mapping, libc::MADV_HUGEPAGE);
        let n_bytes = (mapping.1 - mapping.0).min(n_left);
        advise((mapping.0, mapping.0 + n_bytes), COLLAPSE);
        n_left -= n_bytes;
    }
    *advised = mappings;
}

/// Large private mappings without a file, by the system's list.
fn large(maps: &str) -> Vec<(usize, usize)> {
    maps.lines().filter_map(mapping).filter(|(first, end)| BYTES_MIN <= end - first).collect()
}

fn mapping(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (first, end) = words.next()?.split_once('-')?;
    let is_private = words.next()? == "rw-p";
    let mut words = words.skip(2);
    let has_no_file = words.next()? == "0";
    let is_plain = words.next().is_none_or(|name| name == "[heap]");
    let address = |text| usize::from_str_radix(text, 16).ok();
    (is_private && has_no_file && is_plain).then_some((address(first)?, address(end)?))
}

fn advise((first, end): (usize, usize), advice: c_int) {
    let address = std::ptr::without_provenance_mut(first);
    // SAFETY: the contents of memory stay what they are under this advice, also of memory that was mapped anew since.
    unsafe { libc::madvise(address, end - first, advice) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[(usize, usize)]) {
        assert_eq!(large(line), expected);
    }

    #[test]
    fn only_large_memory_of_the_program_alone_counts() {
        let heap = "600000-c00000 rw-p 00000000 00:00 0                  [heap]";
        check(heap, &[(0x60_0000, 0xc0_0000)]);
        check("600000-c00000 rw-p 00000000 00:00 0 ", &[(0x60_0000, 0xc0_0000)]);
        check("600000-700000 rw-p 00000000 00:00 0 ", &[]);
        check("600000-c00000 rw-s 00000000 00:00 0 ", &[]);
        check("600000-c00000 r-xp 00000000 08:01 77 /lib/x.so", &[]);
        check("600000-c00000 rw-p 00000000 00:00 0 [stack]", &[]);
    }
}
