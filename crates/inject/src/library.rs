//! Where functions of the C library lie in a process.

use object::{Object, ObjectSymbol, ReadCache};
use std::fs::{self, File};
use std::ops::Range;

/// Code of a process that must not be interrupted for a call, and the functions called.
#[derive(Debug)]
pub(crate) struct CLibrary {
    /// `dlopen`, `dlsym` and `dlerror`.
    pub(crate) dlopen: u64,
    pub(crate) dlsym: u64,
    pub(crate) dlerror: u64,
    /// Code of the C library and of the dynamic linker.
    pub(crate) code: Vec<Range<u64>>,
}

impl CLibrary {
    /// The C library of a process; none when it has none with `dlopen`.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let mappings: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
        let is_own = |mapping: &&Mapping| {
            let file = mapping.path.rsplit('/').next().unwrap_or_default();
            ["libc.so", "libc-2.", "libdl", "ld-linux"].iter().any(|name| file.starts_with(name))
        };
        let code = mappings.iter().filter(is_own).filter(|mapping| mapping.is_code);
        let code = code.map(|mapping| mapping.addresses.clone()).collect();
        // Before version 2.34 of glibc they are in a library of their own.
        let function = |name| {
            mappings
                .iter()
                .filter(is_own)
                .filter(|mapping| mapping.offset == 0)
                .find_map(|mapping| address_of(pid, mapping, name))
        };
        let (dlopen, dlsym) = (function("dlopen")?, function("dlsym")?);
        Some(Self { dlopen, dlsym, dlerror: function("dlerror")?, code })
    }

    /// Whether an address is in that code.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|code| code.contains(&address))
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

/// Address of an exported function in the process, `mapping` being the start of its library.
fn address_of(pid: i32, mapping: &Mapping, name: &str) -> Option<u64> {
    let file = ReadCache::new(File::open(format!("/proc/{pid}/root{}", mapping.path)).ok()?);
    let elf = object::read::elf::ElfFile64::<object::Endianness, _>::parse(&file).ok()?;
    let symbol = elf
        .dynamic_symbols()
        .find(|symbol| symbol.is_definition() && symbol.name().is_ok_and(|found| found == name))?;
    Some(mapping.addresses.start + symbol.address())
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
        assert_eq!(library.dlsym, own);
        assert!(library.holds(library.dlopen));
    }
}
