//! Reader of an ELF file: segments, functions, and location of the debug information.

use object::elf::{FileHeader64, SHN_UNDEF, STT_FUNC, STT_GNU_IFUNC, Sym64};
use object::read::ReadCache;
use object::read::elf::{ElfFile64, Sym, SymbolTable};
use object::{CompressionFormat, Endianness, Object, ObjectSection, ObjectSegment};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Maximum compression ratio of zlib (zlib.net, "Technical Details": 1032 to 1).
const N_TIMES_MAX: u64 = 1032;

/// ELF file whose parts are read on demand.
type File64<'a> = ElfFile64<'a, Endianness, &'a ReadCache<File>>;
type Symbols<'a> = SymbolTable<'a, FileHeader64<Endianness>, &'a ReadCache<File>>;

/// Facts read from an ELF file when it is opened.
#[derive(Debug, Default)]
pub(crate) struct Elf {
    segments: Vec<Segment>,
    /// Whether the file contains debug information that can be unpacked.
    pub(crate) has_debug_info: bool,
    /// Whether the stated lengths of packed sections are possible.
    pub(crate) can_be_unpacked: bool,
    pub(crate) build_id: Option<Vec<u8>>,
    /// Name of the file with its debug information.
    pub(crate) debug_link: Option<PathBuf>,
    /// Name of the file with the debug information that it shares with other files (`dwz`).
    pub(crate) shared_debug_link: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    file_offset: u64,
    file_bytes: u64,
    virtual_address: u64,
}

/// Function of the symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElfFunction {
    address: u64,
    /// End of the code (exclusive); assembly symbols may have no size, and then end at the next symbol.
    end: u64,
    name: String,
}

impl Elf {
    /// Reads the facts; `None` if the file cannot be opened, or is no 64-bit ELF file.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let n_bytes = path.metadata().map_or(0, |about| about.len());
        with_file(path, |elf| Self {
            segments: elf.segments().map(|segment| segment_of(&segment)).collect(),
            has_debug_info: has_debug_info(elf) && can_be_unpacked(elf, n_bytes),
            can_be_unpacked: can_be_unpacked(elf, n_bytes),
            build_id: elf.build_id().ok().flatten().map(<[u8]>::to_vec),
            debug_link: elf.gnu_debuglink().ok().flatten().map(|(name, _)| path_of(name)),
            shared_debug_link: elf.gnu_debugaltlink().ok().flatten().map(|(name, _)| path_of(name)),
        })
    }

    /// Returns the linker's virtual address of the byte at `file_offset`.
    pub(crate) fn virtual_address(&self, file_offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            file_offset.checked_sub(segment.file_offset).is_some_and(|at| at < segment.file_bytes)
        };
        let segment = self.segments.iter().find(holds)?;
        Some((file_offset - segment.file_offset).wrapping_add(segment.virtual_address))
    }
}

fn has_debug_info(elf: &File64<'_>) -> bool {
    let mut sections = elf.sections().filter(|section| section.file_range().is_some());
    sections.any(|section| matches!(section.name(), Ok(".debug_info" | ".zdebug_info")))
}

/// Returns whether a file of `n_bytes` bytes can contain its packed sections at their stated unpacked length. A file of a
/// few kilobytes that states gigabytes is damaged, or crafted to exhaust memory.
fn can_be_unpacked(elf: &File64<'_>, n_bytes: u64) -> bool {
    let ranges = elf.sections().filter_map(|section| section.compressed_file_range().ok());
    let packed = ranges.filter(|range| range.format != CompressionFormat::None);
    let n_unpacked = packed.fold(0_u64, |sum, range| sum.saturating_add(range.uncompressed_size));
    n_unpacked <= n_bytes.saturating_mul(N_TIMES_MAX)
}

fn segment_of<'a>(segment: &impl ObjectSegment<'a>) -> Segment {
    let (file_offset, file_bytes) = segment.file_range();
    Segment { file_offset, file_bytes, virtual_address: segment.address() }
}

fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// Returns whether a file has a section of this name; reads little of the file.
pub(crate) fn has_section(path: &Path, name: &str) -> bool {
    with_file(path, |elf| elf.section_by_name(name).is_some()).unwrap_or(false)
}

/// Returns the functions of the symbol table (of the dynamic one if the file is stripped), by address.
pub(crate) fn functions(path: &Path) -> Option<Vec<ElfFunction>> {
    with_file(path, |elf| {
        let mut functions = functions_of(elf, elf.elf_symbol_table());
        if functions.is_empty() {
            functions = functions_of(elf, elf.elf_dynamic_symbol_table());
        }
        functions.sort_by_key(|function| function.address);
        end_at_the_next(&mut functions);
        functions
    })
}

/// Returns the functions that a table defines; all names are read at once, since each read is a system call.
fn functions_of<'a>(elf: &File64<'a>, table: &Symbols<'a>) -> Vec<ElfFunction> {
    let section = elf.section_by_index(table.string_section());
    let names = section.and_then(|section| section.data()).unwrap_or_default();
    table.iter().filter_map(|symbol| function_of(symbol, elf.endian(), names)).collect()
}

fn function_of(
    symbol: &Sym64<Endianness>,
    endian: Endianness,
    names: &[u8],
) -> Option<ElfFunction> {
    let is_function = symbol.st_type() == STT_FUNC || symbol.st_type() == STT_GNU_IFUNC;
    if !is_function || symbol.st_shndx(endian) == SHN_UNDEF {
        return None;
    }
    let name = names.get(symbol.st_name(endian) as usize..)?.split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?.to_owned();
    let address = symbol.st_value(endian);
    Some(ElfFunction { address, end: address.saturating_add(symbol.st_size(endian)), name })
}

fn end_at_the_next(functions: &mut [ElfFunction]) {
    for idx in 1..functions.len() {
        let next = functions[idx].address;
        let function = &mut functions[idx - 1];
        if function.end == function.address {
            function.end = next;
        }
    }
}

/// Returns the function that contains `virtual_address`; `functions` are ordered by address.
pub(crate) fn function_at(functions: &[ElfFunction], virtual_address: u64) -> Option<&str> {
    let after = functions.partition_point(|function| function.address <= virtual_address);
    // Several names may start at one address; a name without a size must not hide one with a size.
    let candidates = functions[..after].iter().rev().take(8);
    candidates.into_iter().find(|f| virtual_address < f.end).map(|function| function.name.as_str())
}

fn with_file<T>(path: &Path, read: impl FnOnce(&File64<'_>) -> T) -> Option<T> {
    // Reads only the requested parts: a program with its debug information may be larger than memory.
    let cache = ReadCache::new(crate::regular::open(path).ok()?);
    let elf = ElfFile64::parse(&cache).ok()?;
    Some(read(&elf))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file_offset: u64, expected: Option<u64>) {
        let segment = |file_offset, file_bytes, virtual_address| Segment {
            file_offset,
            file_bytes,
            virtual_address,
        };
        let elf = Elf {
            segments: vec![segment(0, 0x1000, 0x40_0000), segment(0x1000, 0x500, 0x40_3000)],
            ..Elf::default()
        };
        assert_eq!(elf.virtual_address(file_offset), expected);
    }

    #[test]
    fn an_offset_moves_with_its_segment() {
        check(0, Some(0x40_0000));
        check(0xfff, Some(0x40_0fff));
        check(0x1000, Some(0x40_3000));
        check(0x14ff, Some(0x40_34ff));
        check(0x1500, None);
    }

    #[test]
    fn a_function_without_a_size_ends_at_the_next() {
        let function = |address, end, name: &str| ElfFunction { address, end, name: name.into() };
        let mut functions = vec![
            function(0x10, 0x20, "a"),
            function(0x20, 0x20, "assembly"),
            function(0x40, 0x48, "b"),
            function(0x50, 0x50, "last"),
        ];
        end_at_the_next(&mut functions);
        let at = |address| function_at(&functions, address);
        assert_eq!(at(0xf), None);
        assert_eq!(at(0x1f), Some("a"));
        assert_eq!(at(0x3f), Some("assembly"));
        assert_eq!(at(0x47), Some("b"));
        assert_eq!(at(0x48), None);
        assert_eq!(at(0x60), None);
    }
}
