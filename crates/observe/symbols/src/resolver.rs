//! Resolver of addresses in a module to places in the source.
//!
//! The place of an inlined call is the function in which the call is *written*, not the function that
//! contains its machine code: users look for the line in the editor.

use crate::debug_file;
use crate::demangle::{demangle, demangle_fortran};
use crate::elf::{self, Elf, ElfFunction};
use addr2line::{Frame, Loader};
use events::{CodeAddress, SourceLocation};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const LAMBDA: &str = "operator()";
/// Beginnings of file names of the C library.
const C_LIBRARY: [&str; 4] = ["libc.so", "libm.so", "libpthread.so", "ld-linux"];

/// Level of detail that a module provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// The module is missing, or has no symbols.
    Nothing,
    /// Function names only.
    Functions,
    /// Functions, files and lines.
    Lines,
}

/// Resolver for any number of modules; caches the information of each module.
#[derive(Default)]
pub struct Resolver {
    modules: HashMap<String, Module>,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("modules", &self.modules.keys()).finish()
    }
}

impl Resolver {
    /// Creates a resolver without open modules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the place of the call that returns to `address`.
    ///
    /// A return address is the instruction *after* the call, which may belong to the next line or even to
    /// the next function; so the byte before it is looked up.
    pub fn place_of_return(&mut self, address: &CodeAddress<'_>) -> SourceLocation {
        let module = self.module(address);
        let at = address.file_offset.saturating_sub(1);
        let found = module.elf.virtual_address(at).map(|at| module.place(at)).unwrap_or_default();
        SourceLocation { module: address.module.to_owned(), offset: address.file_offset, ..found }
    }

    /// Returns the functions at the call that returns to `address`: first the one that contains its machine code, then
    /// those inlined into it, the innermost last. At least one, with an empty name if nothing is known.
    pub fn frames_of_return(&mut self, address: &CodeAddress<'_>) -> Vec<SourceLocation> {
        let module = self.module(address);
        let at = module.elf.virtual_address(address.file_offset.saturating_sub(1));
        let mut frames = at.map(|at| module.frames(at)).unwrap_or_default();
        if frames.is_empty() {
            frames.push(SourceLocation::default());
        }
        let named = frames.into_iter();
        named.map(|place| SourceLocation { module: address.module.to_owned(), ..place }).collect()
    }

    /// Returns the level of detail of the module of `address`.
    pub fn detail(&mut self, address: &CodeAddress<'_>) -> Detail {
        let module = self.module(address);
        if module.lines().is_some() {
            Detail::Lines
        } else if module.functions().is_empty() {
            Detail::Nothing
        } else {
            Detail::Functions
        }
    }

    fn module(&mut self, address: &CodeAddress<'_>) -> &Module {
        if !self.modules.contains_key(address.module) {
            let module = if address.is_in_file() { Module::open(address.module) } else { None };
            self.modules.insert(address.module.to_owned(), module.unwrap_or_default());
        }
        &self.modules[address.module]
    }
}

#[derive(Default)]
struct Module {
    elf: Elf,
    /// File with debug information, if it was found, and the file that it shares with others.
    debug_file: Option<(PathBuf, Option<PathBuf>)>,
    lines: OnceCell<Option<Loader>>,
    /// Its functions say enough without the lines that they consist of, which take a tenth of a second to read.
    is_c_library: bool,
    /// Files whose symbol tables are used where debug information has no answer, best first.
    symbol_files: Vec<PathBuf>,
    functions: OnceCell<Vec<ElfFunction>>,
}

impl Module {
    /// Opens a module; `None` if the file is unreadable: it may be on another node, or replaced by something else.
    fn open(path: &str) -> Option<Self> {
        let path = Path::new(path);
        let elf = Elf::open(path)?;
        let mut symbol_files = vec![path.to_owned()];
        let debug_file = debug_file::find(path, &elf);
        symbol_files.splice(0..0, debug_file.iter().map(|(file, _)| file.clone()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_c_library = C_LIBRARY.iter().any(|start| name.starts_with(start));
        Some(Self { elf, debug_file, symbol_files, is_c_library, ..Self::default() })
    }

    fn lines(&self) -> Option<&Loader> {
        let open = || {
            let (file, shared) = self.debug_file.clone()?;
            Loader::new_with_sup(file, shared).ok()
        };
        self.lines.get_or_init(open).as_ref()
    }

    fn functions(&self) -> &[ElfFunction] {
        self.functions.get_or_init(|| {
            let tables = self.symbol_files.iter().filter_map(|file| elf::functions(file));
            tables.into_iter().find(|functions| !functions.is_empty()).unwrap_or_default()
        })
    }

    fn place(&self, virtual_address: u64) -> SourceLocation {
        let mut place = self.written_place(virtual_address).unwrap_or_default();
        // Debug information does not tell the function around a lambda; its symbol does.
        if place.function.is_empty() || place.function == LAMBDA {
            let symbol = elf::function_at(self.functions(), virtual_address).map(demangle);
            place.function = symbol.unwrap_or(place.function);
        }
        place
    }

    /// Returns all frames at an address, the innermost inlined one last.
    fn frames(&self, virtual_address: u64) -> Vec<SourceLocation> {
        let mut places = Vec::new();
        let lines = if self.is_c_library { None } else { self.lines() };
        let found = lines.and_then(|lines| lines.find_frames(virtual_address).ok());
        if let Some(mut frames) = found {
            while let Ok(Some(frame)) = frames.next() {
                places.push(place_of_frame(&frame));
            }
        }
        places.reverse();
        if places.is_empty() {
            places.push(SourceLocation::default());
        }
        let symbol = || elf::function_at(self.functions(), virtual_address).map(demangle);
        if places[0].function.is_empty() || places[0].function == LAMBDA {
            places[0].function = symbol().unwrap_or_default();
        }
        places
    }

    /// Returns the innermost inlined frame outside MPI's C++ bindings, which are headers of one-line wrappers.
    fn written_place(&self, virtual_address: u64) -> Option<SourceLocation> {
        let mut frames = self.lines()?.find_frames(virtual_address).ok()?;
        let mut innermost = None;
        while let Ok(Some(frame)) = frames.next() {
            let place = place_of_frame(&frame);
            if !place.function.starts_with("MPI::") {
                return Some(place);
            }
            innermost.get_or_insert(place);
        }
        innermost
    }
}

fn place_of_frame<R: gimli::Reader>(frame: &Frame<'_, R>) -> SourceLocation {
    let function = frame.function.as_ref().and_then(|function| {
        let name = function.raw_name().ok()?;
        let is_fortran = function.language.is_some_and(is_fortran);
        Some(if is_fortran { demangle_fortran(&name) } else { demangle(&name) })
    });
    let location = frame.location.as_ref();
    SourceLocation {
        function: function.unwrap_or_default(),
        file: location.and_then(|at| at.file).unwrap_or_default().to_owned(),
        line: location.and_then(|at| at.line).unwrap_or_default(),
        ..SourceLocation::default()
    }
}

pub(crate) fn is_fortran(language: gimli::DwLang) -> bool {
    use gimli::constants as dw;
    [
        dw::DW_LANG_Fortran77,
        dw::DW_LANG_Fortran90,
        dw::DW_LANG_Fortran95,
        dw::DW_LANG_Fortran03,
        dw::DW_LANG_Fortran08,
    ]
    .contains(&language)
}
