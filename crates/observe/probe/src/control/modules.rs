//! Files mapped into this process, and translation of addresses in a file to addresses in the process.
#![allow(unsafe_code, reason = "reads what the dynamic linker has mapped")]

use super::problem::OrderError;
use crate::next::forget_failure;
use crate::object;
use std::ffi::CString;
use std::ops::Range;
use wire::control::{Location, Module};

/// Modules of an order, as they are loaded in this process.
pub(crate) struct Modules(Vec<Result<Loaded, OrderError>>);

impl Modules {
    /// Finds the modules; a missing one, or one of another build, is an error where it is used.
    pub(crate) fn find(modules: &[Module]) -> Self {
        let loaded = all();
        Self(modules.iter().map(|module| find(module, &loaded)).collect())
    }

    /// Returns the address of code in this process.
    pub(crate) fn code(&self, at: Location) -> Result<usize, OrderError> {
        self.address(at, 1, "code")
    }

    /// Returns the address of `n_bytes` of data in this process.
    pub(crate) fn data(&self, at: Location, n_bytes: usize) -> Result<usize, OrderError> {
        self.address(at, n_bytes, "data")
    }

    fn address(
        &self,
        at: Location,
        n_bytes: usize,
        part: &'static str,
    ) -> Result<usize, OrderError> {
        let position = usize::try_from(at.module).unwrap_or(usize::MAX);
        let module = self.0.get(position).ok_or(OrderError::NoModule { module: at.module })?;
        let module = module.as_ref().map_err(Clone::clone)?;
        let outside = OrderError::Outside { address: at.address, part };
        let offset = usize::try_from(at.address).unwrap_or(usize::MAX);
        let first = module.base.wrapping_add(offset);
        let last = first.wrapping_add(n_bytes - 1);
        let holds = |part: &Part| part.addresses.contains(&first) && part.addresses.contains(&last);
        let mut parts = module.parts.iter().filter(|known| part == "data" || known.is_code);
        if parts.any(holds) { Ok(first) } else { Err(outside) }
    }
}

#[derive(Clone, Debug)]
struct Loaded {
    path: CString,
    base: usize,
    build_id: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    addresses: Range<usize>,
    is_code: bool,
}

impl Loaded {
    fn is_called(&self, name: &str) -> bool {
        self.path.to_bytes().rsplit(|byte| *byte == b'/').next() == Some(name.as_bytes())
    }

    /// Keeps the file mapped for the rest of the process, for probes in it and for later changes; waits until it is
    /// initialized if another thread is loading it. Returns false if it was unloaded meanwhile.
    fn keep(&self) -> bool {
        if self.path.is_empty() {
            return true;
        }
        let flags = libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_LAZY;
        // SAFETY: only marks an object that is loaded already.
        let is_kept = !unsafe { libc::dlopen(self.path.as_ptr(), flags) }.is_null();
        forget_failure();
        // Another one may have been loaded from the same path since it was found.
        let is_it = |object: &Self| object.path == self.path && object.base == self.base;
        is_kept && all().iter().any(is_it)
    }
}

fn find(module: &Module, loaded: &[Loaded]) -> Result<Loaded, OrderError> {
    let has_id = !module.build_id.is_empty();
    // The program comes first in the linker's list and has no path there.
    let named = if module.name.is_empty() {
        loaded.first()
    } else {
        loaded.iter().find(|loaded| loaded.is_called(&module.name))
    };
    let identical = loaded.iter().find(|loaded| has_id && loaded.build_id == module.build_id);
    let found = match (identical, named) {
        (Some(found), _) => found,
        (None, Some(found)) if !has_id => found,
        (None, Some(_)) => return Err(OrderError::OtherBuild { module: title(&module.name) }),
        (None, None) => return Err(OrderError::NotLoaded { module: module.name.clone() }),
    };
    if found.keep() {
        Ok(found.clone())
    } else {
        Err(OrderError::NotLoaded { module: module.name.clone() })
    }
}

fn title(name: &str) -> String {
    if name.is_empty() { "the program".to_owned() } else { format!("`{name}`") }
}

fn all() -> Vec<Loaded> {
    let mut loaded = Vec::new();
    object::for_each_loaded(|path, base, headers| {
        loaded.push(describe(path.to_owned(), base, headers));
    });
    loaded
}

#[expect(clippy::cast_possible_truncation, reason = "addresses have 64 bits")]
fn describe(path: CString, base: u64, headers: &[libc::Elf64_Phdr]) -> Loaded {
    let base = base as usize;
    let addresses = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let of = |kind| headers.iter().filter(move |header| header.p_type == kind);
    let parts: Vec<Part> = of(libc::PT_LOAD)
        .map(|header| Part {
            addresses: addresses(header),
            is_code: header.p_flags & libc::PF_X != 0,
        })
        .collect();
    let is_mapped = |range: &Range<usize>| {
        let holds =
            |part: &Part| part.addresses.contains(&range.start) && range.end <= part.addresses.end;
        !range.is_empty() && parts.iter().any(holds)
    };
    let notes = of(libc::PT_NOTE).map(addresses).filter(is_mapped);
    // SAFETY: notes that lie in a mapped part of the object, which is kept while the linker's list is
    // walked.
    let texts = notes
        .map(|notes| unsafe { std::slice::from_raw_parts(notes.start as *const u8, notes.len()) });
    let build_id = texts.filter_map(build_id).next().unwrap_or_default();
    Loaded { path, base, build_id, parts }
}

/// Finds the build-id among notes: each has three words (length of the name, of the value, kind), then
/// both, padded to whole words.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const BUILD_ID: usize = 3;
    loop {
        let (header, rest) = notes.split_at_checked(12)?;
        let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let (n_name, n_value, kind) = (word(0)? as usize, word(4)? as usize, word(8)? as usize);
        let (name, rest) = rest.split_at_checked(n_name.next_multiple_of(4))?;
        let value = rest.get(..n_value)?;
        if kind == BUILD_ID && name.starts_with(b"GNU\0") {
            return Some(value.to_vec());
        }
        notes = rest.get(n_value.next_multiple_of(4)..)?;
    }
}
