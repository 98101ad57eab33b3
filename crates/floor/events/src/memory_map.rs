//! Map from addresses to mapped files, read from the text of `/proc/PID/maps`.

use std::collections::HashSet;
use thiserror::Error;

/// Suffix that the kernel appends to the name of a file that was removed while it was mapped.
const DELETED: &str = " (deleted)";

/// Mapped files of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    /// Ordered by address; mappings of one process never overlap.
    mappings: Vec<Mapping>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    module: String,
}

/// Place in a mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress<'a> {
    /// Path of the file, or a name of the kernel such as `[vdso]`; ends with ` (deleted)` if the file was
    /// removed while it was mapped.
    pub module: &'a str,
    /// Offset in the file.
    pub file_offset: u64,
}

/// Line that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} of the memory map is invalid and was skipped: `{text}`")]
pub struct MapsProblem {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
}

impl ModuleMap {
    /// Parses lines of `/proc/PID/maps`; omits anonymous memory.
    pub fn parse(text: &str) -> (Self, Vec<MapsProblem>) {
        let mut mappings = Vec::new();
        let mut problems = Vec::new();
        for (idx, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match parse_line(line) {
                Some(mapping) if mapping.module.is_empty() => {}
                Some(mapping) => mappings.push(mapping),
                None => problems.push(MapsProblem { line: idx + 1, text: line.to_owned() }),
            }
        }
        mappings.sort_by_key(|mapping| mapping.start);
        (Self { mappings }, problems)
    }

    /// Adds mappings from a later reading of the same process, at addresses free until then.
    pub fn extend(&mut self, later: Self) {
        let known: HashSet<u64> = self.mappings.iter().map(|mapping| mapping.start).collect();
        self.mappings.extend(later.mappings.into_iter().filter(|m| !known.contains(&m.start)));
        self.mappings.sort_by_key(|mapping| mapping.start);
    }

    /// Returns the mapped files that still exist, each with the address of its first byte.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        let mut seen = HashSet::new();
        let first = self.mappings.iter().filter(|mapping| mapping.file_offset == 0);
        let first = first.filter(move |mapping| seen.insert(mapping.module.as_str()));
        let is_there = |module: &str| CodeAddress { module, file_offset: 0 }.is_in_file();
        first
            .filter(move |mapping| is_there(&mapping.module))
            .map(|mapping| (mapping.module.as_str(), mapping.start))
    }

    /// Returns the mapped file, and the offset in it, at `address`.
    pub fn locate(&self, address: u64) -> Option<CodeAddress<'_>> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then(|| CodeAddress {
            module: &mapping.module,
            file_offset: address - mapping.start + mapping.file_offset,
        })
    }
}

/// Parses `start-end perms offset device inode path`; the path may contain blanks.
fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line.trim_start();
    let mut field = || {
        let end = rest.find(' ').unwrap_or(rest.len());
        let (first, after) = rest.split_at(end);
        rest = after.trim_start();
        first
    };
    let (range, _permissions, offset, _device, inode) =
        (field(), field(), field(), field(), field());
    let (start, end) = range.split_once('-')?;
    inode.parse::<u64>().ok()?;
    let mapping = Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        file_offset: u64::from_str_radix(offset, 16).ok()?,
        // The kernel writes a newline in a name as an octal number.
        module: rest.replace("\\012", "\n"),
    };
    (mapping.start < mapping.end).then_some(mapping)
}

impl CodeAddress<'_> {
    /// Returns whether the module is a file that can be opened: neither removed nor made by the kernel.
    pub fn is_in_file(&self) -> bool {
        self.module.starts_with('/') && !self.module.ends_with(DELETED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 08:01 11 /home/me/my fire
55d0c0001000-55d0c0005000 r-xp 00001000 08:01 11 /home/me/my fire
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0 [heap]

not a line
7f0000000000-7f0000010000 r-xp 00020000 08:01 12                 /lib/libm.so.6 (deleted)
7f0000010000-7f0000020000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                  [vdso]
9000-8000 r-xp 00000000 00:00 0 /backwards
";

    #[track_caller]
    fn check(address: u64, expected: Option<(&str, u64)>) {
        let (map, _) = ModuleMap::parse(MAPS);
        assert_eq!(map.locate(address).map(|at| (at.module, at.file_offset)), expected);
    }

    #[test]
    fn an_address_is_in_the_mapping_around_it() {
        check(0x55d0_c000_0fff, Some(("/home/me/my fire", 0xfff)));
        check(0x55d0_c000_1000, Some(("/home/me/my fire", 0x1000)));
        check(0x55d0_c000_4fff, Some(("/home/me/my fire", 0x4fff)));
        check(0x55d0_c000_5000, None);
        check(0x7f00_0000_0010, Some(("/lib/libm.so.6 (deleted)", 0x20010)));
        check(0x7f00_0001_0010, None);
        check(0x7ffc_0000_0001, Some(("[vdso]", 1)));
        check(0, None);
        check(u64::MAX, None);
    }

    #[test]
    fn files_that_are_there_are_named_with_their_starts() {
        let (map, _) = ModuleMap::parse(&format!("{MAPS}1000-2000 r--p 0 08:01 3 /lib/a.so\n"));
        let files: Vec<_> = map.files().collect();
        assert_eq!(files, [("/lib/a.so", 0x1000), ("/home/me/my fire", 0x55d0_c000_0000)]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_named_and_left_out() {
        let (_, problems) = ModuleMap::parse(MAPS);
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [5, 9]);
    }

    #[test]
    fn only_files_that_are_there_can_be_opened() {
        let opens = |module| CodeAddress { module, file_offset: 0 }.is_in_file();
        assert!(opens("/bin/fire"));
        assert!(!opens("/bin/fire (deleted)"));
        assert!(!opens("[vdso]"));
    }

    #[test]
    fn a_library_loaded_later_is_added_and_what_was_known_stays() {
        let (mut map, _) = ModuleMap::parse("1000-2000 r-xp 0 08:01 1 /a");
        let (later, _) =
            ModuleMap::parse("1000-2000 r-xp 0 08:01 2 /b\n5000-6000 r-xp 0 08:01 3 /c");
        map.extend(later);
        assert_eq!(map.locate(0x1000).unwrap().module, "/a");
        assert_eq!(map.locate(0x5000).unwrap().module, "/c");
    }
}
