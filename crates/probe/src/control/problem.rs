//! Why an order cannot be carried out, in sentences that reach the one who gave it.

use events::{Value, ValueType};
use thiserror::Error;

/// Why an order is refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub(crate) enum OrderError {
    /// The file is not mapped here.
    #[error("`{module}` is not loaded in this process")]
    NotLoaded {
        /// Its name.
        module: String,
    },
    /// The file that is mapped here has another build-id.
    #[error(
        "{module} on this node is another build than the one that was looked at; use the same file on all nodes"
    )]
    OtherBuild {
        /// Its name in backquotes, or `the program`.
        module: String,
    },
    /// An address is not where it should be.
    #[error("address `{address:#x}` is not in the {part} of its file")]
    Outside {
        /// The address in the file.
        address: u64,
        /// `code` or `data`.
        part: &'static str,
    },
    /// The order speaks of a file that it does not list.
    #[error(
        "the order speaks of file {module} but lists fewer; use one version of Sintonia everywhere"
    )]
    NoModule {
        /// Its position.
        module: u32,
    },
    /// The variable cannot be written.
    #[error("the variable at `{address:#x}` is in read-only memory; it is a constant")]
    ReadOnly {
        /// Where, in this process.
        address: usize,
    },
    /// A store of its size would not be whole.
    #[error(
        "the variable at `{address:#x}` is not aligned to its {n_bytes} bytes; it cannot be set at once"
    )]
    Unaligned {
        /// Where, in this process.
        address: usize,
        /// Its size.
        n_bytes: usize,
    },
    /// The type cannot hold the value.
    #[error("`{value}` does not fit the type `{}`", kind.name())]
    DoesNotFit {
        /// The value.
        value: Value,
        /// The type.
        kind: ValueType,
    },
    /// There is no such site, or nothing counts there.
    #[error("its sync point has no probes here, or none that count; see the warnings about it")]
    NoSyncPoint,
    /// The function has no probes.
    #[error("the function has no probes here; see the warnings about it")]
    NoSite,
    /// More arguments than registers.
    #[error(
        "a function called for tuning takes at most six integers and eight floating-point numbers"
    )]
    TooManyArguments,
    /// Nothing exports the symbol.
    #[error("no loaded library exports `{name}`; load the library that does first")]
    NotExported {
        /// The symbol.
        name: String,
    },
    /// The library cannot be loaded.
    #[error("`{path}` cannot be loaded here; is it a library for this machine, with all it needs?")]
    NoLibrary {
        /// Its path.
        path: String,
    },
    /// The library does not have the function.
    #[error("`{path}` exports no `{name}`; `nm -D` lists what it does")]
    NotInLibrary {
        /// Its path.
        path: String,
        /// The function.
        name: String,
    },
    /// The library is not on this node.
    #[error("there is no file `{path}` on this node")]
    NoFile {
        /// Its path.
        path: String,
    },
    /// The number of the action is in use, or not known.
    #[error("action {action} is {what}")]
    Action {
        /// Its number.
        action: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}
