//! `cargo xtask tidy` checks the tree against its own rules; `cargo xtask alignment FILE...` looks in compiled programs
//! and libraries for accesses that must fault.
//!
//! Exit codes: 0 nothing found, 1 problems found, 2 wrong usage or an unreadable file.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of the command line")]

use std::{error::Error, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let problems = match &*arguments {
        [command] if command == "tidy" => tidy(),
        [command, files @ ..] if command == "alignment" && !files.is_empty() => alignment(files),
        _ => Err("usage: cargo xtask tidy | cargo xtask alignment FILE...".to_owned()),
    };
    match problems {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            for problem in problems {
                println!("{problem}");
            }
            ExitCode::FAILURE
        }
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> Result<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let problems = xtask::tidy(&root).map_err(|error| with_causes(&error))?;
    Ok(problems.iter().map(ToString::to_string).collect())
}

fn alignment(files: &[String]) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).map_err(|error| format!("`{file}`: {error}"))?;
        let findings = xtask::alignment::findings(&bytes);
        let findings = findings.map_err(|error| format!("`{file}`: {}", with_causes(&error)))?;
        problems.extend(findings.misaligned.iter().map(|found| format!("{file}: {found}")));
    }
    Ok(problems)
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
