//! Runs the program, from its arguments to its exit code.

use crate::generate::Generator;
use crate::{Alone, Arguments, Cg, CgError, Report, Source, USAGE, market};
use malleable::Options;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Exit code of a failed run.
const FAILED: u8 = 1;
/// Exit code for an option or a file that is not valid.
const WRONG: u8 = 2;
/// Exit code when the residual did not become small enough.
const UNSOLVED: u8 = 3;

/// Runs the program: `solve` returns a report on the rank that prints it. Without a launcher a single rank solves the
/// system.
pub fn run(solve: impl FnOnce(&Arguments) -> Result<Option<Report>, CgError>) -> ExitCode {
    let done = Arguments::from_args().and_then(|arguments| {
        if arguments.is_help {
            say_aloud(&format!("{USAGE}\n{}", Options::HELP));
            return Ok(ExitCode::SUCCESS);
        }
        if let (true, Some(Source::Model(model)), Some(path)) =
            (arguments.is_only_written, &arguments.source, &arguments.output)
        {
            let generator = Generator::new(*model, arguments.seed);
            market::write(path, &generator).map_err(CgError::write(path))?;
            return Ok(ExitCode::SUCCESS);
        }
        let report = match solve(&arguments) {
            Err(error) if error.is_alone() => alone(&arguments),
            report => report,
        };
        Ok(report?.map_or(ExitCode::SUCCESS, |report| tell(&report, &arguments)))
    });
    done.unwrap_or_else(|error| complain(&error))
}

fn alone(arguments: &Arguments) -> Result<Option<Report>, CgError> {
    let mut cg = Cg::begin(arguments, &Alone)?;
    while cg.goes_on() {
        cg.step(&Alone)?;
    }
    Report::of(&cg, arguments, &Alone)
}

fn tell(report: &Report, arguments: &Arguments) -> ExitCode {
    let line = match arguments.is_json {
        true => serde_json::to_string(report).expect("a report has finite numbers and text"),
        false => report.to_string(),
    };
    say_aloud(&format!("{line}\n"));
    let is_wished = 0.0 < arguments.settings.tolerance;
    if report.is_solved || !is_wished { ExitCode::SUCCESS } else { UNSOLVED.into() }
}

fn complain(error: &CgError) -> ExitCode {
    if !matches!(error, CgError::Elsewhere { .. }) {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let said = causes.fold(format!("cg: {error}"), |said, cause| format!("{said}: {cause}"));
        let _written = writeln!(std::io::stderr(), "{said}");
    }
    match error {
        CgError::Malleable(malleable::Error::Options(_)) => WRONG.into(),
        CgError::Mpi(_) | CgError::Malleable(_) | CgError::NotPositive { .. } => FAILED.into(),
        _ => WRONG.into(),
    }
}

/// Errors are ignored: a user who closed standard output does not want the text.
fn say_aloud(text: &str) {
    let _written = std::io::stdout().write_all(text.as_bytes());
}
