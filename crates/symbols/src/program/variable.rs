//! A variable that a name stands for.

use events::ValueType;
use std::path::Path;
use std::sync::Arc;

/// A number in the memory of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As it was asked for.
    pub name: String,
    /// Program or library that holds it.
    pub module: Arc<Path>,
    /// What that file's linker named its build; empty when it did not.
    pub build_id: Arc<[u8]>,
    /// Virtual address in that file.
    pub address: u64,
    /// Its type where debug information says it; without, whoever asks has to know.
    pub kind: Option<ValueType>,
    /// Its size; of the whole symbol where there is no debug information.
    pub n_bytes: u64,
    /// Its type as the source calls it; empty when unknown.
    pub type_name: String,
    /// Whether other files of the program cannot name it: compilers keep such a variable in registers
    /// more often.
    pub is_static: bool,
    /// Whether it is declared `volatile`: every reader sees every change.
    pub is_volatile: bool,
    /// Whether it can be set.
    pub is_writable: bool,
    /// Section that holds it, such as `.data`.
    pub section: String,
}
