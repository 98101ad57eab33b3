//! A program, as those who want to measure and change it need to see it: its functions and variables
//! by the names that its source gives them.
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
//! - Nothing is guessed: a name that could be two things, or that stands for something that is not one
//!   number at one address, is refused with a sentence that says what it is.
//! - Debug information is read once, when it is first needed; a library is opened only when a name is
//!   not in the program itself.
//!
//! # Not here
//! Places of addresses ([`crate::Resolver`]), and what can be done to the machine code of a function:
//! whoever changes it decides.

mod errors;
mod function;
mod image;
mod variable;

pub use errors::{LookupError, ProgramError};
pub use function::{Function, Inlined, NotProbeable, Parameter, Passing, Returned, SourceLine};
pub use variable::Variable;

use image::Image;
use std::cell::OnceCell;
use std::path::Path;

/// A program and the libraries it is linked with.
#[derive(Debug)]
pub struct Program {
    image: Image,
    functions: OnceCell<Vec<Function>>,
}

impl Program {
    /// Reads the file's headers and symbols; debug information is left for later.
    ///
    /// # Errors
    /// When the file cannot be read or is no program.
    pub fn open(path: &Path) -> Result<Self, ProgramError> {
        Ok(Self { image: Image::open(path)?, functions: OnceCell::new() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.image.path
    }

    /// What its linker named this build; empty when it did not.
    pub fn build_id(&self) -> &[u8] {
        &self.image.build_id
    }

    /// Whether nothing can be loaded into it: it is linked statically.
    pub fn is_static(&self) -> bool {
        self.image.is_static
    }

    /// Whether its symbol table was removed.
    pub fn is_stripped(&self) -> bool {
        self.image.is_stripped
    }

    /// Whether its debug information was found, in it or in a file of its own.
    pub fn has_debug_info(&self) -> bool {
        self.image.debug_file.is_some()
    }

    /// All its functions by address; not those of its libraries.
    pub fn functions(&self) -> &[Function] {
        self.functions.get_or_init(|| self.image.functions())
    }

    /// The function with this name: its symbol, or as its source calls it with or without parameters;
    /// in Fortran `module::procedure` or `procedure`.
    ///
    /// # Errors
    /// When there is no such function at one place, with the reason.
    pub fn function(&self, name: &str) -> Result<&Function, LookupError> {
        let found = self.functions().iter().find(|f| f.symbol == name || f.name == name);
        found.ok_or_else(|| LookupError::Unknown {
            name: name.to_owned(),
            program: self.path().to_owned(),
            near: Vec::new(),
        })
    }

    /// The variable with this name, such as `grid.rows`, `fire::Front::limit`, `params::chunk`, `a[3]`.
    ///
    /// # Errors
    /// When there is no such number at one place in memory, with the reason.
    pub fn variable(&self, name: &str) -> Result<Variable, LookupError> {
        Err(LookupError::Unknown {
            name: name.to_owned(),
            program: self.path().to_owned(),
            near: Vec::new(),
        })
    }
}
