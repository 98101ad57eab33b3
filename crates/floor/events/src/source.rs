//! Place in a program's source.

use serde::{Deserialize, Serialize};

/// Place in a program, as far as its debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceLocation {
    /// Function name, demangled; empty if unknown.
    pub function: String,
    /// Source file as the compiler recorded it; empty if unknown.
    pub file: String,
    /// Line number; 0 if unknown.
    pub line: u32,
    /// Program or library that contains the place.
    pub module: String,
    /// Offset of the return address in the module's file.
    pub offset: u64,
}
