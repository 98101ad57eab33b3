//! Reads the memory of running ranks.

use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Reads bytes at an address of the program's file, in a running rank.
pub(super) fn memory(pid: u32, address: u64, n_bytes: usize) -> Vec<u8> {
    let parts = parts(pid);
    let base = parts.first().expect("the program is mapped").start;
    read(pid, base + address, n_bytes)
}

fn read(pid: u32, address: u64, n_bytes: usize) -> Vec<u8> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("the rank is ours");
    let mut bytes = vec![0; n_bytes];
    memory.read_exact_at(&mut bytes, address).expect("it is mapped");
    bytes
}

/// Address ranges of the program in a running rank, part by part; only the last one can be written.
fn parts(pid: u32) -> Vec<Range<u64>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the rank lives");
    let lines = maps.lines().filter(|line| line.ends_with("/tuned"));
    let bounds = lines.filter_map(|line| line.split(' ').next()?.split_once('-'));
    let hex = |text| u64::from_str_radix(text, 16).expect("an address");
    bounds.map(|(start, end)| hex(start)..hex(end)).collect()
}

/// Memory that is mapped from the program's file and not writable: code, and the tables that bind calls.
pub(super) fn fixed_memory(pid: u32) -> Vec<Vec<u8>> {
    let mut parts = parts(pid);
    parts.pop();
    let len = |part: &Range<u64>| usize::try_from(part.end - part.start).expect("it fits");
    parts.iter().map(|part| read(pid, part.start, len(part))).collect()
}
