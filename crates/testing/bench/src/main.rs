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
use std::fs::read_to_string;
use std::process::ExitCode;

const USAGE: &str = "usage: bench [price] [functions] [latency] [overhead] [dealing] [models] [composing] [resizing] [tasks] [--turns N]";

/// Part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Price,
    Functions,
    Latency,
    Overhead,
    Dealing,
    Models,
    Composing,
    Resizing,
    Tasks,
}

const ALL: [Part; 9] = [
    Part::Price,
    Part::Functions,
    Part::Latency,
    Part::Overhead,
    Part::Dealing,
    Part::Models,
    Part::Composing,
    Part::Resizing,
    Part::Tasks,
];

fn main() -> ExitCode {
    let (parts, n_turns) = match command_line(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(message) => {
            eprintln!("bench: {message}\n{USAGE}");
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
    for part in parts {
        let (title, report) = match part {
            Part::Price => ("price", price::measure(&paths, &libraries, n_turns)?),
            Part::Functions => ("functions", functions::measure(&paths, n_turns)?),
            Part::Latency => ("latency", latency::measure(&paths, &libraries, n_turns)?),
            Part::Overhead => ("overhead", overhead::measure(&paths, n_turns)?),
            Part::Dealing => ("dealing", dealing::measure(&paths, &libraries, n_turns)?),
            Part::Models => ("models", models::measure(&paths, n_turns)?),
            Part::Composing => ("composing", composing::measure(&paths, n_turns)?),
            Part::Resizing => ("resizing", resizing::measure(&paths, n_turns)?),
            Part::Tasks => ("tasks", tasks::measure(&paths, n_turns)?),
        };
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
            "price" => parts.push(Part::Price),
            "functions" => parts.push(Part::Functions),
            "latency" => parts.push(Part::Latency),
            "overhead" => parts.push(Part::Overhead),
            "dealing" => parts.push(Part::Dealing),
            "models" => parts.push(Part::Models),
            "composing" => parts.push(Part::Composing),
            "resizing" => parts.push(Part::Resizing),
            "tasks" => parts.push(Part::Tasks),
            "--turns" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                n_turns = number.filter(|n| 0 < *n).ok_or("`--turns` needs a number above 0")?;
            }
            other => return Err(format!("`{other}` is not known")),
        }
    }
    if parts.is_empty() {
        parts = ALL.to_vec();
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
    use super::{ALL, Part, command_line};

    #[track_caller]
    fn check(line: &str, expected: Option<(&[Part], usize)>) {
        let found = command_line(line.split_whitespace().map(str::to_owned)).ok();
        assert_eq!(found, expected.map(|(parts, n_turns)| (parts.to_vec(), n_turns)));
    }

    #[test]
    fn the_command_line_names_parts_and_turns() {
        check("", Some((&ALL, 5)));
        check("functions", Some((&[Part::Functions], 5)));
        check("latency --turns 3", Some((&[Part::Latency], 3)));
        check("overhead price", Some((&[Part::Overhead, Part::Price], 5)));
        check("--turns 0", None);
        check("--turns", None);
        check("speed", None);
    }
}
