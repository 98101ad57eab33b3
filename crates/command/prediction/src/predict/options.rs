//! Options of `sintonia predict`.

use super::what_if::{Scale, scale};
use crate::values::Values;
use clap::{Args, ValueEnum};
use experiment::Expression;
use serde::Serialize;
use std::path::PathBuf;
use user_io::option_value::{positive, seconds};

const EXAMPLES: &str = "\
Examples:
  sintonia predict models.json --set n=1200 --set p=16
  sintonia predict models.json --set n=1200 --set p=2:64:*2 --plot time.svg
  sintonia predict models.json --set n=500:2000:500 --set p=4,8 --json
  sintonia predict models.json --set n=1200 --best p --target-time 30
  sintonia predict models.json --set n=1200 --best p --efficiency 0.8 --cost
  sintonia predict models.json --set n=1200 --set p=16 --scale 'ljForce=0.5'
  sintonia predict RUN --engine smpi --machine network.json
  sintonia predict RUN --engine composed --machine network.json --scale 'ljForce=0.5'
  sintonia predict models.json --graph src/ --set n=1200 --set p=16 --ranks 'p + 1' --let dim=n --machine network.json

The whole program is the longest of the roles of its ranks, each the sum of its regions; without roles, the sum of all \
regions. Where the whole was measured as well, as region `total`, it is the average of both: who foretold held-out values \
better counts more.

Exit codes: 0 when it is done; 2 when an option is wrong; 100 when nothing reaches the target, or a formula has \
no value there; 102 when a result could not be written; 105 when MODELS cannot be read.";

/// Predict the time of a program for sizes and numbers of processes
///
/// Predicts the whole program and each region, with an interval in which a measurement should lie, and warns where a
/// prediction goes beyond the measured range.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// File of `sintonia fit -o`; or measurements, which are fitted first
    pub(super) models: PathBuf,
    /// Values of a parameter: a list (`p=2,4,8`), a range (`n=100:1000:100`), a range by factors (`p=2:64:*2`)
    #[arg(long, value_name = "NAME=VALUES")]
    pub(super) set: Vec<Values>,
    /// Metric to predict; by default `time`
    #[arg(long, value_name = "NAME")]
    pub(super) metric: Option<String>,
    /// Show only regions that match, and always the whole program; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(super) region: Vec<String>,
    /// What if a region took another time? A function with all that it calls, or a region with `*` for anything:
    /// `ljForce=0.5`; may be given several times. Of a run, the sampled share of its computing is scaled
    #[arg(long, value_name = "REGION=FACTOR", value_parser = scale)]
    pub(super) scale: Vec<Scale>,
    #[command(flatten)]
    pub(super) output: PredictOutputOptions,
    #[command(flatten)]
    pub(super) best: BestOptions,
    #[command(flatten)]
    pub(super) engine: EngineOptions,
    #[command(flatten)]
    pub(super) graph: GraphOptions,
}

/// Options for showing predictions.
#[derive(Args, Debug)]
pub(super) struct PredictOutputOptions {
    /// Print an object with a list of predictions as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Write the predictions as a table
    #[arg(long, value_name = "FILE.csv")]
    pub(super) csv: Option<PathBuf>,
    /// Write a picture of the whole program over the parameter with the most values
    #[arg(long, value_name = "FILE.svg")]
    pub(super) plot: Option<PathBuf>,
    /// Show the cost in core-hours
    #[arg(long)]
    pub(super) cost: bool,
    /// Parameter that counts processes, if its name does not tell
    #[arg(long, value_name = "NAME")]
    pub(super) processes: Option<String>,
}

/// Options for the best value of a parameter.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The best value of a parameter")]
pub(super) struct BestOptions {
    /// Find the best value of a parameter, among those of `--set`, or the whole numbers up to four times the largest
    /// measured one; by default the value with the least time
    #[arg(long, value_name = "NAME")]
    pub(super) best: Option<String>,
    /// Find the smallest value with which the program takes no longer than this
    #[arg(long, value_name = "SECONDS", requires = "best", conflicts_with = "efficiency", value_parser = positive)]
    pub(super) target_time: Option<f64>,
    /// Find the largest value whose efficiency, relative to the smallest value tried, is not below this
    #[arg(long, value_name = "SHARE", requires = "best", value_parser = positive)]
    pub(super) efficiency: Option<f64>,
}

impl BestOptions {
    /// Parameter whose best value is looked for.
    pub(super) fn parameter(&self) -> Option<&str> {
        self.best.as_deref()
    }

    /// Description for a title.
    pub(super) fn in_words(&self) -> String {
        match (self.target_time, self.efficiency) {
            (Some(time_s), _) => format!("smallest with at most {time_s} s"),
            (None, Some(share)) => format!("largest with an efficiency of at least {share}"),
            (None, None) => "with the least time".to_owned(),
        }
    }
}

/// Engines that evaluate a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Engine {
    /// Sintonia's max-plus evaluation
    Composed,
    /// SimGrid's replay (`smpirun`), beside that evaluation
    Smpi,
}

/// A recorded run instead of models.
#[derive(Args, Debug)]
#[command(next_help_heading = "A traced run, on the same or another machine")]
pub(super) struct EngineOptions {
    /// Engine that evaluates a traced run, given in place of MODELS, or a folder with `trace.txt`; by default
    /// `composed`
    #[arg(long, value_name = "ENGINE")]
    pub(super) engine: Option<Engine>,
    /// Machine to predict for: a file of `sintonia netbench --json`, a description in TOML, or `ethernet-1g`,
    /// `ethernet-10g`, `infiniband-hdr`, `shared-memory`, `ideal`
    #[arg(long, value_name = "FILE")]
    pub(super) machine: Option<String>,
    /// Number of ranks on each node, which follow each other: messages inside a node take the machine's network for
    /// that; by default as the ranks of the run were, or as the machine says
    #[arg(long, value_name = "NUMBER", requires = "machine",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) ranks_per_node: Option<u32>,
    /// Number of the world, if the run has several
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "engine")]
    pub(super) world: u32,
    /// Keep the trace and the platform in this folder
    #[arg(long, value_name = "DIR", requires = "engine")]
    pub(super) keep: Option<PathBuf>,
    /// Time after which SimGrid is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0, requires = "engine", value_parser = |text: &str| seconds(text, 1e-3..=1e7))]
    pub(super) at_most: f64,
}

impl EngineOptions {
    /// True if a run is given instead of models.
    pub(super) fn is_wanted(&self) -> bool {
        self.engine.is_some() || self.machine.is_some()
    }
}

/// Models along a graph.
#[derive(Args, Debug)]
#[command(next_help_heading = "Models along the graph of the sources")]
pub(super) struct GraphOptions {
    /// Sources of the program, or a folder with them: the models' regions are composed along its graph
    #[arg(long, value_name = "SOURCE", conflicts_with_all = [
        "engine", "metric", "region", "csv", "plot", "cost", "processes", "best",
    ])]
    pub(super) graph: Vec<PathBuf>,
    /// Number of ranks, from the parameters: `p + 1` if `p` counts workers
    #[arg(long, value_name = "EXPRESSION", default_value = "p", requires = "graph")]
    pub(super) ranks: String,
    /// Value of a name in the sources, or of another expression that `sintonia graph` prints, from the parameters and
    /// `rank`: `dim=n`, `sim->nSteps=n`, `next=rank + 1`; may be given several times
    #[arg(long = "let", value_name = "NAME=EXPRESSION", requires = "graph", value_parser = named)]
    pub(super) names: Vec<(String, Expression)>,
    /// Seed that draws the arms of branches at random, instead of taking each in its share of the passages
    #[arg(long, value_name = "NUMBER", requires = "graph")]
    pub(super) seed: Option<u64>,
    /// Number of draws; shows their mean, and the interval that holds 95 percent of them
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "seed",
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) draws: u64,
}

/// Parses a name of the sources, or another text that `sintonia graph` prints, with its value.
fn named(text: &str) -> Result<(String, Expression), String> {
    let at = equals_sign(text).ok_or("write NAME=EXPRESSION")?;
    let (name, value) = (text[..at].trim(), text[at + 1..].trim());
    let value = Expression::read(value).map_err(|error| error.to_string())?;
    Ok((same_form(name), value))
}

/// Returns the position of the first `=` that is no part of a comparison.
fn equals_sign(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_alone = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let is_comparison = before.is_some_and(|byte| b"=<>!".contains(byte));
        !is_comparison && bytes.get(at + 1) != Some(&b'=')
    };
    text.match_indices('=').map(|(at, _)| at).find(is_alone)
}

/// Returns a text that is equal for names that differ only in how they are written: `sim->n` and `sim.n`,
/// `2 * n` and `2·n`.
pub(super) fn same_form(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    name.replace("->", ".").replace('·', "*")
}

#[cfg(test)]
mod tests {
    use super::{named, same_form};
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(text: &str, name: &str) {
        let (known, value) = named(text).expect("a name with a value");
        let n = BTreeMap::from([("n".to_owned(), 7.0)]);
        assert_eq!((known, value.value(&n).ok()), (same_form(name), Some(7.0)));
    }

    #[test]
    fn names_are_what_a_graph_prints() {
        check("dim=n", "dim");
        check("sim->nSteps = n", "sim->nSteps");
        check("sim.nSteps=n", "sim->nSteps");
        check("2·(a + b[0])=n", "2 * (a + b[0])");
        check("a == b ? c : d=n", "a==b ? c : d");
        check("f(x <= 3) = n", "f(x <= 3)");
        assert!(named("x").is_err() && named("a == b").is_err());
    }
}
