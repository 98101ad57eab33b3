//! `sintonia simulate cases`: judges dealing policies on random cases.

use clap::{Args, ValueEnum};
use display::table::Table;
use serde_json::{Value, json};
use simulator::chunking::cases::{Case, Judgement, Later, judge};
use simulator::ratios::Ratios;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sintonia simulate cases
  sintonia simulate cases --cases 300 --seed 7
  sintonia simulate cases --later anew
  sintonia simulate cases --json | jq '.[0].later'

Ratios of 1 cannot be beaten by any order of whole tasks. NEAR BEST is the share of cases within 5 % of whatever policy was the \
best in each of them, in the first iteration and in all.";

/// Judge policies that deal tasks to workers on random cases
///
/// 3 to 127 workers that are equal, have speeds from 1 to 4, or of which one slows down; 100 to 400 tasks for each, of 1 to 10 ms in
/// the mean: even, log-normal, falling, rising, or up to 100 times dearer in blocks; chunks that need 2 to 200 us to
/// arrive and are asked for ahead. Policies that are told times beforehand are left out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CasesOptions {
    /// Number of cases
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cases: u32,
    /// Seed of the first case; the others follow
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32))]
    seed: u32,
    /// Iterations of each case
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    iterations: u32,
    /// Costs of later iterations: those of the first, drawn anew, or in reverse order every other time
    #[arg(long, value_enum, value_name = "KIND", default_value_t = LaterCosts::Same)]
    later: LaterCosts,
    /// Print a list of objects as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LaterCosts {
    Same,
    Anew,
    Reversed,
}

/// Distance of the seeds of two runs with neighboring seeds.
const SEEDS_APART: u64 = 1_000_000;

/// Judges the policies and shows how close to the bound they come.
pub(crate) fn cases(options: &CasesOptions) -> anyhow::Result<ExitCode> {
    let later = match options.later {
        LaterCosts::Same => Later::Same,
        LaterCosts::Anew => Later::Anew,
        LaterCosts::Reversed => Later::Reversed,
    };
    let first = SEEDS_APART * u64::from(options.seed);
    let drawn = |k: u32| Case::drawn(first + u64::from(k), options.iterations, later);
    let cases: Vec<Case> = (0..options.cases).map(drawn).collect();
    let judged = judge(&cases);
    let text = if options.json { as_json(&judged) } else { table(&judged, options) };
    user_io::print::result(&text)
}

fn table(judged: &[Judgement], options: &CasesOptions) -> String {
    let ratio = |ratio: f64| format!("{ratio:.3}");
    let share = |share: f64| format!("{:.1} %", 100.0 * share);
    let table = Table::new(judged)
        .left("POLICY", |of| of.policy)
        .right("FIRST", |of| ratio(of.first.mean))
        .right("P99", |of| ratio(of.first.p99))
        .right("MAX", |of| ratio(of.first.max))
        .right("LATER", |of| ratio(of.later.mean))
        .right("P99", |of| ratio(of.later.p99))
        .right("MAX", |of| ratio(of.later.max))
        .right("NEAR BEST", |of| share(of.first_near_best))
        .right("IN ALL", |of| share(of.all_near_best));
    let heading = format!(
        "{} cases of {} iterations: time over a bound, geometric mean, 99th percentile and largest",
        options.cases, options.iterations
    );
    format!("{heading}\n\n{table}")
}

fn as_json(judged: &[Judgement]) -> String {
    let ratios = |of: &Ratios| json!({ "mean": of.mean, "p99": of.p99, "max": of.max });
    let object = |of: &Judgement| {
        json!({
            "policy": of.policy,
            "first": ratios(&of.first),
            "later": ratios(&of.later),
            "first_near_best": of.first_near_best,
            "all_near_best": of.all_near_best,
        })
    };
    let list: Vec<Value> = judged.iter().map(object).collect();
    format!("{:#}\n", Value::from(list))
}
