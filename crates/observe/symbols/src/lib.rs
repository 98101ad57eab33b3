//! Finds functions, lines and variables in ELF files and their debug information, by address or by
//! name.
//!
//! A runtime address becomes a place in the program in two steps: [`events::ModuleMap`] (the text of
//! `/proc/PID/maps`) gives the file and the offset in it, [`Resolver`] gives the function and the line in the source.
//!
//! # Invariants
//! - A missing or changed file, or one without symbols, makes a place less precise, but is never an error.
//! - Only the files of requested modules are opened, each once.
//!
//! # Not here
//! Reading `/proc` of a living process (the caller passes the text), and changing a program.

mod debug_file;
mod demangle;
mod elf;
mod program;
mod regular;
mod resolver;

pub use demangle::demangle;
pub use program::{
    Access, AccessKind, Cached, EmbeddedVariable, Function, Inlined, LookupError, N_STEPS_MAX,
    NotProbeable, Parameter, Passing, Program, ProgramError, Reached, ReachedBase, Returned,
    SourceLine, Variable, embedded_variable, first_value, members_of_arguments,
};
pub use resolver::{Detail, Resolver};
