//! ELF file with its symbols, and the location of its debug information.

pub(crate) mod embedded;

use super::errors::ProgramError;
use super::function::Function;
use crate::debug_file;
use crate::demangle::demangle;
use crate::elf::Elf;
use object::elf::{STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, STT_TLS};
use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, SectionKind};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use embedded::EmbeddedEntry;

pub(crate) type File<'a> = ElfFile64<'a, Endianness>;

/// ELF file in memory.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) path: Arc<Path>,
    pub(crate) build_id: Arc<[u8]>,
    pub(crate) is_static: bool,
    pub(crate) is_stripped: bool,
    /// File with its debug information, and file with the information shared with other files.
    pub(crate) debug_file: Option<(PathBuf, Option<PathBuf>)>,
    pub(crate) bytes: Vec<u8>,
    /// Content of the debug file, if only that file has the symbol table.
    symbols: Option<Vec<u8>>,
    objects: OnceCell<Vec<DataSymbol>>,
}

/// Variable of the symbol table.
#[derive(Debug)]
pub(crate) struct DataSymbol {
    pub(crate) symbol: String,
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) n_bytes: u64,
    pub(crate) is_thread_local: bool,
    pub(crate) is_global: bool,
}

impl Image {
    pub(crate) fn open(path: &Path) -> Result<Self, ProgramError> {
        let bytes = crate::regular::read(path)
            .map_err(|source| ProgramError::Open { path: path.into(), source })?;
        let not_elf = |source| ProgramError::NotElf { path: path.into(), source };
        let file = File::parse(bytes.as_slice()).map_err(not_elf)?;
        if file.architecture() != Architecture::X86_64 {
            return Err(ProgramError::OtherProcessor(path.into()));
        }
        let elf = Elf::open(path).unwrap_or_default();
        let debug_file = debug_file::find(path, &elf);
        let is_stripped = file.section_by_name(".symtab").is_none();
        let separate = debug_file.as_ref().filter(|_| is_stripped);
        Ok(Self {
            path: path.into(),
            build_id: file.build_id().ok().flatten().unwrap_or_default().into(),
            is_static: file.section_by_name(".interp").is_none()
                && file.section_by_name(".dynamic").is_none(),
            is_stripped,
            symbols: separate.and_then(|(file, _)| crate::regular::read(file).ok()),
            debug_file,
            bytes,
            objects: OnceCell::new(),
        })
    }

    /// Returns the parsed file, which was valid when it was opened.
    pub(crate) fn file(&self) -> Option<File<'_>> {
        File::parse(self.bytes.as_slice()).ok()
    }

    /// Returns the functions by address, according to symbols.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let Some(file) = self.file() else { return Vec::new() };
        let mut functions = self.symbols(|symbol| self.function(symbol));
        let starts = self.add_embedded(&mut functions, &file);
        functions.sort_by(|a, b| (a.address, &a.symbol).cmp(&(b.address, &b.symbol)));
        set_sizes(&mut functions, &bounds_of_code(&file, starts));
        functions
    }

    /// Returns the variables by address, according to symbols.
    pub(crate) fn objects(&self) -> &[DataSymbol] {
        self.objects.get_or_init(|| {
            let mut objects = self.symbols(data_symbol);
            let embedded = self.file().map(|file| embedded::entries(&file)).unwrap_or_default();
            let is_new = |entry: &EmbeddedEntry| {
                !entry.is_function() && !objects.iter().any(|object| object.symbol == entry.name)
            };
            let embedded: Vec<EmbeddedEntry> = embedded.into_iter().filter(is_new).collect();
            objects.extend(embedded.into_iter().map(EmbeddedEntry::data_symbol));
            objects.sort_by(|a, b| (a.address, &a.symbol).cmp(&(b.address, &b.symbol)));
            objects
        })
    }

    /// Returns the name of the section that contains an address, and whether it is writable.
    pub(crate) fn section_at(&self, address: u64) -> (String, bool) {
        let Some(file) = self.file() else { return (String::new(), false) };
        let holds = |section: &ElfSection64<'_, '_, Endianness>| {
            let is_loaded = ![SectionKind::Tls, SectionKind::UninitializedTls]
                .contains(&section.kind())
                && section.address() != 0;
            let at = address.checked_sub(section.address());
            is_loaded && at.is_some_and(|at| at < section.size())
        };
        let Some(section) = file.sections().find(holds) else { return (String::new(), false) };
        let name = section.name().unwrap_or_default().to_owned();
        let is_data = [SectionKind::Data, SectionKind::UninitializedData].contains(&section.kind());
        // Made read-only after the loader has filled it in.
        let is_writable = is_data && !name.starts_with(".data.rel.ro");
        (name, is_writable)
    }

    /// Number of bytes of code.
    pub(crate) fn n_code_bytes(&self) -> u64 {
        let file = self.file();
        let sections = file.iter().flat_map(|file| file.sections());
        sections.filter(|it| it.kind() == SectionKind::Text).map(|it| it.size()).sum()
    }

    /// Returns the `n_bytes` bytes at an address in the file, the first byte lowest; zeros where the file has none.
    pub(crate) fn bits_at(&self, address: u64, n_bytes: usize) -> Option<u64> {
        let file = self.file()?;
        let section = file.sections().find(|section| {
            let at = address.checked_sub(section.address());
            section.address() != 0 && at.is_some_and(|at| at < section.size())
        })?;
        let data = section.data().ok()?;
        let at = usize::try_from(address - section.address()).ok()?;
        let bytes = data.get(at..at.checked_add(n_bytes)?).unwrap_or_default();
        Some(bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    /// Applies `read` to the symbols, or to the dynamic symbols of a stripped file.
    fn symbols<T>(&self, read: impl Fn(&ElfSymbol64<'_, '_, Endianness>) -> Option<T>) -> Vec<T> {
        let separate = self.symbols.as_ref().and_then(|bytes| File::parse(bytes.as_slice()).ok());
        let Some(file) = separate.or_else(|| self.file()) else { return Vec::new() };
        let found: Vec<T> = file.symbols().filter_map(|symbol| read(&symbol)).collect();
        if !found.is_empty() {
            return found;
        }
        let dynamic = self.file();
        let dynamic = dynamic.iter().flat_map(|file| file.dynamic_symbols());
        dynamic.filter_map(|symbol| read(&symbol)).collect()
    }

    fn function(&self, symbol: &ElfSymbol64<'_, '_, Endianness>) -> Option<Function> {
        let kind = symbol.elf_symbol().st_type();
        if ![STT_FUNC, STT_GNU_IFUNC].contains(&kind) || symbol.is_undefined() {
            return None;
        }
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        let is_chooser = kind == STT_GNU_IFUNC;
        Some(Function { is_chooser, ..self.code_at(name, symbol.address(), symbol.size()) })
    }

    fn code_at(&self, name: &str, address: u64, n_bytes: u64) -> Function {
        Function {
            module: Arc::clone(&self.path),
            build_id: Arc::clone(&self.build_id),
            symbol: name.to_owned(),
            name: demangle(name),
            address,
            n_bytes,
            n_bytes_to_next: 0,
            inlined: Vec::new(),
            parameters: None,
            returns: None,
            is_copy: crate::demangle::is_copy(name),
            is_chooser: false,
            source: None,
            entry: None,
        }
    }

    /// Adds functions whose symbols were removed, but that the file's own table names. Other functions then have
    /// no name either, so the starts of all pieces of code are returned. Entries without unwind information have
    /// no known end and are omitted.
    fn add_embedded(&self, functions: &mut Vec<Function>, file: &File<'_>) -> Vec<u64> {
        let is_new = |entry: &EmbeddedEntry| {
            entry.is_function() && !functions.iter().any(|function| function.symbol == entry.name)
        };
        let embedded: Vec<EmbeddedEntry> =
            embedded::entries(file).into_iter().filter(is_new).collect();
        if embedded.is_empty() {
            return Vec::new();
        }
        let spans = embedded::spans_of_code(file);
        for entry in embedded {
            let place = spans.binary_search_by_key(&entry.address, |(start, _)| *start);
            let Some((start, end)) = place.ok().map(|place| spans[place]) else { continue };
            functions.push(self.code_at(&entry.name, start, end.saturating_sub(start)));
        }
        spans.into_iter().map(|(start, _)| start).collect()
    }
}

fn data_symbol(symbol: &ElfSymbol64<'_, '_, Endianness>) -> Option<DataSymbol> {
    let kind = symbol.elf_symbol().st_type();
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    let is_data = [STT_OBJECT, STT_TLS].contains(&kind) && !symbol.is_undefined();
    is_data.then(|| DataSymbol {
        symbol: name.to_owned(),
        name: demangle(name),
        address: symbol.address(),
        n_bytes: symbol.size(),
        is_thread_local: kind == STT_TLS,
        is_global: symbol.is_global(),
    })
}

/// Returns upper bounds of functions' ends, in order: the ends of code sections, and the starts of other functions.
fn bounds_of_code(file: &File<'_>, mut starts: Vec<u64>) -> Vec<u64> {
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    starts.extend(code.map(|section| section.address().saturating_add(section.size())));
    starts.sort_unstable();
    starts
}

/// Sets sizes: a function reaches to the next function or to the next bound.
fn set_sizes(functions: &mut [Function], bounds: &[u64]) {
    let mut next = u64::MAX;
    let mut address = u64::MAX;
    for function in functions.iter_mut().rev() {
        if function.address != address {
            next = address;
            address = function.address;
        }
        let end = bounds.get(bounds.partition_point(|bound| *bound <= address)).copied();
        function.n_bytes_to_next = next.min(end.unwrap_or(u64::MAX)).saturating_sub(address);
        // Assembly symbols may have no size.
        if function.n_bytes == 0 {
            function.n_bytes = function.n_bytes_to_next;
        }
    }
}
