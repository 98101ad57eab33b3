//! Measures the cost of a probe at a function, beside other tools that do the same.
//!
//! # Not here
//! The timed loops: the example `price` of `instrument`, and `programs/`.

use crate::build_paths::{BuildPaths, in_path, make_folder};
use crate::error::BenchError;
use crate::figures::{Figure, figures_in};
use crate::median;
use crate::table::{self, verdict};
use crate::{Report, sample};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Most time for a change of one site while threads run, in ns.
const INSERTION_NS_MAX: f64 = 1e6;
/// Case that ratios refer to.
const PAIR: &str = "pair";
/// Number of sites of `insert-many`.
const N_MANY: f64 = 5_000.0;

/// Row of the first table.
struct Row {
    who: &'static str,
    what: &'static str,
    case: &'static str,
    /// Most time that it may add, in ns.
    ns_max: Option<f64>,
}

const fn row(who: &'static str, what: &'static str, case: &'static str) -> Row {
    Row { who, what, case, ns_max: None }
}

const fn barred(what: &'static str, case: &'static str, ns_max: f64) -> Row {
    Row { who: "sintonia", what, case, ns_max: Some(ns_max) }
}

const ROWS: [Row; 16] = [
    row("none", "plain call", "plain"),
    row("floor", "two readings of the clock", "floor"),
    barred("switched off", "off", 4.0),
    row("sintonia", "entry", "entry"),
    barred("entry and exit", PAIR, 25.0),
    barred("the same, a variable", "variable", 45.0),
    barred("the same, 2 arguments and a variable", "three", 45.0),
    barred("the same, the returned value", "returned", 45.0),
    row("sintonia", "the same, counted for actions", "counted"),
    row("sintonia", "entry, an action waits", "armed"),
    row("gcc", "-finstrument-functions", "instrumented"),
    row("Linux", "uprobe", "uprobe"),
    row("Linux", "uprobe and uretprobe", "uprobe-pair"),
    row("Linux", "uprobe, stepped", "uprobe-stepped"),
    row("Linux", "uprobe and uretprobe, stepped", "uprobe-stepped-pair"),
    row("gdb", "breakpoint, time on the clock", "gdb"),
];

/// Runs all programs in turns.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let figures = FunctionFigures::take(paths, n_turns)?;
    let mut text =
        "Function probes: nanoseconds per call of a function of 4 instructions\n".to_owned();
    let mut bars_met = add_passages(&mut text, &figures);
    text += "\nFunction probes: microseconds to change the code of a running process\n";
    bars_met &= add_changes(&mut text, &figures);
    for reason in &figures.reasons {
        text += &format!("not measured: {reason}\n");
    }
    Ok(Report { text, json: json(&figures), bars_met })
}

/// Adds the costs of passages; returns whether all bars are met.
fn add_passages(text: &mut String, figures: &FunctionFigures) -> bool {
    let (mut rows, mut all_met) = (Vec::new(), true);
    for row in &ROWS {
        let Some((ns, added_ns)) = figures.ns(row.case).zip(figures.added_ns(row.case)) else {
            continue;
        };
        let ratio = figures.ratio(row.case, PAIR).filter(|_| row.case != "plain");
        let is_met = row.ns_max.map(|ns_max| added_ns <= ns_max);
        all_met &= is_met != Some(false);
        rows.push(vec![
            row.who.to_owned(),
            row.what.to_owned(),
            format!("{ns:.1}"),
            format!("{added_ns:+.1}"),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            row.ns_max.map_or_else(String::new, |ns_max| format!("{ns_max:.0}")),
            verdict(is_met).to_owned(),
        ]);
    }
    let header = ["who", "what", "ns", "added", "to entry and exit", "bar", ""];
    *text += &table::render(&header, &rows);
    all_met
}

/// Adds the costs of changes; returns whether the bar is met.
fn add_changes(text: &mut String, figures: &FunctionFigures) -> bool {
    let (mut rows, mut all_met) = (Vec::new(), true);
    let beside = [("insert-0", "remove-0"), ("insert-1", "remove-1"), ("insert-2", "remove-2")];
    for (n_threads, (insert, remove)) in beside.into_iter().enumerate() {
        let Some(insert_ns) = figures.ns(insert) else { continue };
        let is_met = insert_ns <= INSERTION_NS_MAX;
        all_met &= is_met;
        let us = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{:.0}", ns / 1e3));
        rows.push(vec![
            "1 site".to_owned(),
            n_threads.to_string(),
            us(Some(insert_ns)),
            us(figures.second_ns(insert)),
            us(figures.ns(remove)),
            us(figures.second_ns(remove)),
            us(Some(INSERTION_NS_MAX)),
            verdict(Some(is_met)).to_owned(),
        ]);
    }
    let header = ["what", "busy threads", "in", "99 of 100", "out", "99 of 100", "bar (in)", ""];
    *text += &table::render(&header, &rows);
    if let (Some(in_ns), Some(out_ns)) = (figures.ns("insert-many"), figures.ns("remove-many")) {
        *text += &format!(
            "{N_MANY} sites at once: in {:.1} ms ({:.1} us per site), out {:.1} ms\n",
            in_ns / 1e6,
            in_ns / 1e3 / N_MANY,
            out_ns / 1e6,
        );
    }
    all_met
}

fn json(figures: &FunctionFigures) -> Value {
    let case = |case: &str| {
        let by_turn: Vec<f64> = figures.turns(case).iter().map(|turn| turn.figure[0]).collect();
        json!({
            "case": case, "ns": figures.ns(case), "second_ns": figures.second_ns(case),
            "added_ns": figures.added_ns(case), "ns_by_turn": by_turn,
        })
    };
    figures.measured.keys().map(|name| case(name)).collect()
}

/// Case of a call without any probe, in each of the programs.
const PLAIN: &str = "plain";

/// Program that prints figures.
struct Child {
    name: &'static str,
    words: Vec<OsString>,
}

/// Figures of a case in a turn.
#[derive(Clone, Copy, Debug)]
struct Measured {
    figure: [f64; 2],
    /// Time of a plain call in the same run of the same program, in ns.
    plain_ns: f64,
}

/// Figures of each case, turn by turn.
#[derive(Debug, Default)]
struct FunctionFigures {
    measured: BTreeMap<String, Vec<Measured>>,
    /// Sentences about what is not measured, and why.
    reasons: BTreeSet<String>,
}

impl FunctionFigures {
    /// Runs all programs one after another, `n_turns` times.
    fn take(paths: &BuildPaths, n_turns: usize) -> Result<Self, BenchError> {
        let own =
            Child { name: "price", words: vec![paths.built("examples/price")?.into_os_string()] };
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
        let uprobe = [probed.clone().into(), "uprobe".into(), "15".into(), "2000".into()];
        let mut peers = vec![
            Child { name: "-finstrument-functions", words: compiled.to_vec() },
            Child { name: "uprobe", words: uprobe.to_vec() },
        ];
        match in_path("gdb") {
            Some(gdb) => peers.push(Child { name: "gdb", words: under_gdb(gdb, probed) }),
            None => drop(self.reasons.insert("gdb is not installed".to_owned())),
        }
        Ok(peers)
    }

    fn add(&mut self, child: &Child, output: &str) {
        let reasons = output.lines().filter_map(|line| line.strip_prefix("# "));
        self.reasons.extend(reasons.map(str::to_owned));
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

    /// Median of the first figure of a case, in ns.
    fn ns(&self, case: &str) -> Option<f64> {
        self.middle(case, |turn| turn.figure[0])
    }

    /// Median of the second figure, in ns.
    fn second_ns(&self, case: &str) -> Option<f64> {
        self.middle(case, |turn| turn.figure[1])
    }

    /// Time that a case adds to a plain call, in ns: the median of the differences within a run.
    fn added_ns(&self, case: &str) -> Option<f64> {
        self.middle(case, Measured::added_ns)
    }

    /// Ratio of what two cases add: the median of the ratios within a turn.
    fn ratio(&self, case: &str, to: &str) -> Option<f64> {
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
