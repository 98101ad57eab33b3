//! Measures the costs of watching, dealing, predicting and sharing out: `make bench`, or `bench [PART...] [--turns N]`.
//!
//! Every figure is a median over turns. In a turn each tool runs once, one after another, so that a busier machine
//! affects all of them. Tables go to the terminal, numbers to `target/bench/*.json`.
//!
//! Exit codes: 0 all bars met, 1 a measurement failed, 2 the command line is wrong, 3 a bar missed.
//!
//! # Not here
//! Reading the tables: `docs/benchmarks.md`. Tests: no test is timed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose result is printed")]

mod build_paths;
mod composing;
mod dealing;
mod error;
mod executors;
mod figures;
mod functions;
mod latency;
mod library;
mod models;
mod overhead;
mod price;
mod resizing;
mod sample;
mod table;
mod tasks;
mod tool;

use build_paths::BuildPaths;
use error::BenchError;
use library::BenchLibrary;
use std::fs::read_to_string;
use std::process::ExitCode;

/// Name of a part of the measurements, and its function, which gets the libraries and the number of turns.
type Part = (&'static str, fn(&BuildPaths, &[BenchLibrary], usize) -> Result<Report, BenchError>);

const PARTS: [Part; 10] = [
    ("price", price::measure),
    ("functions", |paths, _, n_turns| functions::measure(paths, n_turns)),
    ("latency", latency::measure),
    ("overhead", |paths, _, n_turns| overhead::measure(paths, n_turns)),
    ("dealing", dealing::measure),
    ("models", |paths, _, n_turns| models::measure(paths, n_turns)),
    ("composing", |paths, _, n_turns| composing::measure(paths, n_turns)),
    ("resizing", |paths, _, n_turns| resizing::measure(paths, n_turns)),
    ("executors", executors::measure),
    ("tasks", |paths, _, n_turns| tasks::measure(paths, n_turns)),
];

fn main() -> ExitCode {
    let (parts, n_turns) = match command_line(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(message) => {
            let parts = PARTS.map(|(name, _)| format!("[{name}]")).join(" ");
            eprintln!("bench: {message}\nusage: bench {parts} [--turns N]");
            return ExitCode::from(2);
        }
    };
    match run(&parts, n_turns) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the parts; returns whether all bars are met.
fn run(parts: &[Part], n_turns: usize) -> Result<bool, BenchError> {
    let paths = BuildPaths::find()?;
    let libraries = library::installed();
    println!("{}\n", describe_machine());
    let mut all_met = true;
    for (title, measure) in parts {
        let report = measure(&paths, &libraries, n_turns)?;
        println!("{}", report.text);
        paths.write_json(title, &report.json)?;
        all_met &= report.bars_met;
    }
    Ok(all_met)
}

/// Median; 0 of none.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    statistics::median(values).unwrap_or(0.0)
}

/// Result of a part.
#[derive(Debug)]
struct Report {
    text: String,
    json: serde_json::Value,
    bars_met: bool,
}

fn command_line(mut arguments: impl Iterator<Item = String>) -> Result<(Vec<Part>, usize), String> {
    let (mut parts, mut n_turns) = (Vec::new(), 5);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--turns" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                n_turns = number.filter(|n| 0 < *n).ok_or("`--turns` needs a number above 0")?;
            }
            name => {
                let part = PARTS.iter().find(|(known, _)| *known == name);
                parts.push(*part.ok_or_else(|| format!("`{name}` is not known"))?);
            }
        }
    }
    if parts.is_empty() {
        parts = PARTS.to_vec();
    }
    Ok((parts, n_turns))
}

/// Processor, cores, clock source, kernel and load.
fn describe_machine() -> String {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let n_cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let flags = field("/proc/cpuinfo", "flags").unwrap_or_default();
    let virtual_machine =
        if flags.split(' ').any(|flag| flag == "hypervisor") { ", virtual" } else { "" };
    format!("{cpu}{virtual_machine}, {n_cores} cores, Linux {}, load {load}", kernel.trim())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{PARTS, command_line};

    #[track_caller]
    fn check(line: &str, expected: Option<(&[&str], usize)>) {
        let found = command_line(line.split_whitespace().map(str::to_owned)).ok();
        let names = |(parts, n): (Vec<super::Part>, usize)| {
            (parts.into_iter().map(|(name, _)| name).collect(), n)
        };
        assert_eq!(found.map(names), expected.map(|(names, n)| (names.to_vec(), n)));
    }

    #[test]
    fn the_command_line_names_parts_and_turns() {
        check("", Some((&PARTS.map(|(name, _)| name), 5)));
        check("functions", Some((&["functions"], 5)));
        check("latency --turns 3", Some((&["latency"], 3)));
        check("overhead price", Some((&["overhead", "price"], 5)));
        check("--turns 0", None);
        check("--turns", None);
        check("speed", None);
    }
}
