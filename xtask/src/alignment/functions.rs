//! Functions of an ELF file, or of all ELF files in an archive.

use super::{CodeError, Entry};
use object::read::archive::ArchiveFile;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};
use std::collections::BTreeMap;

/// Function with its code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) address: u64,
    pub(super) code: &'a [u8],
    pub(super) entry: Entry,
}

/// Calls `look` with each function; a function with several names comes once.
pub(super) fn each(file: &[u8], mut look: impl FnMut(Function<'_>)) -> Result<(), CodeError> {
    let Ok(archive) = ArchiveFile::parse(file) else { return each_of_elf(file, &mut look) };
    for member in archive.members() {
        let data = member?.data(file)?;
        // Rust puts its metadata beside the objects.
        if data.starts_with(b"\x7fELF") {
            each_of_elf(data, &mut look)?;
        }
    }
    Ok(())
}

fn each_of_elf(file: &[u8], look: &mut impl FnMut(Function<'_>)) -> Result<(), CodeError> {
    let elf = object::File::parse(file)?;
    if elf.architecture() != Architecture::X86_64 {
        return Err(CodeError::Processor(elf.architecture()));
    }
    let symbols = elf.symbols().chain(elf.dynamic_symbols());
    let mut by_place = BTreeMap::new();
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() != 0) {
        if let Some(section) = symbol.section_index() {
            by_place.entry((section.0, symbol.address())).or_insert(symbol);
        }
    }
    for ((section, address), symbol) in by_place {
        let section = elf.section_by_index(SectionIndex(section))?;
        let Some(code) = section.data_range(address, symbol.size())? else { continue };
        let is_entry = elf.entry() != 0 && elf.entry() == address;
        let entry = if is_entry { Entry::Program } else { Entry::Called };
        look(Function { name: symbol.name().unwrap_or("?"), address, code, entry });
    }
    Ok(())
}
