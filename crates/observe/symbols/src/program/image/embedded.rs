//! Information for tools contained in a file: an application description, and the addresses of the names in it.
//!
//! Programs of the master/worker library have an ELF note with the text, and a table of names and addresses that
//! remains when `strip` removes the symbols (the crate `points` writes both). The addresses in the
//! table are filled in by the loader, so they are read from relocations. The end of a function's code is known
//! from its unwind information.

use super::{DataSymbol, File, Image};
use crate::elf::{Elf, has_section};
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::elf::{R_X86_64_64, R_X86_64_RELATIVE};
use object::read::elf::SectionHeader;
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation, RelocationFlags,
    RelocationTarget,
};
use std::collections::HashMap;
use std::path::Path;

const NOTE: &str = ".note.sintonia";
const OWNER: &[u8] = b"Sintonia";
/// Note type of an application description.
const KIND: u32 = 1;

const NAMES: &str = ".sintonia.names";
const N_NAME_BYTES: usize = 40;
const ENTRY_BYTES: usize = N_NAME_BYTES + 16;
/// Upper bound of the number of entries; the rest of a damaged file is ignored.
const N_ENTRIES_MAX: usize = 10_000;

/// Function or variable of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EmbeddedEntry {
    pub(crate) name: String,
    pub(crate) address: u64,
    /// Size in bytes; 0 for a function.
    pub(crate) n_bytes: u64,
}

impl EmbeddedEntry {
    pub(crate) fn is_function(&self) -> bool {
        self.n_bytes == 0
    }

    /// Returns the variable as a symbol.
    pub(crate) fn data_symbol(self) -> DataSymbol {
        DataSymbol {
            symbol: self.name.clone(),
            name: self.name,
            address: self.address,
            n_bytes: self.n_bytes,
            is_thread_local: false,
            is_global: true,
        }
    }
}

/// Variable in a file's own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedVariable {
    /// Offset in memory from the file's first byte.
    pub offset_in_memory: u64,
    /// Size in bytes.
    pub n_bytes: u64,
}

/// Returns the variable of this name in the file's own table, if there is one; reads little of most files.
pub fn embedded_variable(path: &Path, name: &str) -> Option<EmbeddedVariable> {
    if !has_section(path, NAMES) {
        return None;
    }
    let start = Elf::open(path)?.virtual_address(0)?;
    let image = Image::open(path).ok()?;
    let found = entries(&image.file()?).into_iter().find(|entry| entry.name == name)?;
    let offset_in_memory = found.address.checked_sub(start)?;
    (!found.is_function()).then_some(EmbeddedVariable { offset_in_memory, n_bytes: found.n_bytes })
}

/// Returns the application description in a file, if there is one.
pub(crate) fn description(image: &Image) -> Option<String> {
    let file = image.file()?;
    let section = file.section_by_name(NOTE)?;
    let headers = file.elf_section_table();
    let header = headers.section(section.index()).ok()?;
    let mut notes = header.notes(file.endian(), file.data()).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == OWNER && note.n_type(file.endian()).0 == KIND {
            return std::str::from_utf8(note.desc()).ok().map(str::to_owned);
        }
    }
    None
}

/// Returns the table of a file; empty if it has none.
pub(crate) fn entries(file: &File<'_>) -> Vec<EmbeddedEntry> {
    let Some(section) = file.section_by_name(NAMES) else { return Vec::new() };
    let bytes = section.data().unwrap_or_default();
    let written = relocated(file, section.address(), bytes.len() as u64);
    let entries = bytes.chunks_exact(ENTRY_BYTES).take(N_ENTRIES_MAX).zip(0..);
    let entry = |(bytes, place): (&[u8], u64)| {
        let (name, numbers) = bytes.split_at(N_NAME_BYTES);
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let (numbers, _) = numbers.as_chunks();
        let [in_place, n_bytes] = [0, 1].map(|idx| u64::from_le_bytes(numbers[idx]));
        let slot = section.address().wrapping_add(place * ENTRY_BYTES as u64 + N_NAME_BYTES as u64);
        let address = written.get(&slot).copied().unwrap_or(in_place);
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?.to_owned();
        (address != 0).then_some(EmbeddedEntry { name, address, n_bytes })
    };
    entries.filter_map(entry).collect()
}

/// Returns the values that the loader writes into a part of the file's memory, by address.
fn relocated(file: &File<'_>, start: u64, n_bytes: u64) -> HashMap<u64, u64> {
    let relocations = file.dynamic_relocations().into_iter().flatten();
    let here = relocations.filter(|(at, _)| at.checked_sub(start).is_some_and(|at| at < n_bytes));
    here.filter_map(|(at, relocation)| Some((at, target(file, &relocation)?))).collect()
}

fn target(file: &File<'_>, relocation: &Relocation) -> Option<u64> {
    let base = match (relocation.flags(), relocation.target()) {
        (RelocationFlags::Elf { r_type: R_X86_64_RELATIVE }, _) => 0,
        (RelocationFlags::Elf { r_type: R_X86_64_64 }, RelocationTarget::Symbol(symbol)) => {
            file.dynamic_symbol_table()?.symbol_by_index(symbol).ok()?.address()
        }
        _ => return None,
    };
    Some(base.wrapping_add_signed(relocation.addend()))
}

/// Returns first and last address (exclusive) of pieces of code according to their unwind information, by address.
pub(crate) fn spans_of_code(file: &File<'_>) -> Vec<(u64, u64)> {
    let Some(section) = file.section_by_name(".eh_frame") else { return Vec::new() };
    let frames = EhFrame::new(section.data().unwrap_or_default(), LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut entries = frames.entries(&bases);
    let mut spans = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(fde) = partial.parse(EhFrame::cie_from_offset) {
            spans.push((fde.initial_address(), fde.end_address()));
        }
    }
    spans.sort_unstable();
    spans
}
