//! Reasons why an order cannot be carried out, as sentences for the user.

use events::{Value, ValueType};
use thiserror::Error;

/// Reason why an order is refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub(crate) enum OrderError {
    /// The file is not mapped in this process.
    #[error("`{module}` is not loaded in this process")]
    NotLoaded {
        /// Name of the file.
        module: String,
    },
    /// The mapped file has another build-id.
    #[error(
        "{module} on this node differs from the build that was analyzed; use the same file on all nodes"
    )]
    OtherBuild {
        /// Name in backquotes, or `the program`.
        module: String,
    },
    /// The address is outside the expected part of its file.
    #[error("address `{address:#x}` is not in the {part} of its file")]
    Outside {
        /// Address in the file.
        address: u64,
        /// `code` or `data`.
        part: &'static str,
    },
    /// The order refers to a file that it does not list.
    #[error(
        "the order refers to file {module} but lists fewer; use one version of Sintonia on all nodes"
    )]
    NoModule {
        /// Index of the file.
        module: u32,
    },
    /// The variable is read-only.
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
        /// Size in bytes.
        n_bytes: usize,
    },
    /// The type cannot hold the value.
    #[error("`{value}` does not fit the type `{}`", kind.name())]
    DoesNotFit {
        /// Value.
        value: Value,
        /// Type.
        kind: ValueType,
    },
    /// The site does not exist, or is not a sync point.
    #[error(
        "its sync point has no probes here, or its hits are not counted; see the warnings about it"
    )]
    NoSyncPoint,
    /// The function has no probes.
    #[error("the function has no probes here; see the warnings about it")]
    NoSite,
    /// The arguments need more registers than there are.
    #[error(
        "a function called for tuning takes at most six integers and eight floating-point numbers"
    )]
    TooManyArguments,
    /// No loaded library exports the symbol.
    #[error("no loaded library exports `{name}`; first load the library that exports it")]
    NotExported {
        /// Name of the symbol.
        name: String,
    },
    /// The file cannot be loaded as a library.
    #[error(
        "`{path}` cannot be loaded here; check that it is a library for this machine and that its dependencies are installed"
    )]
    NoLibrary {
        /// Path of the file.
        path: String,
    },
    /// The library does not export the function.
    #[error("`{path}` exports no `{name}`; `nm -D` lists its exports")]
    NotInLibrary {
        /// Path of the library.
        path: String,
        /// Name of the function.
        name: String,
    },
    /// The file does not exist on this node.
    #[error("there is no file `{path}` on this node")]
    NoFile {
        /// Path of the file.
        path: String,
    },
    /// The number of the action is in use, or unknown.
    #[error("action {action} is {what}")]
    Action {
        /// Number of the action.
        action: u64,
        /// Problem with the action.
        what: &'static str,
    },
}
