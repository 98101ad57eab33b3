//! The program `sintonia`: the list of its subcommands.
//!
//! A subcommand is a file with `Options` and `run`, here, or in a crate of this house if it does work of its own; it is
//! listed below.
//!
//! # Invariants
//! - `sintonia run` ends as the command it ran ended, whether or not watching it worked.
//! - The program's standard output remains its own; `sintonia` writes to standard error, except for what was asked for
//!   with `--json`.
//!
//! # Not here
//! Printing, files and exit codes (`user-io`); analysis (`assemble`, `models`), pictures of runs (`report`), the library in the
//! ranks (`probe`).

#[macro_use]
extern crate user_io;

mod exit;
mod export;
mod functions;
#[cfg(feature = "full")]
mod messages;
#[cfg(feature = "full")]
mod simulate;
mod tunlet_host;
mod tunlets;

use clap::Parser;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use user_io::exit::Internal;
use user_io::terminal::{Color, Terminal};
use watch::limits;

/// Makes [`Subcommand`] of a list of names and modules, and of the feature that a build needs for it, if any. A module has
/// `Options` and `run`.
macro_rules! subcommands {
    ($($(#[$attribute:meta])* $name:ident => $($module:ident)::+ $(if $feature:literal)?,)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Subcommand {
            $($(#[cfg(feature = $feature)])? $(#[$attribute])* $name(Box<$($module)::+::Options>),)*
        }

        impl Subcommand {
            fn run(&self, terminal: Terminal) -> anyhow::Result<ExitCode> {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(options) => $($module)::+::run(options, terminal),
                    )*
                }
            }
        }
    };
}

subcommands! {
    Run => watch::run,
    Attach => watch::attach,
    Report => watch::report,
    Tune => watch::tune,
    Learnt => watch::learnt,
    Export => export,
    Doctor => doctor if "full",
    Functions => functions,
    Suggest => suggest if "full",
    Graph => prediction::graph if "full",
    Messages => messages if "full",
    Experiment => campaign if "full",
    Netbench => doctor::netbench if "full",
    Tunlets => tunlets,
    New => templates::new if "full",
    NewTunlet => templates::new_tunlet if "full",
    Fit => prediction::fit if "full",
    Predict => prediction::predict if "full",
    Validate => prediction::validate if "full",
    Simulate => simulate if "full",
    Malleable => resize_client::malleable if "full",
    Resize => resize_client::resize if "full",
    SlurmPolicy => resize_client::slurm_policy if "full",
    Node => task_client::node if "full",
    Submit => task_client::submit if "full",
    SubmitFile => task_client::submit_file if "full",
    Nodes => task_client::nodes if "full",
    Tasks => task_client::tasks if "full",
    Cancel => task_client::cancel if "full",
    Jobs => task_client::jobs if "full",
    Hold => task_client::hold if "full",
    Release => task_client::hold::release if "full",
    Rerun => task_client::rerun if "full",
    Explain => task_client::explain if "full",
    #[command(hide = true)]
    ExperimentRun => campaign::run_command if "full",
    #[command(hide = true)]
    TunletHost => tunlet_host,
    #[command(hide = true)]
    Enter => watch::attach::entrance,
    #[command(hide = true)]
    DoctorRank => doctor::rank if "full",
    #[command(hide = true)]
    NetbenchRank => doctor::netbench::rank if "full",
    #[command(hide = true)]
    Collector => watch::collector,
}

/// Watches MPI programs while they run and shows where their time goes.
#[derive(Debug, Parser)]
#[command(name = "sintonia", version, after_help = after_help(), max_term_width = 100)]
struct Arguments {
    /// When to color the output; `NO_COLOR` is respected.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    subcommand: Subcommand,
}

/// Text below the list of subcommands.
fn after_help() -> String {
    let shorter = "This is the build of `make demo`, without models, tasks and resizes; `make install` builds all.\n\n";
    [if cfg!(feature = "full") { "" } else { shorter }, user_io::exit::HELP].concat()
}

/// Restores the name of a process that was started through `/proc/self/exe`, as daemons and their children are, since
/// the program's file may have been replaced; `ps` and `top` would show `exe`.
fn name_process() {
    let name = std::fs::read_to_string("/proc/self/comm");
    if name.is_ok_and(|name| name.trim_end() == "exe") {
        // On failure the process only keeps the other name.
        rustix::thread::set_name(c"sintonia").ok();
    }
}

fn main() -> ExitCode {
    name_process();
    limits::survive_signals();
    limits::with_stack(|| {
        catch_panics(|| match read_arguments() {
            Ok(arguments) => carry_out(&arguments),
            Err(code) => code,
        })
    })
}

fn carry_out(arguments: &Arguments) -> ExitCode {
    let outcome = arguments.subcommand.run(Terminal::new(arguments.color));
    outcome.unwrap_or_else(|error| {
        eprintln!("sintonia: {error:#}");
        exit::code_of(&error)
    })
}

/// Does the work; after a panic in this thread the exit code is [`Internal`], instead of 101, which here means "there is
/// no such record".
fn catch_panics(work: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        if run_record::is_panic_caught() {
            return;
        }
        eprintln!("{}", sentence(panic));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            eprintln!("{trace}");
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Internal.into())
}

fn sentence(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("no reason is given");
    let at =
        panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    format!("sintonia: internal error{at}: {what}; please report it with your command")
}

/// Parses the arguments of the process. Prints help, version and errors itself; an error gives the exit code.
fn read_arguments<A: Parser>() -> Result<A, ExitCode> {
    let error = match A::try_parse() {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    if !error.use_stderr() {
        // Help and version repeat no argument, so nothing needs escaping; clap colors and pages them.
        error.exit();
    }
    let exit_code = error.exit_code();
    let message = escaped::<A>(error, std::env::args_os()).render();
    let is_colored = Terminal::new(Color::Auto).style().color;
    if is_colored {
        eprint!("{}", message.ansi());
    } else {
        eprint!("{message}");
    }
    Err(ExitCode::from(u8::try_from(exit_code).unwrap_or(1)))
}

/// Makes the error again from arguments with control characters escaped, so that each stays in its line.
fn escaped<A: Parser>(
    error: clap::Error,
    arguments: impl Iterator<Item = OsString>,
) -> clap::Error {
    let visible = |argument: OsString| match argument.to_str() {
        Some(text) => OsString::from(user_io::print::escape_line(text).as_ref()),
        None => argument,
    };
    A::try_parse_from(arguments.map(visible)).err().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Options of a hidden subcommand clashed, which only its first use showed.
    #[test]
    fn options_of_all_subcommands_fit_together() {
        Arguments::command().debug_assert();
    }

    /// A panic ended with the exit code for a missing record.
    #[test]
    fn a_mistake_has_its_own_exit_code() {
        let code = catch_panics(|| panic!("on purpose"));
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(110)));
    }

    /// A newline in an argument started a message of its own, and an escape sequence reached the terminal.
    #[test]
    fn a_wrong_argument_stays_in_its_line() {
        let words = ["sintonia", "fit", "x", "--rate=1\nsintonia: all is well\u{1b}[2J"];
        let error = Arguments::try_parse_from(words).unwrap_err();
        let said =
            escaped::<Arguments>(error, words.into_iter().map(OsString::from)).render().to_string();
        assert!(said.contains("1\\nsintonia: all is well\\u001b[2J"), "{said}");
        assert!(!said.contains("\nsintonia:"), "{said}");
    }
}
