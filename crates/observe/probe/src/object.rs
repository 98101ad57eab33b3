//! Objects (program and libraries) of this process: their symbols and the places bound to symbols.
#![allow(unsafe_code, reason = "reads what the dynamic linker has mapped")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Loaded object, with the tables needed to bind symbols.
pub(crate) struct LoadedObject {
    /// Path; empty for the program itself.
    pub(crate) path: String,
    base: usize,
    symbols: usize,
    strings: usize,
    gnu_hash: usize,
    /// Start and length in bytes of the two tables of relocations.
    relocations: [(usize, usize); 2],
    /// Addresses that the linker makes read-only after binding.
    relro: std::ops::Range<usize>,
    code: Vec<std::ops::Range<usize>>,
}

/// Place in memory that holds the address of a function.
pub(crate) struct Binding<'a> {
    /// Name of the function.
    pub(crate) name: &'a CStr,
    /// Address of the place.
    pub(crate) place: *mut usize,
}

/// Returns all objects loaded now.
pub(crate) fn all() -> Vec<LoadedObject> {
    let mut objects: Vec<LoadedObject> = Vec::new();
    for_each_loaded(|path, base, headers| objects.extend(LoadedObject::new(path, base, headers)));
    objects
}

/// Calls `look` for each object loaded now. None of them is unloaded meanwhile: the linker is locked, and `look`
/// must not call it.
pub(crate) fn for_each(mut look: impl FnMut(&LoadedObject)) {
    for_each_loaded(|path, base, headers| {
        if let Some(object) = LoadedObject::new(path, base, headers) {
            look(&object);
        }
    });
}

/// Calls `look` with path, base address and program headers of each object loaded now, while the linker is locked.
/// The path of the program itself is empty.
pub(crate) fn for_each_loaded(mut look: impl FnMut(&CStr, u64, &[libc::Elf64_Phdr])) {
    let mut look: Look<'_> = &mut look;
    // SAFETY: `show` gets the pointer to a closure that it expects.
    unsafe { libc::dl_iterate_phdr(Some(show), (&raw mut look).cast()) };
}

/// Returns how many objects were loaded since the start of the process; those that were unloaded count, too.
pub(crate) fn n_loaded_so_far() -> u64 {
    let mut n_loaded: u64 = 0;
    // SAFETY: `note_loaded` gets the pointer to a number that it expects.
    unsafe { libc::dl_iterate_phdr(Some(note_loaded), (&raw mut n_loaded).cast()) };
    n_loaded
}

unsafe extern "C" fn note_loaded(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    n_loaded: *mut c_void,
) -> c_int {
    // SAFETY: the linker hands out a valid description.
    let n_so_far = unsafe { (*info).dlpi_adds };
    // SAFETY: `n_loaded_so_far` passes a pointer to its number.
    unsafe { n_loaded.cast::<u64>().write(n_so_far) };
    // The first description has the number: no other is needed.
    1
}

type Look<'a> = &'a mut dyn FnMut(&CStr, u64, &[libc::Elf64_Phdr]);

unsafe extern "C" fn show(info: *mut libc::dl_phdr_info, _size: usize, look: *mut c_void) -> c_int {
    // SAFETY: the linker hands out a valid description.
    let info = unsafe { &*info };
    // SAFETY: `for_each_loaded` passes a pointer to its closure.
    let look = unsafe { &mut *look.cast::<Look<'_>>() };
    // SAFETY: the linker describes this many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let path = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: the linker's own string.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    look(path, info.dlpi_addr, headers);
    0
}

/// Returns whether a file is an MPI library, by its name.
pub(crate) fn is_mpi_library(path: &[u8]) -> bool {
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    file.starts_with(b"libmpi") || file.starts_with(b"libpmpi")
}

#[expect(clippy::cast_possible_truncation, reason = "addresses have 64 bits")]
impl LoadedObject {
    fn new(path: &CStr, base: u64, headers: &[libc::Elf64_Phdr]) -> Option<Self> {
        let base = base as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let start = base + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map(range);
        let is_code = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
        };
        let mut object = Self {
            path: path.to_string_lossy().into_owned(),
            base,
            symbols: 0,
            strings: 0,
            gnu_hash: 0,
            relocations: [(0, 0); 2],
            relro: relro.unwrap_or_default(),
            code: headers.iter().filter(is_code).map(range).collect(),
        };
        object.read_dynamic(range(dynamic).start);
        (object.symbols != 0 && object.strings != 0).then_some(object)
    }

    fn read_dynamic(&mut self, start: usize) {
        let mut entry = start as *const [u64; 2];
        loop {
            // SAFETY: the table ends with an entry of tag 0, which ends this loop.
            let [tag, value] = unsafe { entry.read() };
            let value = value as usize;
            // Most dynamic linkers replace these offsets by addresses, except in some objects (the vdso).
            let address = if value < self.base { self.base + value } else { value };
            match tag {
                0 => return,
                5 => self.strings = address,
                6 => self.symbols = address,
                7 => self.relocations[0].0 = address,
                8 => self.relocations[0].1 = value,
                23 => self.relocations[1].0 = address,
                2 => self.relocations[1].1 = value,
                0x6fff_fef5 => self.gnu_hash = address,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
    }

    /// Returns whether an address is in the object's code.
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.code.iter().any(|code| code.contains(&address))
    }

    /// Returns whether the object is an MPI library, by its file name.
    pub(crate) fn is_mpi_library(&self) -> bool {
        is_mpi_library(self.path.as_bytes())
    }

    /// Returns whether the object is the Fortran library of MPICH or of a library derived from it.
    pub(crate) fn is_mpi_library_for_fortran(&self) -> bool {
        self.is_mpi_library() && self.path.rsplit('/').next().is_some_and(|f| f.contains("fort"))
    }

    fn symbol(&self, position: usize) -> *mut libc::Elf64_Sym {
        (self.symbols as *mut libc::Elf64_Sym).wrapping_add(position)
    }

    fn name_of(&self, position: usize) -> &CStr {
        // SAFETY: positions come from the object's own tables.
        let offset = unsafe { (*self.symbol(position)).st_name } as usize;
        // SAFETY: the object's table of strings.
        unsafe { CStr::from_ptr((self.strings + offset) as *const c_char) }
    }

    /// Number of symbols, from the chains of the hash table.
    fn n_symbols(&self) -> usize {
        if self.gnu_hash == 0 {
            return 0;
        }
        let words = self.gnu_hash as *const u32;
        // SAFETY: header of the table: buckets, first hashed symbol, words of the filter, shift.
        let word = |position: usize| unsafe { words.wrapping_add(position).read() } as usize;
        let (n_buckets, first, n_filter) = (word(0), word(1), word(2));
        let buckets = 4 + 2 * n_filter;
        let Some(mut last) = (0..n_buckets).map(|bucket| word(buckets + bucket)).max() else {
            return 0;
        };
        if last < first {
            return first;
        }
        while word(buckets + n_buckets + last - first) & 1 == 0 {
            last += 1;
        }
        last + 1
    }

    /// Returns the functions that the object defines for others: name and address.
    pub(crate) fn exports(&self) -> impl Iterator<Item = (&CStr, usize)> {
        (1..self.n_symbols()).filter_map(|position| {
            // SAFETY: inside the table.
            let offset = unsafe { (*self.symbol(position)).st_value } as usize;
            (offset != 0).then(|| (self.name_of(position), self.base + offset))
        })
    }

    /// Removes symbols from the object's table, so that later look-ups skip this object.
    pub(crate) fn hide(&self, is_hidden: impl Fn(&CStr) -> bool) {
        self.define(|name| is_hidden(name).then_some(0));
    }

    /// Restores the symbols for which an address is given.
    pub(crate) fn show(&self, address: impl Fn(&CStr) -> Option<usize>) {
        self.define(|name| address(name).map(|address| (address - self.base) as u64));
    }

    /// Sets new values of symbols; a symbol of value 0 is undefined.
    fn define(&self, value: impl Fn(&CStr) -> Option<u64>) {
        let n_symbols = self.n_symbols();
        let (start, end) = (self.symbols, self.symbols + n_symbols * size_of::<libc::Elf64_Sym>());
        if !protect(start, end, libc::PROT_READ | libc::PROT_WRITE) {
            return;
        }
        for position in 1..n_symbols {
            if let Some(value) = value(self.name_of(position)) {
                // SAFETY: inside the table, which is writable now.
                unsafe { (*self.symbol(position)).st_value = value };
            }
        }
        protect(start, end, libc::PROT_READ);
    }

    /// Returns the places bound to functions whose names are wanted.
    pub(crate) fn bindings(
        &self,
        is_wanted: impl Fn(&CStr) -> bool,
    ) -> impl Iterator<Item = Binding<'_>> {
        const ABSOLUTE: u64 = 1;
        const GLOBAL_DATA: u64 = 6;
        const JUMP_SLOT: u64 = 7;
        let entries = self.relocations.into_iter().flat_map(|(start, len)| {
            let n_entries = len / size_of::<libc::Elf64_Rela>();
            (0..n_entries).map(move |entry| (start as *const libc::Elf64_Rela).wrapping_add(entry))
        });
        entries.filter_map(move |entry| {
            // SAFETY: inside the object's table of relocations.
            let entry = unsafe { &*entry };
            let (kind, symbol) = (entry.r_info & 0xffff_ffff, (entry.r_info >> 32) as usize);
            let is_bound = matches!(kind, GLOBAL_DATA | JUMP_SLOT)
                || (kind == ABSOLUTE && entry.r_addend == 0);
            if !is_bound || symbol == 0 {
                return None;
            }
            let name = self.name_of(symbol);
            is_wanted(name).then(|| Binding {
                name,
                place: (self.base + entry.r_offset as usize) as *mut usize,
            })
        })
    }

    /// Binds a place to another function; returns its previous content (or the current one, if it cannot be written).
    pub(crate) fn bind(&self, place: *mut usize, function: usize) -> usize {
        let start = place.addr();
        // SAFETY: a place of the object's own that the linker writes in the same way.
        let shared = unsafe { AtomicUsize::from_ptr(place) };
        let is_read_only = self.relro.contains(&start);
        if is_read_only && !protect(start, start + 8, libc::PROT_READ | libc::PROT_WRITE) {
            return shared.load(Ordering::Acquire);
        }
        let before = shared.swap(function, Ordering::AcqRel);
        if is_read_only {
            protect(start, start + 8, libc::PROT_READ);
        }
        before
    }
}

/// Binds the calls of a function of another library to `function`, in the objects that are wanted, except in the one that
/// defines `function`; returns whether there are any.
pub(crate) fn bind_calls(
    name: &CStr,
    function: usize,
    is_wanted: impl Fn(&LoadedObject) -> bool,
) -> bool {
    let mut is_bound = false;
    for object in all().iter().filter(|object| is_wanted(object) && !object.holds(function)) {
        for binding in object.bindings(|known| known == name) {
            object.bind(binding.place, function);
            is_bound |= bound(&binding) == function;
        }
    }
    is_bound
}

/// Returns the function to which a place is bound now.
pub(crate) fn bound(binding: &Binding<'_>) -> usize {
    // SAFETY: a place of an object that is loaded; all code that binds it writes it in the same way.
    unsafe { AtomicUsize::from_ptr(binding.place) }.load(Ordering::Acquire)
}

/// Changes the protection of the pages of a range.
fn protect(start: usize, end: usize, protection: c_int) -> bool {
    const PAGE: usize = 4096;
    let first = start & !(PAGE - 1);
    let len = end.next_multiple_of(PAGE) - first;
    // SAFETY: pages of an object's read-only data, made writable for a moment and read-only again.
    unsafe { libc::mprotect(first as *mut c_void, len, protection) == 0 }
}
