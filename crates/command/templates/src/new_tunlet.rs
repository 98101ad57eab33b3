//! `sintonia new-tunlet`: makes a project with a tunlet that builds and whose test runs.
//!
//! Projects are copies of `examples/tunlets/` of this repository with another name, and contain the interface: this
//! program alone is enough to write a tunlet.

mod template;

use crate::project::{self, Language};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia new-tunlet my-tunlet --lang c && make -C my-tunlet test
  sintonia new-tunlet my-tunlet --lang rust --dir tunlets/mine";

/// Make a project with a tunlet of your own
///
/// The project builds a shared library for `sintonia run --tunlet LIB.so`, has a test that needs no MPI program, and
/// needs only a compiler.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Name of the tunlet: lower-case letters, digits, `-` and `_`
    name: String,
    /// Language of the project
    #[arg(long, value_enum)]
    lang: Language,
    /// Folder to make; by default the name
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Makes the project and says how to go on.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    project::check_name(&options.name, "tunlet")?;
    let dir = project::folder(&options.name, options.dir.as_deref());
    let (template, test) = match options.lang {
        Language::C => (template::C, "make test"),
        Language::Rust => (template::RUST, "cargo test"),
    };
    project::write(&dir, &template.files(&options.name))?;
    user_io::print::result(&format!("made `{0}`; try it: cd {0} && {test}\n", dir.display()))?;
    Ok(ExitCode::SUCCESS)
}
