//! Runs the programs that time calls of functions, and reads their figures.

use crate::build_paths::{BuildPaths, in_path, make_folder};
use crate::error::BenchError;
use crate::figures::{Figure, figures_in};
use crate::sample;
use crate::statistics::median;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Case of a call without any probe, in each of the programs.
const PLAIN: &str = "plain";

/// Program that prints figures.
struct Child {
    name: &'static str,
    words: Vec<OsString>,
}

/// FunctionFigures of a case in a turn.
#[derive(Clone, Copy, Debug)]
struct Measured {
    figure: [f64; 2],
    /// Time of a plain call in the same run of the same program, in ns.
    plain_ns: f64,
}

/// FunctionFigures of each case, turn by turn.
#[derive(Debug, Default)]
pub(crate) struct FunctionFigures {
    measured: BTreeMap<String, Vec<Measured>>,
    reasons: BTreeSet<String>,
}

impl FunctionFigures {
    /// Runs all programs one after another, `n_turns` times.
    pub(crate) fn take(paths: &BuildPaths, n_turns: usize) -> Result<Self, BenchError> {
        let own = Child { name: "price", words: vec![paths.price()?.into_os_string()] };
        let mut figures = Self::default();
        let peers = figures.peers(paths)?;
        for _ in 0..n_turns {
            figures.add(&own, &sample::output_of(own.command())?);
            for peer in &peers {
                match sample::output_of(peer.command()) {
                    Ok(output) => figures.add(peer, &output),
                    // A peer that does not run here is left out instead of stopping all.
                    Err(error) => figures.miss(peer, &error.to_string()),
                }
            }
        }
        Ok(figures)
    }

    fn peers(&mut self, paths: &BuildPaths) -> Result<Vec<Child>, BenchError> {
        let compiled = compile(paths, "compiled.c", &["-finstrument-functions"])?;
        let probed = compile(paths, "peers.c", &[])?;
        let compiled = [compiled.into_os_string(), "31".into(), "20000".into()];
        let uprobe = ["uprobe", "15", "2000"].map(OsString::from);
        let mut peers = vec![
            Child { name: "-finstrument-functions", words: compiled.to_vec() },
            Child {
                name: "uprobe",
                words: [vec![probed.clone().into_os_string()], uprobe.to_vec()].concat(),
            },
        ];
        match in_path("gdb") {
            Some(gdb) => peers.push(Child { name: "gdb", words: under_gdb(gdb, probed) }),
            None => drop(self.reasons.insert("gdb is not installed".to_owned())),
        }
        Ok(peers)
    }

    fn add(&mut self, child: &Child, output: &str) {
        self.reasons
            .extend(output.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned));
        let figures = figures_in(output);
        let Some(plain) = figures.iter().find(|figure| figure.case == PLAIN) else {
            return self.miss(child, &sample::last_lines(output));
        };
        for Figure { case, ns } in &figures {
            // The plain call in the table is the one measured beside our own cases.
            if case == PLAIN && child.name != "price" {
                continue;
            }
            let measured = Measured { figure: *ns, plain_ns: plain.ns[0] };
            self.measured.entry(case.clone()).or_default().push(measured);
        }
    }

    fn miss(&mut self, child: &Child, reason: &str) {
        let reason = reason.lines().last().unwrap_or("it printed nothing");
        self.reasons.insert(format!("{}: {reason}", child.name));
    }

    /// Reasons why something is not measured.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &str> {
        self.reasons.iter().map(String::as_str)
    }

    /// Names of all cases that were measured.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &str> {
        self.measured.keys().map(String::as_str)
    }

    /// First figure of a case in all turns, in ns.
    pub(crate) fn all_ns(&self, case: &str) -> Vec<f64> {
        self.turns(case).iter().map(|turn| turn.figure[0]).collect()
    }

    /// Median of the first figure of a case, in ns.
    pub(crate) fn ns(&self, case: &str) -> Option<f64> {
        self.middle(case, |turn| turn.figure[0])
    }

    /// Median of the second figure, in ns.
    pub(crate) fn second_ns(&self, case: &str) -> Option<f64> {
        self.middle(case, |turn| turn.figure[1])
    }

    /// Time that a case adds to a plain call, in ns: the median of the differences within a run.
    pub(crate) fn added_ns(&self, case: &str) -> Option<f64> {
        self.middle(case, Measured::added_ns)
    }

    /// Ratio of what two cases add: the median of the ratios within a turn.
    pub(crate) fn ratio(&self, case: &str, to: &str) -> Option<f64> {
        let pairs = self.turns(case).iter().zip(self.turns(to));
        let ratios: Vec<_> = pairs.map(|(case, to)| case.added_ns() / to.added_ns()).collect();
        (!ratios.is_empty()).then(|| median(ratios))
    }

    fn middle(&self, case: &str, of: impl Fn(&Measured) -> f64) -> Option<f64> {
        let figures = self.turns(case);
        (!figures.is_empty()).then(|| median(figures.iter().map(of)))
    }

    fn turns(&self, case: &str) -> &[Measured] {
        self.measured.get(case).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Measured {
    fn added_ns(&self) -> f64 {
        self.figure[0] - self.plain_ns
    }
}

impl Child {
    fn command(&self) -> Command {
        let mut command = Command::new(self.words.first().cloned().unwrap_or_default());
        command.args(self.words.iter().skip(1)).env_remove("DEBUGINFOD_URLS");
        command
    }
}

fn compile(paths: &BuildPaths, source: &str, options: &[&str]) -> Result<PathBuf, BenchError> {
    let folder = paths.results.join("functions");
    make_folder(&folder)?;
    let program = folder.join(source.trim_end_matches(".c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra"]).args(options);
    compiler.arg("-o").arg(&program).arg(paths.source(source));
    sample::output_of(compiler)?;
    Ok(program)
}

/// Command of a program under `gdb`, with a breakpoint that stops and goes on.
fn under_gdb(gdb: PathBuf, program: PathBuf) -> Vec<OsString> {
    let mut words = vec![gdb.into_os_string(), "--batch".into(), "-nx".into()];
    for order in ["set startup-with-shell off", "break *small_stopped", "ignore 1 1000000", "run"] {
        words.extend(["-ex".into(), order.into()]);
    }
    words.extend(["--args".into(), program.into_os_string()]);
    words.extend(["gdb", "5", "100"].map(OsString::from));
    words
}
