//! `sintonia messages`: generates code that sends the structs of a C header.
//!
//! # Not here
//! Reading headers, and the generated code: `c-structs`.

use anyhow::{Context, ensure};
use c_structs::{Header, HeaderProblem};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::bounded_read;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia messages tasks.h                      writes tasks_messages.h beside it
  sintonia messages tasks.h --out build/         writes build/tasks_messages.h
  sintonia messages tasks.h --json

What pointers lead to is told in a comment behind them, by integers of the same struct and constants:
  struct grid { int n_rows, n_columns; double *heat; /* [n_rows][n_columns] */ };

What is written needs no library. For each struct `x` it has:
  mw_pack_size_x, mw_pack_x      a struct as bytes
  mw_unpack_x, mw_free_x         bytes as a struct; 0 when there are too few
  mw_datatype_x                  its MPI datatype, when `mpi.h` is included before";

/// Generate the code that sends the structs of a C header
///
/// Understands numbers, `bool`, `char` arrays, arrays with constant sizes, enums, structs within structs, and pointers
/// with a comment that says how many elements they point to. What cannot be sent is reported with its line and what to
/// write instead; then nothing is written.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Header to read
    #[arg(value_name = "HEADER.h")]
    header: PathBuf,
    /// File or folder for the code; by default HEADER_messages.h beside the header
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Print what was understood and what cannot be sent as JSON, and write nothing
    #[arg(long)]
    json: bool,
}

/// Reads the header and writes the code.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let path = &options.header;
    let shown = path.display().to_string();
    let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX)
        .with_context(|| format!("`{shown}` cannot be read"))?;
    let (header, problems) = c_structs::read(&text);
    if options.json {
        user_io::print::result(&format!("{:#}\n", json(&shown, &header, &problems)))?;
    }
    problems.iter().for_each(|problem| eprintln!("{}", problem.render(&shown, &text)));
    let found = display::units::plural(problems.len(), "problem");
    ensure!(problems.is_empty(), "{found} in `{shown}`; nothing is written");
    for remark in header.remarks() {
        eprintln!("sintonia: `{shown}`: {remark}");
    }
    if !options.json {
        let to = place(path, options.out.as_deref());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        user_io::result_file::write(&to, &c_structs::messages(&header, &name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Path of the generated code.
fn place(header: &Path, out: Option<&Path>) -> PathBuf {
    let stem = header.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}_messages.h");
    match out {
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(file) => file.to_owned(),
        None => header.with_file_name(name),
    }
}

fn json(header_name: &str, header: &Header, problems: &[HeaderProblem]) -> Value {
    let problem = |problem: &HeaderProblem| {
        json!({
            "line": problem.line,
            "column": problem.column,
            "problem": problem.kind.to_string(),
            "remedy": problem.kind.remedy(),
        })
    };
    json!({
        "header": header_name,
        "structs": header.structs,
        "remarks": header.remarks(),
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
