//! The program `sintonia`: the only part of the suite that reads arguments, prints and exits.
//!
//! # Invariants
//! - `sintonia run` ends as the command it ran ended, whether or not watching it worked.
//! - The program's standard output remains its own; `sintonia` writes to standard error, except for what was asked for
//!   with `--json`.
//!
//! # Not here
//! Analysis (`assemble`, `models`), pictures of runs (`report`), the library in the ranks (`probe`).

// First, because its macros replace the standard ones in all modules below.
#[macro_use]
mod print;

mod arguments;
mod attach;
mod cancel;
mod chart;
mod collector;
mod commands;
mod control;
mod doctor;
mod exit;
mod experiment;
mod explain;
mod export;
mod files;
mod fit;
mod functions;
mod graph;
mod limits;
mod malleable;
mod messages;
mod netbench;
mod new;
mod new_tunlet;
mod node;
mod nodes;
mod panics;
mod predict;
mod project;
mod report;
mod resize;
mod result_file;
mod run;
mod simulate;
mod slurm_policy;
mod submit;
mod tasks;
mod terminal;
mod tunlet_host;
mod tunlets;
mod validate;
mod values;
mod watch;

use arguments::{Arguments, Subcommand};
use std::process::ExitCode;

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
            Ok(arguments) => carry_out(arguments),
            Err(code) => code,
        })
    })
}

fn carry_out(arguments: Arguments) -> ExitCode {
    let terminal = terminal::Terminal::new(arguments.color);
    let outcome = match arguments.subcommand {
        Subcommand::Run(options) => Ok(run::run(&options, terminal)),
        Subcommand::Attach(options) => attach::attach(&options, terminal),
        Subcommand::Report(options) => report::report(&options, terminal),
        Subcommand::Export(options) => export::export(&options),
        Subcommand::Doctor(options) => doctor::doctor(&options, terminal),
        Subcommand::Functions(options) => functions::functions(&options),
        Subcommand::Graph(options) => graph::graph(&options),
        Subcommand::Messages(options) => messages::messages(&options),
        Subcommand::Experiment(options) => experiment::experiment(&options),
        Subcommand::Netbench(options) => netbench::netbench(&options),
        Subcommand::Tunlets(options) => tunlets::tunlets(&options),
        Subcommand::New(options) => new::make(&options),
        Subcommand::NewTunlet(options) => new_tunlet::make(&options),
        Subcommand::Fit(options) => fit::fit(&options, terminal),
        Subcommand::Predict(options) => predict::predict(&options, terminal),
        Subcommand::Validate(options) => validate::validate(&options, terminal),
        Subcommand::Simulate(options) => simulate::simulate(&options),
        Subcommand::Malleable(options) => malleable::malleable(&options),
        Subcommand::Resize(options) => resize::resize(&options),
        Subcommand::SlurmPolicy(options) => slurm_policy::slurm_policy(&options),
        Subcommand::Node(options) => node::node(*options),
        Subcommand::Submit(options) => submit::submit(&options),
        Subcommand::Nodes(options) => nodes::nodes(&options, terminal),
        Subcommand::Tasks(options) => tasks::tasks(&options, terminal),
        Subcommand::Cancel(options) => cancel::cancel(&options),
        Subcommand::Explain(options) => explain::explain(&options, terminal),
        Subcommand::ExperimentRun(options) => Ok(experiment::be_run(&options, terminal)),
        Subcommand::TunletHost(options) => tunlet_host::serve(&options),
        Subcommand::Enter(options) => attach::entrance::serve(&options),
        Subcommand::DoctorRank(options) => doctor::dynamic::rank::be_rank(&options),
        Subcommand::NetbenchRank(options) => netbench::be_rank(&options),
        Subcommand::Collector(options) => Ok(collector::collect(&options)),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("sintonia: {error:#}");
        exit::code_of(&error)
    })
}
