//! `sintonia doctor`: says what this machine offers, what is missing, what that costs and what to do.
//!
//! Each check looks at one thing and judges it in a pure function of the text it found, so that judgments are tested on
//! any machine.
//!
//! # Not here
//! Whether a given program can be watched: `sintonia run` says it.

mod commands;
mod dynamic;
mod limits;
mod mpi;
pub mod netbench;
mod privileges;
mod processor;
mod slurm;
mod tools;

use anyhow::Context;
use clap::Args;
pub use dynamic::rank;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia doctor
  sintonia doctor --quick                                 what can be seen without starting a job
  sintonia doctor -- /opt/openmpi-5/bin/mpirun --host a:2,b:2";

/// Check what this machine offers, what is missing, and what that costs
///
/// Checks MPI libraries, the clock, permissions, limits, Slurm and tools; changes nothing. With each MPI launcher, a
/// tiny job tries to start, join and release processes while a program runs; a job that hangs is ended.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Start no jobs
    #[arg(long, conflicts_with = "launcher")]
    quick: bool,
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
    /// Try jobs with this launcher and its options only, instead of all in `PATH`
    #[arg(last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Examines this machine and prints what was found.
///
/// # Errors
/// If a launcher cannot be tried, or the result cannot be printed.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let checks = examine();
    let tried = try_launchers(options)?;
    let text = if options.json {
        let tried = tried.iter().map(|tried| tried.json(one_json(&tried.check())));
        format!("{:#}\n", checks.iter().map(one_json).chain(tried).collect::<Value>())
    } else {
        let style = Style { color: terminal.stdout_style().color };
        let all: Vec<Check> =
            checks.into_iter().chain(tried.iter().map(dynamic::LauncherReport::check)).collect();
        let details = tried.iter().map(|tried| tried.render(style));
        render(&all, style) + &details.collect::<String>()
    };
    user_io::print::result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Tries the launcher that is named, or all that are in `PATH`.
fn try_launchers(options: &Options) -> anyhow::Result<Vec<dynamic::LauncherReport>> {
    let Some((launcher, words)) = options.launcher.split_first() else {
        let launchers = if options.quick { Vec::new() } else { mpi::launchers() };
        return launchers.into_iter().map(|launcher| dynamic::attempt(launcher, &[])).collect();
    };
    let path = Path::new(launcher);
    let path = if path.components().count() == 1 {
        commands::find(&launcher.to_string_lossy()).context("no such launcher in PATH")?
    } else {
        path.to_owned()
    };
    let launcher = mpi::Launcher::at(&path)
        .with_context(|| format!("`{}` is not a launcher of Open MPI or MPICH", path.display()))?;
    Ok(vec![dynamic::attempt(launcher, words)?])
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Everything wanted is there.
    Ok,
    /// There, but not all of it works.
    Limited,
    /// Not there.
    Missing,
}

/// Check of one thing on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) found: String,
    pub(crate) state: State,
    /// What does not work, or works less well; empty when all is well.
    pub(crate) costs: String,
    /// What to do about it; empty when all is well.
    pub(crate) remedy: String,
}

impl Check {
    pub(crate) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        let (costs, remedy) = (String::new(), String::new());
        Self { name, found: found.into(), state: State::Ok, costs, remedy }
    }

    pub(crate) fn limited(
        name: &'static str,
        found: impl Into<String>,
        [costs, remedy]: Advice,
    ) -> Self {
        Self { state: State::Limited, ..Self::missing(name, found, [costs, remedy]) }
    }

    pub(crate) fn missing(
        name: &'static str,
        found: impl Into<String>,
        [costs, remedy]: Advice,
    ) -> Self {
        let found = found.into();
        Self { name, found, state: State::Missing, costs: costs.into(), remedy: remedy.into() }
    }
}

/// Costs and remedy of a check, in this order.
pub(crate) type Advice<'a> = [&'a str; 2];

/// Runs all checks.
pub(crate) fn examine() -> Vec<Check> {
    let mut checks = vec![tools::probe()];
    checks.extend(mpi::libraries());
    checks.extend(processor::checks());
    checks.extend(privileges::checks());
    checks.extend(limits::checks());
    checks.extend(slurm::checks());
    checks.extend(dynamic::leftovers::check());
    checks.extend(tools::checks());
    checks
}

/// Renders the checks for people: a line for each, and below it what is amiss.
pub(crate) fn render(checks: &[Check], style: Style) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let block = |check: &Check| {
        let state = style.paint(check.state);
        let mut text = format!("{state}  {:width$}  {}\n", check.name, check.found);
        if !check.costs.is_empty() {
            text += &format!("         {:width$}  {}\n", "", check.costs);
        }
        if !check.remedy.is_empty() {
            text += &format!("         {:width$}  -> {}\n", "", check.remedy);
        }
        text
    };
    let amiss = checks.iter().filter(|check| check.state != State::Ok).count();
    let last = match amiss {
        0 => "all is there".to_owned(),
        1 => "1 thing is missing or limited; the rest works without it".to_owned(),
        n => format!("{n} things are missing or limited; the rest works without them"),
    };
    checks.iter().map(block).collect::<String>() + &format!("\n{last}\n")
}

/// One check as JSON.
fn one_json(check: &Check) -> Value {
    json!({
        "name": check.name, "found": check.found, "state": word(check.state),
        "costs": check.costs, "remedy": check.remedy,
    })
}

/// Whether output is colored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) color: bool,
}

impl Style {
    fn paint(self, state: State) -> String {
        self.colored(state, word(state))
    }

    fn colored(self, state: State, word: &str) -> String {
        let code = match state {
            State::Ok => 32,
            State::Limited => 33,
            State::Missing => 31,
        };
        if self.color { format!("\x1b[{code}m{word:7}\x1b[0m") } else { format!("{word:7}") }
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_amiss_is_followed_by_its_cost_and_remedy() {
        let checks =
            [Check::ok("clock", "invariant"), Check::missing("slurm", "no `srun`", ["a", "b"])];
        let expected = "\
ok       clock  invariant
missing  slurm  no `srun`
                a
                -> b

1 thing is missing or limited; the rest works without it
";
        assert_eq!(render(&checks, Style { color: false }), expected);
        assert_eq!(one_json(&checks[1])["state"], "missing");
    }

    #[test]
    fn examining_this_machine_names_every_thing_once() {
        let checks = examine();
        for name in ["probe", "clock", "shared memory", "attach", "slurm"] {
            assert_eq!(checks.iter().filter(|check| check.name == name).count(), 1, "{name}");
        }
        for check in checks.iter().filter(|check| check.state != State::Ok) {
            assert!(!check.costs.is_empty() && !check.remedy.is_empty(), "{check:?}");
        }
    }
}
