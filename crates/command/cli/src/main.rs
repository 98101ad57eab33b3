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

mod arguments;
mod exit;
mod export;
mod functions;
#[cfg(feature = "full")]
mod messages;
mod panics;
#[cfg(feature = "full")]
mod simulate;
mod tunlet_host;
mod tunlets;

use clap::Parser;
use std::process::ExitCode;
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
    Export => export,
    Doctor => doctor if "full",
    Functions => functions,
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
    Nodes => task_client::nodes if "full",
    Tasks => task_client::tasks if "full",
    Cancel => task_client::cancel if "full",
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
        panics::catch(|| match arguments::read() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Options of a hidden subcommand clashed, which only its first use showed.
    #[test]
    fn options_of_all_subcommands_fit_together() {
        Arguments::command().debug_assert();
    }
}
