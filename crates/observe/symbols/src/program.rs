//! A program to be measured and changed: its functions and variables, looked up by their names in the source.
//!
//! ```no_run
//! let program = symbols::Program::open("./xfire".as_ref())?;
//! let front = program.function("fire::Front::advance")?;
//! let rows = program.variable("grid.rows")?;
//! println!("{} at {:#x}; {:?} at {:#x}", front.name, front.address, rows.kind, rows.address);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//! - Nothing is guessed: an ambiguous name, or a name of something that is not one number at one address,
//!   is refused with a sentence that describes the problem.
//! - Debug information is read once, when it is first needed; a library is opened only when a name is not
//!   in the program itself.
//!
//! # Not here
//! Places of addresses ([`crate::Resolver`]), and changes of machine code (`instrument`).

mod absence;
mod debug;
mod errors;
mod function;
mod globals;
mod image;
mod index;
mod libraries;
mod module;
mod names;
mod parameters;
mod passing;
mod path;
mod reach;
mod readers;
mod survey;
mod types;
mod walk;

pub use errors::{LookupError, ProgramError};
pub use function::{Function, Inlined, NotProbeable, Parameter, Passing, Returned, SourceLine};
pub use globals::Variable;
pub use image::embedded::{EmbeddedVariable, embedded_variable};
pub use reach::{N_STEPS_MAX, Reached, ReachedBase};
pub use readers::{Access, AccessKind, Cached};

use module::Module;
use object::{Object, ObjectSymbol};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Program with the libraries it is linked with.
#[derive(Debug)]
pub struct Program {
    own: Module,
    /// Folders of its `LD_LIBRARY_PATH`.
    folders: Vec<PathBuf>,
    libraries: OnceCell<Libraries>,
    /// Libraries that it loads itself.
    later: Vec<Module>,
}

#[derive(Debug, Default)]
struct Libraries {
    modules: Vec<Module>,
    missing: BTreeSet<String>,
}

impl Program {
    /// Reads the file's headers; symbols and debug information are read later.
    ///
    /// # Errors
    /// When the file cannot be read or is not a program.
    pub fn open(path: &Path) -> Result<Self, ProgramError> {
        let library_path = std::env::var_os("LD_LIBRARY_PATH");
        Self::open_with(path, library_path.as_deref())
    }

    /// Opens a program that runs with another `LD_LIBRARY_PATH` than this process.
    ///
    /// # Errors
    /// As [`Program::open`].
    pub fn open_with(path: &Path, library_path: Option<&OsStr>) -> Result<Self, ProgramError> {
        let folders = std::env::split_paths(library_path.unwrap_or_default());
        let folders = folders.filter(|folder| !folder.as_os_str().is_empty()).collect();
        let (libraries, later) = (OnceCell::new(), Vec::new());
        Ok(Self { own: Module::open(path)?, folders, libraries, later })
    }

    /// Adds a library that the program loads itself while it runs, in which names are looked for last.
    ///
    /// # Errors
    /// When the file cannot be read or is no library.
    pub fn add_library(&mut self, path: &Path) -> Result<(), ProgramError> {
        self.later.push(Module::open(path)?);
        Ok(())
    }

    /// Path of the program.
    pub fn path(&self) -> &Path {
        &self.own.image.path
    }

    /// Build-id of the program; empty if it has none.
    pub fn build_id(&self) -> &[u8] {
        &self.own.image.build_id
    }

    /// Returns whether the program is linked statically, so that nothing can be loaded into it.
    pub fn is_static(&self) -> bool {
        self.own.image.is_static
    }

    /// Returns whether the symbol table was removed.
    pub fn is_stripped(&self) -> bool {
        self.own.image.is_stripped
    }

    /// Returns whether the program was compiled with `-pg`: its functions report their callers to a profiler.
    pub fn is_profiled(&self) -> bool {
        const PROFILERS: [&str; 3] = ["mcount", "_mcount", "__fentry__"];
        let Some(file) = self.own.image.file() else { return false };
        let mut names = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
        names.any(|name| PROFILERS.contains(&bare_symbol(name)))
    }

    /// Returns whether debug information was found, in the program or in a separate file.
    pub fn has_debug_info(&self) -> bool {
        self.own.image.debug_file.is_some()
    }

    /// Returns the application description in the program or in one of its libraries, with the file that has it.
    pub fn description(&self) -> Option<(&Path, String)> {
        self.modules().find_map(|module| {
            Some((&*module.image.path, image::embedded::description(&module.image)?))
        })
    }

    /// Names of linked libraries that are in none of the loader's folders.
    pub fn missing_libraries(&self) -> &BTreeSet<String> {
        &self.linked().missing
    }

    /// Returns the linked library that may hold the code of a program which only starts it: the one that calls most
    /// functions of MPI, and more than the program itself, which is smaller.
    pub fn library_of_code(&self) -> Option<&Path> {
        let n_own = n_mpi_functions(&self.own).unwrap_or_default();
        let own_bytes = self.own.image.n_code_bytes();
        let libraries = self.libraries().filter_map(|module| {
            let n_called = n_mpi_functions(module)?;
            let name = module.image.path.file_name().unwrap_or_default();
            // The MPI library's own interfaces for languages, such as `libmpi_cxx`.
            let is_mpi = name.as_encoded_bytes().starts_with(b"libmpi");
            let is_larger = n_own < n_called && own_bytes < module.image.n_code_bytes();
            (is_larger && !is_mpi).then_some((n_called, &*module.image.path))
        });
        libraries.max_by_key(|(n_called, _)| *n_called).map(|(_, path)| path)
    }

    /// Functions of the program by address, without those of its libraries.
    pub fn functions(&self) -> &[Function] {
        &self.own.index().functions
    }

    /// Functions, by address, of the first linked library whose file name begins with `start`.
    pub fn functions_of_library(&self, start: &str) -> &[Function] {
        let is_it = |library: &&Module| {
            let name = library.image.path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(start))
        };
        self.libraries().find(is_it).map_or(&[], |library| &library.index().functions)
    }

    /// Returns the function with this name: its symbol, or its source name with or without parameters; in
    /// Fortran `module::procedure` or `procedure`; `solve.c:step` if several files have a `step`.
    ///
    /// # Errors
    /// When there is no such function at a single place, with the reason.
    pub fn function(&self, name: &str) -> Result<&Function, LookupError> {
        if let Some(found) = self.own.function(name)? {
            return Ok(found);
        }
        // One of a library with the same name is another function.
        if self.own.has_inlined(name) {
            return Err(self.no_function(name));
        }
        for library in self.libraries() {
            if let Some(found) = library.function(name)? {
                return Ok(found);
            }
        }
        Err(self.no_function(name))
    }

    /// Returns the variable with this name, such as `grid.rows`, `params::chunk`, `fire::Front::limit`, `a[3]` or
    /// `solve.c:chunk`, if it can be set.
    ///
    /// # Errors
    /// When there is no such number at a single place in memory, with the reason.
    pub fn variable(&self, name: &str) -> Result<Variable, LookupError> {
        let found = self.readable_variable(name)?;
        if found.is_writable {
            Ok(found)
        } else {
            Err(LookupError::Constant(name.to_owned(), found.section))
        }
    }

    /// Returns the variable with this name, even if it is constant.
    ///
    /// # Errors
    /// When there is no such number at a single place in memory, with the reason.
    pub fn readable_variable(&self, name: &str) -> Result<Variable, LookupError> {
        if let Some(found) = self.own.typed_variable(name)? {
            return Ok(found);
        }
        for library in self.libraries() {
            if let Some(found) = library.typed_variable(name)? {
                return Ok(self.own_copy(library, &found).unwrap_or(found));
            }
        }
        for module in self.modules() {
            if let Some(found) = module.untyped_variable(name)? {
                return Ok(found);
            }
        }
        Err(self.no_variable(name))
    }

    /// Returns the number that a name such as `sim->box.cutoff` means at a function: `sim` is an argument of the function,
    /// or else a pointer variable. `None` if the name follows no pointer.
    ///
    /// # Errors
    /// When there is no such number, with the reason.
    pub fn reached(&self, function: &Function, name: &str) -> Result<Option<Reached>, LookupError> {
        if let Some(found) = self.holder(&function.module).reached_from_argument(function, name)? {
            return Ok(Some(found));
        }
        for module in self.modules() {
            if let Some(found) = module.reached_from_variable(name)? {
                return Ok(Some(found));
            }
        }
        let Some((base, _)) = name.split_once("->") else { return Ok(None) };
        let parameters = function.parameters.iter().flatten();
        Err(LookupError::NoArgument {
            base: base.to_owned(),
            function: function.name.clone(),
            arguments: parameters.map(|parameter| parameter.name.clone()).collect(),
        })
    }

    /// Returns the numbers at fixed places that the program's debug information describes: variables, and members of
    /// structures.
    pub fn numbers(&self) -> Vec<Variable> {
        self.own.numbers()
    }

    /// Returns the instructions of these functions that refer to a variable, by address.
    pub fn accesses_in(&self, variable: &Variable, functions: &[Function]) -> Vec<Access> {
        let module = self.holder(&variable.module);
        readers::accesses(&module.image, functions, variable)
    }

    /// Returns the instructions that refer to a variable, in the file that defines it, by address.
    pub fn accesses(&self, variable: &Variable) -> Vec<Access> {
        let module = self.holder(&variable.module);
        readers::accesses(&module.image, &module.index().functions, variable)
    }

    /// Returns the loops that call `sync` and do not read the variable again: they may ignore a value set at `sync`.
    pub fn cached_across(&self, variable: &Variable, sync: &Function) -> Vec<Cached> {
        // A call into another file is not a direct call.
        if variable.module != sync.module {
            return Vec::new();
        }
        let module = self.holder(&variable.module);
        readers::cached_across(&module.image, &module.index().functions, variable, sync)
    }

    fn holder(&self, path: &Path) -> &Module {
        self.modules().find(|module| *module.image.path == *path).unwrap_or(&self.own)
    }

    /// Returns the program itself, then its libraries.
    fn modules(&self) -> impl Iterator<Item = &Module> {
        let mut libraries = None;
        std::iter::once(&self.own).chain(std::iter::from_fn(move || {
            libraries.get_or_insert_with(|| self.libraries()).next()
        }))
    }

    fn libraries(&self) -> impl Iterator<Item = &Module> {
        self.linked().modules.iter().chain(&self.later)
    }

    fn linked(&self) -> &Libraries {
        self.libraries.get_or_init(|| {
            let linked = libraries::of(&self.own.image, &self.folders);
            let modules = linked.found.iter().filter_map(|file| Module::open(file).ok());
            Libraries { modules: modules.collect(), missing: linked.missing }
        })
    }

    /// Returns the program's copy of a library's variable, which all code uses (a copy relocation), if there is one.
    fn own_copy(&self, library: &Module, found: &Variable) -> Option<Variable> {
        let holds = |object: &&image::DataSymbol| {
            (object.address..object.address + object.n_bytes).contains(&found.address)
        };
        let mut theirs = library.image.objects().iter().filter(|object| object.is_global);
        let theirs = theirs.find(holds)?;
        let own = self.own.image.objects();
        let own = own.iter().find(|object| bare_symbol(&object.symbol) == theirs.symbol)?;
        let at = self.own.at(&found.name, own.address + (found.address - theirs.address));
        Some(Variable {
            kind: found.kind,
            n_bytes: found.n_bytes,
            type_name: found.type_name.clone(),
            is_volatile: found.is_volatile,
            ..at
        })
    }
}

/// Returns the numbers in the structures that arguments of a function of the program point to.
pub fn members_of_arguments(program: &Program, function: &Function) -> Vec<Reached> {
    program.holder(&function.module).members_of_arguments(function)
}

/// Returns the value that a variable of the program has in its file; 0 where the file has only its size.
pub fn first_value(program: &Program, variable: &Variable) -> Option<events::Value> {
    let kind = variable.kind?;
    let image = &program.holder(&variable.module).image;
    Some(kind.value(image.bits_at(variable.address, kind.n_bytes())?))
}

/// Returns the number of MPI functions that a file calls; `None` for an MPI library.
fn n_mpi_functions(module: &Module) -> Option<usize> {
    let file = module.image.file()?;
    let mut n_called = 0;
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().unwrap_or_default();
        if symbol.is_undefined() {
            n_called += usize::from(name.starts_with("MPI_") || name.starts_with("mpi_"));
        } else if ["MPI_Init", "mpi_init_"].contains(&bare_symbol(name)) {
            return None;
        }
    }
    Some(n_called)
}

/// Removes the version that the linker appends.
fn bare_symbol(symbol: &str) -> &str {
    symbol.split('@').next().unwrap_or(symbol)
}
