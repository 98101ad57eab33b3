//! Executable mappings of a process (program and libraries), updated while it loads more libraries.

use std::time::{Duration, Instant};

/// Minimum interval between reads of a process's mappings.
const READ_EVERY: Duration = Duration::from_secs(2);

/// Executable mappings: lines of `/proc/PID/maps`, and their address ranges.
#[derive(Debug, Default)]
pub(crate) struct ExecutableMappings {
    text: String,
    ranges: Vec<(u64, u64)>,
    read_at: Option<Instant>,
    /// Length of the text that the analyzer has received.
    n_bytes_sent: usize,
}

impl ExecutableMappings {
    /// Returns the executable mappings among the lines of `maps`.
    pub(crate) fn parse(maps: &str) -> Self {
        let mut modules = Self::default();
        modules.add(maps);
        modules
    }

    /// Adds executable mappings that are not known yet.
    pub(crate) fn add(&mut self, maps: &str) {
        for line in maps.lines() {
            if let Some(range) = executable_range(line)
                && !self.ranges.contains(&range)
            {
                self.ranges.push(range);
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
    }

    /// Reads the mappings of process `pid` again (a library may have been loaded), unless that was done a moment ago.
    pub(crate) fn reread(&mut self, pid: u32, now: Instant) {
        if self.read_at.is_some_and(|read_at| now.duration_since(read_at) < READ_EVERY) {
            return;
        }
        self.read_at = Some(now);
        if let Ok(maps) = std::fs::read(format!("/proc/{pid}/maps")) {
            self.add(&String::from_utf8_lossy(&maps));
        }
    }

    /// Returns whether `address` is 0 or lies in a known module.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address == 0 || self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// Returns all lines if some of them were not sent; they then count as sent.
    pub(crate) fn unsent(&mut self) -> Option<String> {
        let is_new = self.n_bytes_sent < self.text.len();
        self.n_bytes_sent = self.text.len();
        is_new.then(|| self.text.clone())
    }

    /// Rewinds after a lost connection: the lines are sent again.
    pub(crate) fn rewind(&mut self) {
        self.n_bytes_sent = 0;
    }
}

fn executable_range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let range = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    words.next()?.contains('x').then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a000-55d0b000 r--p 00000000 08:01 1 /bin/program
55d0b000-55d0c000 r-xp 00001000 08:01 1 /bin/program
nonsense
7f000000-7f001000 r-xp 00000000 08:01 2 /lib/a b.so (deleted)
";

    #[track_caller]
    fn check(address: u64, expected: bool) {
        assert_eq!(ExecutableMappings::parse(MAPS).holds(address), expected, "{address:x}");
    }

    #[test]
    fn an_address_lies_in_an_executable_mapping_or_not() {
        check(0x55d0_a000, false);
        check(0x55d0_b000, true);
        check(0x55d0_bfff, true);
        check(0x55d0_c000, false);
        check(0x7f00_0800, true);
        check(0, true);
        check(1, false);
    }

    #[test]
    fn only_new_mappings_are_added() {
        let mut modules = ExecutableMappings::parse(MAPS);
        assert!(modules.unsent().is_some());
        modules.add(MAPS);
        assert_eq!(modules.unsent(), None);
        modules.add("7f100000-7f101000 r-xp 00000000 08:01 3 /lib/later.so");
        assert!(modules.holds(0x7f10_0000));
        assert_eq!(modules.unsent().map(|text| text.lines().count()), Some(3));
    }
}
