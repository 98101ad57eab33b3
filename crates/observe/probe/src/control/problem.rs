//! Reasons why an order cannot be carried out, as sentences for the user.

use events::{Lever, Value, ValueType};
use thiserror::Error;

/// Reason why an order is refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub(crate) enum OrderError {
    #[error("its library `{module}` is not loaded yet")]
    NotLoaded { module: String },
    #[error(
        "{module} on this node differs from the build that was analyzed; use the same file on all nodes"
    )]
    OtherBuild {
        /// Name in backquotes, or `the program`.
        module: String,
    },
    #[error("address `{address:#x}` is not in the {part} of its file")]
    Outside {
        /// Address in the file.
        address: u64,
        /// `code` or `data`.
        part: &'static str,
    },
    #[error(
        "the order refers to file {module} but lists fewer; use one version of Sintonia on all nodes"
    )]
    NoModule { module: u32 },
    #[error("the variable at `{address:#x}` is in read-only memory; it is a constant")]
    ReadOnly {
        /// Address in this process.
        address: usize,
    },
    /// The variable is not aligned to its size, so that a store would not be atomic.
    #[error(
        "the variable at `{address:#x}` is not aligned to its {n_bytes} bytes; it cannot be set atomically"
    )]
    Unaligned {
        /// Address in this process.
        address: usize,
        n_bytes: usize,
    },
    #[error("`{value}` does not fit the type `{}`", kind.name())]
    DoesNotFit { value: Value, kind: ValueType },
    /// The system does not let a process look whether memory is there.
    #[error(
        "members behind pointers cannot be set here: the system forbids `process_vm_readv` (error {errno}); allow it, or \
         copy the value to a variable"
    )]
    NotReadable {
        /// Error number of the system.
        errno: i32,
    },
    /// The site does not exist, or is not a sync point.
    #[error(
        "its sync point has no probes here, or its hits are not counted; see the warnings about it"
    )]
    NoSyncPoint,
    #[error("the function has no probes here; see the warnings about it")]
    NoSite,
    #[error(
        "a function called for tuning takes at most six integers and eight floating-point numbers"
    )]
    TooManyArguments,
    #[error("no loaded library exports `{name}`; first load the library that exports it")]
    NotExported { name: String },
    #[error(
        "`{path}` cannot be loaded here; check that it is a library for this machine and that its dependencies are installed"
    )]
    NoLibrary { path: String },
    #[error("`{path}` exports no `{name}`; `nm -D` lists its exports")]
    NotInLibrary { path: String, name: String },
    #[error("there is no file `{path}` on this node")]
    NoFile { path: String },
    /// The lever does not apply to this process.
    #[error("`{}` cannot be changed here: {reason}", lever.name())]
    Lever { lever: Lever, reason: String },
    /// The number of the action is in use, or unknown.
    #[error("action {action} is {what}")]
    Action { action: u64, what: &'static str },
}
