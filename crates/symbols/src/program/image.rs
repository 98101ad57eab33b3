//! An ELF file with its symbols, and where its debug information is.

use super::errors::ProgramError;
use super::function::Function;
use crate::debug_file;
use crate::demangle::{demangle, signature};
use crate::elf::Elf;
use object::elf::{STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, SectionKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) type File<'a> = ElfFile64<'a, Endianness>;

/// An ELF file in memory.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) path: Arc<Path>,
    pub(crate) build_id: Arc<[u8]>,
    pub(crate) is_static: bool,
    pub(crate) is_stripped: bool,
    /// The file with its debug information, and the one with what that shares with others.
    pub(crate) debug_file: Option<(PathBuf, Option<PathBuf>)>,
    bytes: Vec<u8>,
}

impl Image {
    pub(crate) fn open(path: &Path) -> Result<Self, ProgramError> {
        let bytes = std::fs::read(path)
            .map_err(|source| ProgramError::Open { path: path.into(), source })?;
        let not_elf = |source| ProgramError::NotElf { path: path.into(), source };
        let file = File::parse(bytes.as_slice()).map_err(not_elf)?;
        if file.architecture() != Architecture::X86_64 {
            return Err(ProgramError::OtherProcessor { path: path.into() });
        }
        let elf = Elf::open(path).unwrap_or_default();
        Ok(Self {
            path: path.into(),
            build_id: file.build_id().ok().flatten().unwrap_or_default().into(),
            is_static: file.section_by_name(".interp").is_none()
                && file.section_by_name(".dynamic").is_none(),
            is_stripped: file.section_by_name(".symtab").is_none(),
            debug_file: debug_file::find_installed(path, &elf),
            bytes,
        })
    }

    /// The file; it could be parsed when it was opened.
    fn file(&self) -> Option<File<'_>> {
        File::parse(self.bytes.as_slice()).ok()
    }

    /// Its functions by address, as symbols tell.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let Some(file) = self.file() else { return Vec::new() };
        let mut functions: Vec<_> = if self.is_stripped {
            file.dynamic_symbols().filter_map(|symbol| self.function(&symbol)).collect()
        } else {
            file.symbols().filter_map(|symbol| self.function(&symbol)).collect()
        };
        functions.sort_by(|a, b| (a.address, &a.symbol).cmp(&(b.address, &b.symbol)));
        set_sizes(&mut functions, &ends_of_code(&file));
        functions
    }

    fn function(&self, symbol: &ElfSymbol64<'_, '_, Endianness>) -> Option<Function> {
        let kind = symbol.elf_symbol().st_type();
        if ![STT_FUNC, STT_GNU_IFUNC].contains(&kind) || symbol.is_undefined() {
            return None;
        }
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        Some(Function {
            module: Arc::clone(&self.path),
            build_id: Arc::clone(&self.build_id),
            symbol: name.to_owned(),
            name: demangle(name),
            signature: signature(name),
            address: symbol.address(),
            n_bytes: symbol.size(),
            n_bytes_to_next: 0,
            inlined: Vec::new(),
            parameters: None,
            returns: None,
            is_copy: crate::demangle::is_copy(name),
            is_chooser: kind == STT_GNU_IFUNC,
            source: None,
        })
    }
}

/// Ends of sections with code, in order.
fn ends_of_code(file: &File<'_>) -> Vec<u64> {
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let mut ends: Vec<u64> = code.map(|section| section.address() + section.size()).collect();
    ends.sort_unstable();
    ends
}

/// A function reaches to the next one or to the end of its section.
fn set_sizes(functions: &mut [Function], ends: &[u64]) {
    let mut next = u64::MAX;
    let mut address = u64::MAX;
    for function in functions.iter_mut().rev() {
        if function.address != address {
            next = address;
            address = function.address;
        }
        let end = ends.get(ends.partition_point(|end| *end <= address)).copied();
        function.n_bytes_to_next = next.min(end.unwrap_or(u64::MAX)).saturating_sub(address);
        // Symbols written in assembly may not say their size.
        if function.n_bytes == 0 {
            function.n_bytes = function.n_bytes_to_next;
        }
    }
}
