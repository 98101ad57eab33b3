//! `sintonia tunlet-host`: process in which `sintonia run` loads a tunlet from a shared library.

use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use user_io::terminal::Terminal;

/// Keep the tunlet of a shared library; started by `sintonia run --tunlet LIB.so`
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Library of the tunlet
    library: PathBuf,
}

/// Serves the run that is connected to standard input and output.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    tunlet_abi::child::serve(&options.library)?;
    Ok(ExitCode::SUCCESS)
}
