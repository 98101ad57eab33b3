//! Limits of memory that this process must not reach because of a lever: those of its control groups, which it shares with
//! other ranks, and its own (`RLIMIT_AS`, `RLIMIT_DATA`).
#![allow(unsafe_code, reason = "asks the system for limits")]

use crate::monitoring;
use events::usage::proc_files::{control_groups, needed_bytes, number_after};
use std::cell::OnceCell;
use std::fs::read_to_string;

/// Folders where control groups are mounted.
const CONTROL_GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Controller of memory.
const CONTROLLER: &str = "memory";
/// Number from which on a limit is none.
const UNLIMITED_BYTES: u64 = 1 << 60;
/// Share of a limit that may be in use with what a lever adds, in percent.
const FILLED_MAX_PERCENT: u64 = 75;
/// Bytes in a MiB.
const MIB: u64 = 1 << 20;

/// A limit, with what is used of it.
#[derive(Debug)]
struct MemoryLimit {
    name: String,
    bytes: u64,
    used_bytes: u64,
    /// Ranks of this run that share it.
    n_ranks: u64,
}

impl MemoryLimit {
    /// Bytes that each of its ranks may add.
    fn room_bytes(&self) -> u64 {
        let filled_bytes = self.bytes / 100 * FILLED_MAX_PERCENT;
        filled_bytes.saturating_sub(self.used_bytes) / self.n_ranks.max(1)
    }
}

/// Returns how many bytes this process may add to its memory; `u64::MAX` without limits.
///
/// # Errors
/// A sentence about the tightest limit, if that is less than `needed_bytes`.
pub(super) fn room(needed_bytes: u64) -> Result<u64, String> {
    let limits = of_groups().into_iter().chain(of_process());
    let Some(tightest) = limits.min_by_key(MemoryLimit::room_bytes) else { return Ok(u64::MAX) };
    let room_bytes = tightest.room_bytes();
    if needed_bytes <= room_bytes {
        return Ok(room_bytes);
    }
    let MemoryLimit { name, bytes, used_bytes, n_ranks } = tightest;
    let (used, all, more) = (used_bytes / MIB, bytes / MIB, needed_bytes.div_ceil(MIB));
    let is_shared = 1 < n_ranks;
    let users = if is_shared { format!(" by {n_ranks} ranks and others") } else { String::new() };
    let each = if is_shared { " for each rank" } else { "" };
    Err(format!(
        "its limit `{name}` leaves too little room: {used} of {all} MiB are used{users}, and \
         {more} MiB more{each} would fill over {FILLED_MAX_PERCENT} % of it"
    ))
}

/// Limits of the process alone.
fn of_process() -> Vec<MemoryLimit> {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let limit = |(name, number, used): (&str, _, &str)| {
        let used_bytes = number_after(&status, used)?.saturating_mul(1024);
        let mut found = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
        // SAFETY: fills the limit.
        unsafe { libc::getrlimit(number, &raw mut found) };
        let is_limited = found.rlim_cur != libc::RLIM_INFINITY;
        let (name, bytes) = (name.to_owned(), found.rlim_cur);
        is_limited.then_some(MemoryLimit { name, bytes, used_bytes, n_ranks: 1 })
    };
    let known =
        [("RLIMIT_AS", libc::RLIMIT_AS, "VmSize:"), ("RLIMIT_DATA", libc::RLIMIT_DATA, "VmData:")];
    known.into_iter().filter_map(limit).collect()
}

/// Limits of the control groups that the process is in.
fn of_groups() -> Vec<MemoryLimit> {
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let ranks = OnceCell::new();
    let mut limits = Vec::new();
    for (is_first, folder) in control_groups(&own, CONTROLLER) {
        let names: &[&str] =
            if is_first { &["memory.limit_in_bytes"] } else { &["memory.max", "memory.high"] };
        let used = if is_first { "memory.usage_in_bytes" } else { "memory.current" };
        for root in CONTROL_GROUPS {
            let path = |name: &str| format!("{root}{folder}/{name}");
            let number = |name| read_to_string(path(name)).ok()?.trim().parse::<u64>().ok();
            limits.extend(names.iter().filter_map(|name| {
                // Without a limit there is a word, or a number beyond all memory.
                let bytes = number(name).filter(|bytes| *bytes < UNLIMITED_BYTES)?;
                let stat = read_to_string(path("memory.stat")).unwrap_or_default();
                let used_bytes = needed_bytes(number(used)?, &stat);
                let is_in = |groups: &&Vec<String>| groups.contains(&folder);
                let n_ranks = ranks.get_or_init(groups_of_ranks).iter().filter(is_in).count();
                Some(MemoryLimit { name: path(name), bytes, used_bytes, n_ranks: n_ranks as u64 })
            }));
        }
    }
    limits
}

/// Folders of the control groups of each rank of this run on the node.
fn groups_of_ranks() -> Vec<Vec<String>> {
    let Some(process) = monitoring::process() else { return Vec::new() };
    let entries = std::fs::read_dir(&process.folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    // PID-START.segment
    let segments = names.filter(|name| name.ends_with(".segment"));
    let pids = segments.filter_map(|name| Some(name.split_once('-')?.0.to_owned()));
    let groups = pids.map(|pid| {
        let text = read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        control_groups(&text, CONTROLLER).into_iter().map(|(_, folder)| folder).collect()
    });
    groups.collect()
}
