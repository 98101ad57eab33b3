//! Variables found by name.

use events::ValueType;
use std::path::Path;
use std::sync::Arc;

/// Number in the memory of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name as requested.
    pub name: String,
    /// Program or library that contains the variable.
    pub module: Arc<Path>,
    /// Build-id of that file; empty if it has none.
    pub build_id: Arc<[u8]>,
    /// Virtual address in that file.
    pub address: u64,
    /// Type according to debug information; without it, the caller has to know the type.
    pub kind: Option<ValueType>,
    /// Size in bytes; without debug information, that of the whole symbol.
    pub n_bytes: u64,
    /// Type in the source; empty if unknown.
    pub type_name: String,
    /// Whether other files of the program cannot refer to it: compilers keep such a variable in registers
    /// more often.
    pub is_static: bool,
    /// Whether it is declared `volatile`, so that every read sees the current value.
    pub is_volatile: bool,
    /// Whether it is writable.
    pub is_writable: bool,
    /// Section that contains it, such as `.data`.
    pub section: String,
}
