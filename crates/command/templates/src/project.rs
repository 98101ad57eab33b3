//! Projects that are made for the user: their names and files.

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use user_io::exit::NotWritten;

/// Most bytes of a name.
const N_BYTES_MAX: usize = 40;

/// Names that `cargo`, `make` or a compiler reserve.
const RESERVED: &str = "
    abstract all alloc as async await become box break build check clean const continue core
    crate deps do dyn else enum examples extern false final fn for gen if impl in incremental
    let loop macro main makefile master-worker match mod move mut pub ref return self src static std
    struct super test trait true try type unsafe use where while yield";

/// Languages of projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// C, built by `make`
    C,
    /// Rust, built by `cargo`
    Rust,
}

/// Options for a project.
#[derive(Args, Debug)]
pub(crate) struct ProjectOptions {
    /// Name of the project, and of its program or tunlet: lower-case letters, digits, `-` and `_`
    pub(crate) name: String,
    /// Language of the project
    #[arg(long, value_enum)]
    pub(crate) lang: Language,
    /// Folder to make; by default the name
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ProjectOptions {
    /// Folder of the project.
    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| PathBuf::from(&self.name))
    }
}

/// File of a project: its path inside the project, and its text.
pub(crate) type File = (String, String);

/// Makes the folder and writes the files.
pub(crate) fn write(dir: &Path, files: &[File]) -> anyhow::Result<()> {
    if dir.symlink_metadata().is_ok() {
        bail!("`{}` is there already; name another folder with `--dir`", dir.display());
    }
    for (path, text) in files {
        let path = dir.join(path);
        let parent = path.parent().expect("it is inside the folder");
        let outcome = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        outcome.with_context(|| format!("`{}`", path.display())).context(NotWritten)?;
    }
    Ok(())
}

/// Checks that `what`, such as a tunlet, may have this name.
pub(crate) fn check_name(name: &str, what: &str) -> anyhow::Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let is_plain =
        |byte: u8| is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if !name.bytes().next().is_some_and(is_letter) || !name.bytes().all(is_plain) {
        bail!(
            "`{name}` cannot be the name of a {what}; begin with a lower-case letter and go on with \
             lower-case letters, digits, `-` and `_`"
        );
    }
    if N_BYTES_MAX < name.len() {
        bail!(
            "`{name}` is too long for the name of a {what}; use {N_BYTES_MAX} characters at most"
        );
    }
    if RESERVED.split_whitespace().any(|word| word == name) {
        bail!(
            "`{name}` is a word of the language or of its tools; choose another name for the {what}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(name: &str, expected: bool) {
        assert_eq!(super::check_name(name, "tunlet").is_ok(), expected, "{name}");
    }

    #[test]
    fn a_name_can_be_typed_everywhere() {
        check("a", true);
        check("my-tunlet_2", true);
        check(&"a".repeat(40), true);
        check(&"a".repeat(41), false);
        for name in ["", "2nd", "-a", "My", "a b", "../a", "größe", "loop", "test", "build"] {
            check(name, false);
        }
        check("master-worker", false);
    }
}
