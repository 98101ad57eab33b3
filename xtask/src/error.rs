//! Error of reading the tree.

use std::{io, path::PathBuf};

use crate::arrows;

/// Error of reading the tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TidyError {
    /// `git` is not installed.
    #[error("`git` could not be started: install it")]
    NoGit {
        /// Error of the system.
        source: io::Error,
    },
    /// `git` does not know the folder.
    #[error("`{}` is no checkout: run this in a clone (git: {words})", root.display())]
    NoRepository {
        /// Folder.
        root: PathBuf,
        /// Message of `git`.
        words: String,
    },
    /// A listed file cannot be read.
    #[error("`{path}` could not be read: check its permissions")]
    Unreadable {
        /// Path from the root of the repository.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file of dependency rules is missing.
    #[error("`{}` is missing: it says which crate may depend on which", arrows::FILE)]
    NoArrows,
    /// A TOML file has the wrong shape.
    #[error("`{path}` cannot be understood: mend it where the cause says")]
    BadToml {
        /// Path from the root of the repository.
        path: String,
        /// Place and cause.
        source: Box<toml::de::Error>,
    },
}
