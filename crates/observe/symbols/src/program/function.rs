//! Functions of a program.

use events::ValueType;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Smallest function, padding included, that has room for a jump elsewhere, in bytes.
const N_BYTES_MIN: u64 = 2;

/// Functions that the C library and the compiler add to start and end a program.
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

/// Functions that return more than once, or into another frame: they need their own return address.
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

/// Function of a program or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Program or library that contains the function.
    pub module: Arc<Path>,
    /// Build-id of that file; empty if it has none.
    pub build_id: Arc<[u8]>,
    /// Linker name.
    pub symbol: String,
    /// Source name, without parameters.
    pub name: String,
    /// Virtual address in the file.
    pub address: u64,
    /// Size of its code, in bytes.
    pub n_bytes: u64,
    /// Bytes from its start to the next function, padding included.
    pub n_bytes_to_next: u64,
    /// Functions into which its body was inlined; calls there do not pass this function.
    pub inlined: Vec<Inlined>,
    /// Parameters; `None` if debug information does not tell.
    pub parameters: Option<Vec<Parameter>>,
    /// Return value; `None` if debug information does not tell.
    pub returns: Option<Returned>,
    /// Whether it is a compiler's copy of a function (`.constprop`, `.isra`, `.part`, `.cold`), with other parameters.
    pub is_copy: bool,
    /// Whether it only selects, once, the function to be called (`ifunc`).
    pub is_chooser: bool,
    /// Source line of its definition.
    pub source: Option<SourceLine>,
    /// Offset of its debug information.
    pub(crate) entry: Option<usize>,
}

/// Copies of a function's body in another function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// Function that contains the copies.
    pub function: String,
    /// Number of copies.
    pub n_copies: usize,
}

/// Parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the source; may be empty.
    pub name: String,
    /// Type in the source.
    pub type_name: String,
    /// Type of the number in its register, or at its address if passed by reference; `None` if it is not a number.
    pub kind: Option<ValueType>,
    /// Place of the argument when the function is entered.
    pub passing: Passing,
    /// Whether its address is passed instead: in Fortran (implicitly), and for C++ references to numbers.
    pub is_by_reference: bool,
}

/// Place of an argument when its function is entered (System V ABI for x86-64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// Register `n` of rdi, rsi, rdx, rcx, r8, r9 (0 to 5).
    Integer(u8),
    /// Register xmm`n` (0 to 7).
    Float(u8),
    /// Eight bytes on the stack, number `n` from 0, after the return address.
    Stack(u8),
    /// Anything that is not one number in one place, such as a structure.
    Parts,
}

/// Return value of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Type in the source; `void` if nothing is returned.
    pub type_name: String,
    /// Type of the number in rax or xmm0; `None` if it is not a number.
    pub kind: Option<ValueType>,
}

/// Line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// File as the compiler recorded it.
    pub file: String,
    /// Line number.
    pub line: u32,
}

/// Reason why a function cannot have probes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotProbeable {
    /// The function is smaller than a jump: its size with padding, in bytes.
    #[error("its {0} bytes are too few")]
    TooSmall(u64),
    /// The function has no code.
    #[error("it has no code")]
    Empty,
    /// The function runs once, before `main`, to select another function.
    #[error("it runs once, to choose the function that is called")]
    Chooser,
    /// The function is a part that the compiler moved out of this function, which jumps into it.
    #[error("it is a part of `{0}` that is jumped to, not called")]
    Part(String),
    /// The function needs its own return address.
    #[error("it returns more than once, or into another function")]
    ReturnsOtherwise,
    /// The function runs before the process is ready, or after its end.
    #[error("it runs before the process is ready, or after it has ended")]
    StartUp,
}

impl Function {
    /// Returns the source name, in C++ with the types of parameters.
    pub fn signature(&self) -> String {
        crate::demangle::signature(&self.symbol).unwrap_or_else(|| self.name.clone())
    }

    /// Returns the symbol without the suffix of a compiler's copy.
    fn family(&self) -> &str {
        self.symbol.split('.').next().unwrap_or_default()
    }

    /// Number of inlined copies of its body.
    pub fn n_inlined(&self) -> usize {
        self.inlined.iter().map(|inlined| inlined.n_copies).sum()
    }

    /// Checks whether the function can have probes, as far as its symbol tells; its code may still forbid them.
    ///
    /// # Errors
    /// With the reason if it cannot.
    pub fn probeable(&self) -> Result<(), NotProbeable> {
        if self.is_chooser {
            Err(NotProbeable::Chooser)
        } else if AT_START.contains(&self.symbol.as_str()) {
            Err(NotProbeable::StartUp)
        } else if RETURNS_OTHERWISE.contains(&self.family()) {
            Err(NotProbeable::ReturnsOtherwise)
        } else if self.symbol.contains(".cold") {
            Err(NotProbeable::Part(self.name.clone()))
        } else if self.n_bytes == 0 {
            Err(NotProbeable::Empty)
        } else if self.n_bytes_to_next < N_BYTES_MIN {
            Err(NotProbeable::TooSmall(self.n_bytes_to_next))
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
            entry: None,
        };
        assert_eq!(function.probeable(), expected);
    }

    #[test]
    fn what_is_not_called_and_returned_from_is_left_alone() {
        check("spread", Ok(()));
        check("spread.cold", Err(NotProbeable::Part("spread".to_owned())));
        check("uw_init_context_1.cold", Err(NotProbeable::ReturnsOtherwise));
        check("uw_init_context_1", Err(NotProbeable::ReturnsOtherwise));
        check("__sigsetjmp", Err(NotProbeable::ReturnsOtherwise));
        check("_start", Err(NotProbeable::StartUp));
    }
}
