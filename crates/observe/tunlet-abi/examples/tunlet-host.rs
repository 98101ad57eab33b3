//! Equivalent of `sintonia tunlet-host LIB.so`, for the tests of this crate.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The arguments are `tunlet-host` and the library, as in `sintonia`.
    let library = std::env::args_os().nth(2).map(PathBuf::from);
    match library.map(|library| tunlet_abi::child::serve(&library)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
