//! Locations of C library functions in a process.

use crate::routine::{FUNCTIONS, FunctionAddresses};
use object::{Object, ObjectSymbol, ReadCache};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// C library of a process: functions to call, and code in which a thread must not be interrupted for a call.
#[derive(Debug)]
pub(crate) struct CLibrary {
    pub(crate) functions: FunctionAddresses,
    /// Code of the C library, of the dynamic linker, and of allocators that replace the C library's.
    code: Vec<Range<u64>>,
    /// Code of the dynamic linker.
    linker: Vec<Range<u64>>,
    /// Instruction sequences of the C library.
    pub(crate) gadgets: Gadgets,
}

/// Addresses of instruction sequences that every process contains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gadgets {
    /// `syscall; ret`.
    pub(crate) syscall: u64,
    /// A call of `rt_sigreturn`, to which signal handlers return.
    pub(crate) restorer: u64,
}

/// Allocators with which programs may be linked or preloaded.
const ALLOCATORS: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc"];
const C_LIBRARY: [&str; 3] = ["libc.so", "libc-2.", "libdl"];
const LINKER: [&str; 1] = ["ld-linux"];

impl CLibrary {
    /// Returns the C library of a process; `None` if it has none with `dlopen`.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let mappings: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
        let is_own = |mapping: &&Mapping| mapping.is_of(&C_LIBRARY) || mapping.is_of(&LINKER);
        // Before version 2.34 of glibc these functions are in a separate library.
        let starts = mappings.iter().filter(is_own).filter(|mapping| mapping.offset == 0);
        let mut addresses = [None; FUNCTIONS.len()];
        for found in starts.filter_map(|mapping| addresses_of(pid, mapping)) {
            addresses = std::array::from_fn(|place| addresses[place].or(found[place]));
        }
        let [Some(dlopen), Some(dlsym), Some(dlerror), Some(errno_location)] = addresses else {
            return None;
        };
        let functions = [dlopen, dlsym, dlerror, errno_location];
        let code_of = |names: &[&str]| -> Vec<Range<u64>> {
            let own = mappings.iter().filter(|mapping| mapping.is_of(names) && mapping.is_code);
            own.map(|mapping| mapping.addresses.clone()).collect()
        };
        let gadgets = Gadgets::find(pid, &code_of(&C_LIBRARY))?;
        let (linker, allocators) = (code_of(&LINKER), code_of(&ALLOCATORS));
        let code = [code_of(&C_LIBRARY), linker.clone(), allocators].concat();
        Some(Self { functions, code, linker, gadgets })
    }

    /// Returns whether an address is in code in which the thread may hold a lock that the call needs.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|code| code.contains(&address))
    }

    /// Returns whether an address is in the dynamic linker, which also makes system calls while it loads a library.
    pub(crate) fn is_loading(&self, address: u64) -> bool {
        self.linker.iter().any(|code| code.contains(&address))
    }
}

impl Gadgets {
    fn find(pid: i32, code: &[Range<u64>]) -> Option<Self> {
        const SYSCALL: [u8; 3] = [0x0F, 0x05, 0xC3];
        // Fixed by the kernel's interface for debuggers: `mov $15, %rax; syscall`.
        const RESTORER: [u8; 9] = [0x48, 0xC7, 0xC0, 15, 0, 0, 0, 0x0F, 0x05];
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let (mut syscall, mut restorer) = (None, None);
        for range in code {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
            memory.read_exact_at(&mut bytes, range.start).ok()?;
            let find = |wanted: &[u8]| {
                let at = bytes.windows(wanted.len()).position(|found| found == wanted)?;
                Some(range.start + at as u64)
            };
            syscall = syscall.or_else(|| find(&SYSCALL));
            restorer = restorer.or_else(|| find(&RESTORER));
        }
        Some(Self { syscall: syscall?, restorer: restorer? })
    }
}

#[derive(Debug, PartialEq)]
struct Mapping<'a> {
    addresses: Range<u64>,
    is_code: bool,
    offset: u64,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Returns whether the mapped file has one of these names.
    fn is_of(&self, names: &[&str]) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        names.iter().any(|name| file.starts_with(name))
    }

    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let is_code = fields.next()?.contains('x');
        let offset = hex(fields.next()?)?;
        let path = fields.nth(2)?.trim_start();
        let is_file = path.starts_with('/');
        is_file.then_some(Self { addresses: hex(start)?..hex(end)?, is_code, offset, path })
    }
}

/// Returns the addresses in the process of those functions that a library exports; `mapping` is the library's start.
fn addresses_of(pid: i32, mapping: &Mapping) -> Option<[Option<u64>; FUNCTIONS.len()]> {
    let file = ReadCache::new(File::open(format!("/proc/{pid}/root{}", mapping.path)).ok()?);
    let elf = object::read::elf::ElfFile64::<object::Endianness, _>::parse(&file).ok()?;
    let mut addresses = [None; FUNCTIONS.len()];
    for symbol in elf.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        let name = symbol.name().unwrap_or_default();
        if let Some(place) = FUNCTIONS.iter().position(|wanted| *wanted == name) {
            addresses[place] = Some(mapping.addresses.start + symbol.address());
        }
    }
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read_as_the_kernel_writes_it() {
        let line = "7f00-7f20 r-xp 00028000 08:01 77   /lib/x86 64/libc.so.6";
        let expected = Mapping {
            addresses: 0x7f00..0x7f20,
            is_code: true,
            offset: 0x28000,
            path: "/lib/x86 64/libc.so.6",
        };
        assert_eq!(Mapping::parse(line), Some(expected));
        assert_eq!(Mapping::parse("7f00-7f20 rw-p 00000000 00:00 0 "), None);
        assert_eq!(Mapping::parse("7f00-7f20 rw-p 00000000 00:00 0  [heap]"), None);
    }

    #[test]
    fn the_c_library_of_this_process_is_found() {
        let pid = std::process::id().cast_signed();
        let library = CLibrary::of(pid).expect("the tests are linked dynamically");
        let own = libc::dlsym as unsafe extern "C" fn(_, _) -> _ as usize as u64;
        let [dlopen, dlsym, ..] = library.functions;
        assert_eq!(dlsym, own);
        assert!(library.holds(dlopen));
    }
}
