//! `sintonia suggest`: writes a first description of a program from a run of it.
//!
//! ```text
//! evidence     what the record says of the ranks of this program
//! roles        which ranks behave alike                                 -> [actors]
//! iteration    the MPI call that ends an iteration                      -> [iteration]
//! functions    where the time goes, and how often functions are called  -> [[event]]
//! values       variables and members that look like choices             -> [[tuning_point]]
//! pairs        functions that could take each other's place             -> [[tuning_point]] with `replace`
//! page         the text: what holds now, and what may be uncommented
//! ```
//!
//! # Invariants
//! - The text is a valid description of the program, now and with any of its suggestions uncommented: each was checked
//!   as `sintonia run --app` checks it.
//!
//! # Not here
//! What a description may say (`app-description`), and running it (`watch`).

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

mod evidence;
mod functions;
mod iteration;
mod names;
mod page;
mod pairs;
mod roles;
mod values;

use anyhow::ensure;
use clap::Args;
use evidence::Evidence;
use page::Page;
use run_record::{RunRecord, RunState};
use std::path::PathBuf;
use std::process::ExitCode;
use symbols::Program;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia run -- mpirun -n 4 ./program
  sintonia suggest ./program sintonia-runs/program-20260102-030405 -o program.toml
  sintonia run --app program.toml -- mpirun -n 4 ./program

What holds in any case is active: kinds of ranks, the iteration, and functions that are
called seldom enough. The rest are suggestions with their reasons: remove the `#` before
lines without a space after it. A run with `--probe PATTERN` tells how often functions are
called; compile with `-g` for arguments and members.";

/// Write a first description of a program, APP.toml, from a run of it
///
/// Tells which ranks behave alike, what an iteration is, which functions are worth measuring, and which variables,
/// members of arguments and functions may be worth changing, each with the reason. Nothing is started.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Program that was run
    program: PathBuf,
    /// Folder of the record of the run
    run: PathBuf,
    /// Write the description to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes a description.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let program = Program::open(&options.program)?;
    let record = RunRecord::open(&options.run)?;
    let shown = options.run.display();
    ensure!(
        record.state() == RunState::Finished,
        "the record in `{shown}` is unfinished; finish it with `sintonia report {shown}`"
    );
    let evidence = Evidence::of(&record.read_summary()?, &record.read_regions()?, &program)?;
    let text = describe(&evidence, &program, &shown.to_string());
    let Some(output) = &options.output else { return user_io::print::result(&text) };
    user_io::result_file::write(output, &text)?;
    user_io::print::warn(&format!(
        "wrote `{0}`; use it with `sintonia run --app {0}`, and uncomment what you want to change",
        output.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Returns the description as text.
fn describe(evidence: &Evidence, program: &Program, run: &str) -> String {
    let roles = roles::find(&evidence.sites_of_ranks());
    let iteration = iteration::find(evidence);
    let found = functions::find(evidence, program);
    let mut page = Page::new(program, evidence, run, &roles);
    page.add_iteration(&iteration);
    let sync = functions::add(&mut page, evidence, &found, &roles);
    values::add(&mut page, program, &found, &roles, &sync);
    pairs::add(&mut page, program, &found, &roles, &sync);
    page.finish(evidence)
}
