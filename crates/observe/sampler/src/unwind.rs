//! Call path of a sample, by the unwind tables of the process's modules.

use crate::perf::RawSample;
use crate::sections::SectionCache;
use framehop::x86_64::{CacheX86_64, Reg, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, Unwinder};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of frames in a path.
const N_FRAMES_MAX: usize = 200;

/// Registers in the order of a sample, but for the instruction pointer.
const ORDER: [(usize, Reg); 16] = [
    (0, Reg::RAX),
    (1, Reg::RBX),
    (2, Reg::RCX),
    (3, Reg::RDX),
    (4, Reg::RSI),
    (5, Reg::RDI),
    (6, Reg::RBP),
    (7, Reg::RSP),
    (9, Reg::R8),
    (10, Reg::R9),
    (11, Reg::R10),
    (12, Reg::R11),
    (13, Reg::R12),
    (14, Reg::R13),
    (15, Reg::R14),
    (16, Reg::R15),
];
const STACK_POINTER: usize = 7;
const INSTRUCTION_POINTER: usize = 8;

type Table = crate::sections::Table;

/// Modules of a process and their unwind tables.
pub(crate) struct ProcessUnwinder {
    unwinder: UnwinderX86_64<Table>,
    cache: CacheX86_64,
    /// Starts of known mappings.
    known: HashSet<u64>,
    mappings: Vec<Module>,
    /// Lines of `/proc/PID/maps` about executable mappings.
    pub(crate) modules: String,
    path: Vec<u64>,
}

impl std::fmt::Debug for ProcessUnwinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessUnwinder").field("mappings", &self.mappings).finish_non_exhaustive()
    }
}

/// Executable mapping of a process.
#[derive(Debug)]
struct Module {
    range: Range<u64>,
    file_offset: u64,
    path: String,
    /// Whether its tables were asked for: most libraries of a program are in no sample.
    is_read: bool,
}

/// Call path of a sample.
#[derive(Debug)]
pub struct CallPath<'a> {
    /// Addresses behind calls, from the interrupted function to the outermost one. The first is the address behind the
    /// interrupted place, so that all are looked up alike.
    pub addresses: &'a [u64],
    /// Whether the outermost functions are missing.
    pub is_cut: bool,
    /// Whether an address is in no known module.
    pub(crate) is_outside: bool,
}

impl ProcessUnwinder {
    pub(crate) fn new() -> Self {
        Self {
            unwinder: UnwinderX86_64::new(),
            cache: CacheX86_64::new(),
            known: HashSet::new(),
            mappings: Vec::new(),
            modules: String::new(),
            path: Vec::new(),
        }
    }

    /// Adds the executable mappings among the lines of `/proc/PID/maps` that are not known yet.
    pub(crate) fn add_modules(&mut self, maps: &str) {
        for line in maps.lines() {
            let Some(mapping) = Mapping::parse(line).filter(|it| self.known.insert(it.start))
            else {
                continue;
            };
            self.modules.push_str(line);
            self.modules.push('\n');
            self.mappings.push(Module {
                range: mapping.start..mapping.end,
                file_offset: mapping.file_offset,
                path: mapping.path.to_owned(),
                is_read: false,
            });
        }
    }

    /// Returns the call path of a sample.
    pub(crate) fn path(
        &mut self,
        sample: &RawSample<'_>,
        files: &mut SectionCache,
    ) -> CallPath<'_> {
        // What comes after an address without tables is guessed: each table that was read is a new attempt.
        let is_cut = loop {
            let is_cut = self.unwind(sample);
            let is_unread = |at: &u64, module: &Module| {
                !module.is_read && module.range.contains(&at.wrapping_sub(1))
            };
            let unread = self
                .path
                .iter()
                .find_map(|at| self.mappings.iter().position(|module| is_unread(at, module)));
            match unread {
                Some(unread) => self.read_tables(unread, files),
                None => break is_cut,
            }
        };
        let is_known = |at: &u64| {
            self.mappings.iter().any(|module| module.range.contains(&at.wrapping_sub(1)))
        };
        let is_outside = !self.path.iter().all(is_known);
        CallPath { addresses: &self.path, is_cut, is_outside }
    }

    fn read_tables(&mut self, idx: usize, files: &mut SectionCache) {
        let module = &mut self.mappings[idx];
        module.is_read = true;
        if let Some(sections) = files.sections(&module.path)
            && let Some(bias) = sections.bias(module.range.start, module.file_offset)
        {
            let (range, tables) = (module.range.clone(), sections.tables.clone());
            self.unwinder.add_module(framehop::Module::new(
                module.path.clone(),
                range,
                bias,
                tables,
            ));
        }
    }

    /// Fills the path; returns whether its outermost functions are missing.
    fn unwind(&mut self, sample: &RawSample<'_>) -> bool {
        let registers = &sample.registers;
        let (sp, ip) = (registers[STACK_POINTER], registers[INSTRUCTION_POINTER]);
        let mut start = UnwindRegsX86_64::new(ip, sp, 0);
        ORDER.iter().for_each(|(idx, register)| start.set(*register, registers[*idx]));
        let mut read = |address: u64| word_at(sample.stack, address.wrapping_sub(sp)).ok_or(());
        let mut frames = self.unwinder.iter_frames(ip, start, &mut self.cache, &mut read);
        self.path.clear();
        loop {
            match frames.next() {
                Ok(Some(_)) if N_FRAMES_MAX <= self.path.len() => return true,
                Ok(Some(FrameAddress::InstructionPointer(at))) => self.path.push(at + 1),
                Ok(Some(frame)) => self.path.push(frame.address()),
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

fn word_at(stack: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let word = stack.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(word.try_into().ok()?))
}

/// Executable mapping of a file.
struct Mapping<'a> {
    start: u64,
    end: u64,
    file_offset: u64,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.trim_start().split_once(' ')?;
            rest = after;
            Some(word)
        };
        let (range, permissions, file_offset) = (word()?, word()?, word()?);
        let (_device, _inode) = (word()?, word()?);
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (start, end) = range.split_once('-')?;
        let path = rest.trim_start();
        let mapping =
            Self { start: hex(start)?, end: hex(end)?, file_offset: hex(file_offset)?, path };
        (permissions.contains('x') && !path.is_empty()).then_some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, u64, u64, &str)>) {
        let mapping = Mapping::parse(line).map(|it| (it.start, it.end, it.file_offset, it.path));
        assert_eq!(mapping, expected);
    }

    #[test]
    fn a_mapping_is_an_executable_one_with_a_name() {
        let expected = (0x1000, 0x3000, 0x10, "/lib/a b.so");
        check("1000-3000 r-xp 00000010 08:01 2      /lib/a b.so", Some(expected));
        check("1000-3000 r--p 00000010 08:01 2      /lib/a b.so", None);
        check("1000-3000 r-xp 00000010 00:00 0 ", None);
        check("nonsense", None);
    }
}
