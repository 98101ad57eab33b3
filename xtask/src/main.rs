//! `cargo xtask tidy`: holds the tree against its own rules.
//!
//! Exit codes: 0 tidy, 1 problems found, 2 wrong usage or the tree cannot be read.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of the command line")]

use std::{error::Error, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["tidy"] {
        eprintln!("usage: cargo xtask tidy");
        return ExitCode::from(2);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match xtask::tidy(&root) {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            for problem in problems {
                println!("{problem}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {}", with_causes(&error));
            ExitCode::from(2)
        }
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        sentence = format!("{sentence}: {error}");
        cause = error.source();
    }
    sentence
}
