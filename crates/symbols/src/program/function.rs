//! A function of a program.

use events::ValueType;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Fewest bytes of a function that hold a jump elsewhere, its padding included.
const N_BYTES_MIN: u64 = 2;

/// What the C library and the compiler add to start a program and to end it.
const AT_START: [&str; 9] = [
    "_start",
    "_init",
    "_fini",
    "_dl_relocate_static_pie",
    "__libc_csu_init",
    "register_tm_clones",
    "deregister_tm_clones",
    "frame_dummy",
    "__do_global_dtors_aux",
];

/// They return more than once, or into another frame: their return address must stay where they know it.
const RETURNS_OTHERWISE: [&str; 14] = [
    "setjmp",
    "_setjmp",
    "__sigsetjmp",
    "sigsetjmp",
    "getcontext",
    "swapcontext",
    "makecontext",
    "vfork",
    "__vfork",
    "clone",
    "uw_init_context_1",
    "uw_init_context",
    "uw_install_context_1",
    "__longjmp",
];

/// A function of a program or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Program or library that holds it.
    pub module: Arc<Path>,
    /// What that file's linker named its build; empty when it did not.
    pub build_id: Arc<[u8]>,
    /// As the linker calls it.
    pub symbol: String,
    /// As the source calls it, without parameters.
    pub name: String,
    /// Virtual address in the file.
    pub address: u64,
    /// Size of its code.
    pub n_bytes: u64,
    /// From its first byte to the next function, padding included.
    pub n_bytes_to_next: u64,
    /// Where the compiler put copies of its body; calls there do not pass this function.
    pub inlined: Vec<Inlined>,
    /// Its parameters; none when debug information does not tell.
    pub parameters: Option<Vec<Parameter>>,
    /// What it returns; none when debug information does not tell.
    pub returns: Option<Returned>,
    /// Whether the compiler made it of another function: `.constprop`, `.isra`, `.part`, `.cold`. Its
    /// parameters are not those of the source.
    pub is_copy: bool,
    /// Whether it only chooses, once, the function that is called (`ifunc`).
    pub is_chooser: bool,
    /// Where it is written.
    pub source: Option<SourceLine>,
}

/// Copies of a function's body in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The one that holds them.
    pub function: String,
    /// How many.
    pub n_copies: usize,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As the source calls it; may be empty.
    pub name: String,
    /// Its type as the source calls it.
    pub type_name: String,
    /// How it lies in its register; none when it is no number. Of what the address leads to, when it is
    /// passed by reference.
    pub kind: Option<ValueType>,
    /// Where it is when the function is entered.
    pub passing: Passing,
    /// Whether what is passed is its address: Fortran, where the source does not say so, and references of C++
    /// to numbers.
    pub is_by_reference: bool,
}

/// Where an argument is when its function is entered (System V ABI for x86-64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// Register `n` of rdi, rsi, rdx, rcx, r8, r9 (0 to 5).
    Integer(u8),
    /// Register xmm`n` (0 to 7).
    Float(u8),
    /// The eight bytes numbered `n`, from 0, after the return address.
    Stack(u8),
    /// A structure or something else that is not one number in one place.
    Parts,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its type as the source calls it; `void` when it returns nothing.
    pub type_name: String,
    /// How it lies in rax or xmm0; none when it is no number.
    pub kind: Option<ValueType>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file as the compiler recorded it.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// Why a function cannot have probes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotProbeable {
    /// It is smaller than what is written over it.
    #[error("its {n_bytes} bytes are too few")]
    TooSmall {
        /// Its size with padding.
        n_bytes: u64,
    },
    /// It has no code.
    #[error("it has no code")]
    Empty,
    /// It runs once, before `main`.
    #[error("it runs once, to choose the function that is called")]
    Chooser,
    /// The compiler moved it out of another function, which jumps into it.
    #[error("it is a part of `{of}` that is jumped to, not called")]
    Part {
        /// The function.
        of: String,
    },
    /// Its return address has to stay where it is.
    #[error("it returns more than once, or into another function")]
    ReturnsOtherwise,
    /// It runs before the process is ready.
    #[error("it runs before the process is ready, or after it has ended")]
    StartUp,
}

impl Function {
    /// As the source calls it, with the types of parameters in C++.
    pub fn signature(&self) -> String {
        crate::demangle::signature(&self.symbol).unwrap_or_else(|| self.name.clone())
    }

    /// Its symbol without what the compiler adds to copies.
    fn family(&self) -> &str {
        self.symbol.split('.').next().unwrap_or_default()
    }

    /// How many copies of its body are elsewhere.
    pub fn n_inlined(&self) -> usize {
        self.inlined.iter().map(|inlined| inlined.n_copies).sum()
    }

    /// Whether probes can be put into it, as far as its symbol tells; its code may still say no.
    ///
    /// # Errors
    /// With the reason when not.
    pub fn probeable(&self) -> Result<(), NotProbeable> {
        if self.is_chooser {
            Err(NotProbeable::Chooser)
        } else if AT_START.contains(&self.symbol.as_str()) {
            Err(NotProbeable::StartUp)
        } else if RETURNS_OTHERWISE.contains(&self.family()) {
            Err(NotProbeable::ReturnsOtherwise)
        } else if self.symbol.contains(".cold") {
            Err(NotProbeable::Part { of: self.name.clone() })
        } else if self.n_bytes == 0 {
            Err(NotProbeable::Empty)
        } else if self.n_bytes_to_next < N_BYTES_MIN {
            Err(NotProbeable::TooSmall { n_bytes: self.n_bytes_to_next })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(symbol: &str, expected: Result<(), NotProbeable>) {
        let function = Function {
            module: Arc::from(Path::new("/bin/fire")),
            build_id: Arc::from([]),
            symbol: symbol.to_owned(),
            name: "spread".to_owned(),
            address: 0x1000,
            n_bytes: 64,
            n_bytes_to_next: 64,
            inlined: Vec::new(),
            parameters: None,
            returns: None,
            is_copy: false,
            is_chooser: false,
            source: None,
        };
        assert_eq!(function.probeable(), expected);
    }

    #[test]
    fn what_is_not_called_and_returned_from_is_left_alone() {
        check("spread", Ok(()));
        check("spread.cold", Err(NotProbeable::Part { of: "spread".to_owned() }));
        check("uw_init_context_1.cold", Err(NotProbeable::ReturnsOtherwise));
        check("uw_init_context_1", Err(NotProbeable::ReturnsOtherwise));
        check("__sigsetjmp", Err(NotProbeable::ReturnsOtherwise));
        check("_start", Err(NotProbeable::StartUp));
    }
}
