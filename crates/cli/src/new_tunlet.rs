//! `sintonia new-tunlet`: a project with a tunlet that builds and whose test runs.
//!
//! The projects are `examples/tunlets/` of this repository under another name, with the interface copied
//! in: whoever has only this program has all that a tunlet needs.

mod name;
mod template;

use crate::exit::NotWritten;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use template::Template;

const EXAMPLES: &str = "\
Examples:
  sintonia new-tunlet my-tunlet --lang c && make -C my-tunlet test
  sintonia new-tunlet my-tunlet --lang rust --dir tunlets/mine";

/// Make a project with a tunlet of your own
///
/// It builds a shared library for `sintonia run --tunlet LIB.so`, has a test that needs no MPI program,
/// and needs a compiler and nothing else.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NewTunletOptions {
    /// Name of the tunlet: lower-case letters, digits, `-` and `_`
    name: String,
    /// Language of the project
    #[arg(long, value_enum)]
    lang: Language,
    /// Folder to make; by default the name
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Languages of projects.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Language {
    /// C, built by `make`.
    C,
    /// Rust, built by `cargo` without any dependency.
    Rust,
}

/// Makes the project and says how to go on.
pub(crate) fn make(options: &NewTunletOptions) -> anyhow::Result<ExitCode> {
    name::check(&options.name)?;
    let dir = options.dir.clone().unwrap_or_else(|| PathBuf::from(&options.name));
    let (template, test) = match options.lang {
        Language::C => (template::C, "make test"),
        Language::Rust => (template::RUST, "cargo test"),
    };
    write(&template, &options.name, &dir)?;
    println!("made `{0}`; try it: cd {0} && {test}", dir.display());
    Ok(ExitCode::SUCCESS)
}

fn write(template: &Template, name: &str, dir: &Path) -> anyhow::Result<()> {
    if dir.symlink_metadata().is_ok() {
        bail!("`{}` is there already; name another folder with `--dir`", dir.display());
    }
    for (path, text) in template.files(name) {
        let path = dir.join(path);
        let parent = path.parent().expect("it is inside the folder");
        let outcome = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        outcome.with_context(|| format!("`{}`", path.display())).context(NotWritten)?;
    }
    Ok(())
}
