//! `sintonia tunlet-host`: the process in which a run keeps a tunlet of a shared library.

use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Keep the tunlet of a shared library; started by `sintonia run --tunlet LIB.so`
#[derive(Args, Debug)]
pub(crate) struct TunletHostOptions {
    /// The library
    library: PathBuf,
}

/// Serves the run at the other ends of standard input and output.
pub(crate) fn serve(options: &TunletHostOptions) -> anyhow::Result<ExitCode> {
    tunlet_abi::child::serve(&options.library)?;
    Ok(ExitCode::SUCCESS)
}
