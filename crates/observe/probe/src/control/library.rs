//! Libraries to be loaded into the process. Loading a library runs code of it, so its file is examined
//! first.
//!
//! # Not here
//! Availability of a library's own dependencies: only loading the library shows that.
#![allow(unsafe_code, reason = "loads libraries")]

use super::problem::OrderError;
use crate::next::forget_failure;
use std::ffi::{CString, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Sizes in bytes of a file's header, a section header, and a symbol.
const HEADER_BYTES: usize = 64;
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
/// Type of the section with the dynamic symbols.
const DYNAMIC_SYMBOLS: u64 = 11;
/// Largest table of symbols or names that is searched, in bytes.
const TABLE_BYTES_MAX: usize = 256 << 20;

/// A library for this machine, loaded or not.
#[derive(Debug)]
pub(crate) struct LoadedLibrary {
    path: CString,
}

impl LoadedLibrary {
    /// Checks that the file is a library, without loading it.
    pub(crate) fn find(path: &str) -> Result<Self, OrderError> {
        let missing = || OrderError::NoFile { path: path.to_owned() };
        let file = open(path).ok_or_else(missing)?;
        header(&file).ok_or_else(|| OrderError::NoLibrary { path: path.to_owned() })?;
        let path = CString::new(path).map_err(|_| missing())?;
        Ok(Self { path })
    }

    /// Also checks that the library has a function. A library whose file cannot tell is accepted.
    pub(crate) fn find_with(path: &str, name: &str) -> Result<Self, OrderError> {
        let library = Self::find(path)?;
        let symbols = open(path).and_then(|file| Symbols::of(&file));
        match symbols {
            Some(symbols) if !symbols.define(name) => Err(library.lacks(name)),
            _ => Ok(library),
        }
    }

    /// Loads the library for good; libraries loaded later find its exports.
    pub(crate) fn load(&self) -> Result<(), OrderError> {
        self.open(libc::RTLD_GLOBAL).map(|_| ())
    }

    /// Loads the library for good and returns the address of one of its functions.
    pub(crate) fn load_for(&self, name: &str) -> Result<usize, OrderError> {
        let library = self.open(libc::RTLD_LOCAL)?;
        symbol(library, name).ok_or_else(|| self.lacks(name))
    }

    fn open(&self, scope: i32) -> Result<*mut c_void, OrderError> {
        // SAFETY: the user asks for this library; its constructors run here, as in the program's own call.
        let library = unsafe { libc::dlopen(self.path.as_ptr(), libc::RTLD_NOW | scope) };
        forget_failure();
        let failed = || OrderError::NoLibrary { path: self.path() };
        if library.is_null() { Err(failed()) } else { Ok(library) }
    }

    fn lacks(&self, name: &str) -> OrderError {
        OrderError::NotInLibrary { path: self.path(), name: name.to_owned() }
    }

    fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// Returns the address of a symbol exported by a library, or with `RTLD_DEFAULT` by any one.
pub(crate) fn symbol(library: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: a look-up by name.
    let address: *mut c_void = unsafe { libc::dlsym(library, name.as_ptr()) };
    forget_failure();
    (!address.is_null()).then(|| address.addr())
}

fn open(path: &str) -> Option<File> {
    let file = File::open(path).ok()?;
    file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
}

/// Reads the header of a library for this machine.
fn header(file: &File) -> Option<[u8; HEADER_BYTES]> {
    const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let is_library = bytes.starts_with(ELF_64_LITTLE)
        && number(&bytes, 16..18) == Some(libc::ET_DYN.into())
        && number(&bytes, 18..20) == Some(libc::EM_X86_64.into());
    is_library.then_some(bytes)
}

/// Dynamic symbols of a file (exported or needed), and their names.
struct Symbols {
    symbols: Vec<u8>,
    names: Vec<u8>,
}

impl Symbols {
    /// `None` if the file has no section headers, which loading does not need.
    fn of(file: &File) -> Option<Self> {
        let header = header(file)?;
        let (first, n_sections) = (number(&header, 40..48)?, number(&header, 60..62)?);
        let n_bytes = usize::try_from(n_sections).ok()? * SECTION_BYTES;
        let sections = read(file, first, n_bytes)?;
        let sections: Vec<&[u8]> = sections.chunks_exact(SECTION_BYTES).collect();
        let kind = |section: &&&[u8]| number(section, 4..8) == Some(DYNAMIC_SYMBOLS);
        let symbols = sections.iter().find(kind)?;
        let names = sections.get(usize::try_from(number(symbols, 40..44)?).ok()?)?;
        let content = |section: &[u8]| {
            let n_bytes = usize::try_from(number(section, 32..40)?).ok()?;
            read(file, number(section, 24..32)?, n_bytes)
        };
        Some(Self { symbols: content(symbols)?, names: content(names)? })
    }

    /// Returns whether a symbol of this name is defined, not only needed.
    fn define(&self, name: &str) -> bool {
        self.symbols.chunks_exact(SYMBOL_BYTES).any(|symbol| {
            let is_defined = number(symbol, 6..8) != Some(0);
            is_defined && self.name_of(symbol) == Some(name.as_bytes())
        })
    }

    fn name_of(&self, symbol: &[u8]) -> Option<&[u8]> {
        let rest = self.names.get(usize::try_from(number(symbol, 0..4)?).ok()?..)?;
        rest.split(|byte| *byte == 0).next()
    }
}

fn read(file: &File, at: u64, n_bytes: usize) -> Option<Vec<u8>> {
    let is_bounded = n_bytes <= TABLE_BYTES_MAX;
    let mut bytes = is_bounded.then(|| vec![0; n_bytes])?;
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// Reads a little-endian number.
fn number(bytes: &[u8], at: Range<usize>) -> Option<u64> {
    let bytes = bytes.get(at)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
}
