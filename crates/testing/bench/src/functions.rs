//! Measures the cost of a probe at a function, beside other tools that do the same.
//!
//! # Not here
//! The timed loops: the example `price` of `instrument`, and `programs/`.

mod children;

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::{Report, table};
use children::FunctionFigures;
use serde_json::{Value, json};

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
    let mut report = Report { text: String::new(), json: json!([]), bars_met: true };
    report.text += "Function probes: nanoseconds per call of a function of 4 instructions\n";
    report.bars_met &= add_passages(&mut report.text, &figures);
    report.text += "\nFunction probes: microseconds to change the code of a running process\n";
    report.bars_met &= add_changes(&mut report.text, &figures);
    for reason in figures.reasons() {
        report.text += &format!("not measured: {reason}\n");
    }
    report.json = json(&figures);
    Ok(report)
}

/// Adds the costs of passages; returns whether all bars are met.
fn add_passages(text: &mut String, figures: &FunctionFigures) -> bool {
    let (mut rows, mut all_met) = (Vec::new(), true);
    for row in &ROWS {
        let (Some(ns), Some(added_ns)) = (figures.ns(row.case), figures.added_ns(row.case)) else {
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
    let header = ["who", "what", "ns", "added", "to entry and exit", "bar", ""].map(str::to_owned);
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
    *text += &table::render(&header.map(str::to_owned), &rows);
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

fn verdict(is_met: Option<bool>) -> &'static str {
    match is_met {
        None => "",
        Some(true) => "met",
        Some(false) => "missed",
    }
}

fn json(figures: &FunctionFigures) -> Value {
    let case = |case: &str| {
        json!({
            "case": case, "ns": figures.ns(case), "second_ns": figures.second_ns(case),
            "added_ns": figures.added_ns(case), "ns_by_turn": figures.all_ns(case),
        })
    };
    Value::Array(figures.cases().map(case).collect())
}
