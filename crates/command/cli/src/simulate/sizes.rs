//! `sintonia simulate sizes`: judges how programs choose their size, on random programs.

use clap::Args;
use display::table::Table;
use serde_json::{Value, json};
use simulator::ratios::Ratios;
use simulator::sizes::{Kind, Rule, SizesCase, SizesResult, run};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sintonia simulate sizes
  sintonia simulate sizes --cases 400 --seed 7
  sintonia simulate sizes --json | jq '.[] | select(.rule == \"by itself\")'

OF BEST is the time over that at the best fixed size, which one would have to know beforehand; OF SIMPLE that over the best of \
the smallest, the first and the largest size.";

/// Judge how malleable programs choose their number of ranks, on random programs
///
/// Ranges of 4 to 64 ranks; times of an iteration by nine shapes of curves, some of which no fit of ours can follow; noise of 1 to
/// 10 %; processes that need 0.15 to 1.5 s to start; changes that stop the program for 3 to 100 ms; and loads that come and
/// go in 4 of 10 runs, on all sizes or on the larger ones.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizesOptions {
    /// Number of programs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cases: u32,
    /// Seed of the first program; the others follow
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32))]
    seed: u32,
    /// Print a list of objects as JSON
    #[arg(long)]
    json: bool,
}

/// Distance of the seeds of two runs with neighboring seeds.
const SEEDS_APART: u64 = 1_000_000;

/// Results of one rule in runs of one kind.
struct Judged {
    kind: &'static str,
    rule: &'static str,
    n_cases: usize,
    of_best: Ratios,
    of_simple: Ratios,
    /// Median and largest number of changes.
    n_resizes: [u32; 2],
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::Calm, "calm"), (Kind::Loaded, "loaded"), (Kind::Short, "short")];

/// Runs the programs and shows how close to the best size they come.
pub(crate) fn sizes(options: &SizesOptions) -> anyhow::Result<ExitCode> {
    let first = SEEDS_APART * u64::from(options.seed);
    let case = |k: u32| SizesCase::drawn(first + u64::from(k));
    let results: Vec<SizesResult> = (0..options.cases).flat_map(|k| run(&case(k))).collect();
    let mut judged = Vec::new();
    for (kind, name) in KINDS {
        for rule in Rule::ALL {
            let of = |one: &&SizesResult| one.kind == kind && one.rule == rule;
            let some: Vec<&SizesResult> = results.iter().filter(of).collect();
            judged.extend((!some.is_empty()).then(|| summary(name, rule.name(), &some)));
        }
    }
    let text = if options.json { as_json(&judged) } else { table(&judged, options.cases) };
    user_io::print::result(&text)
}

fn summary(kind: &'static str, rule: &'static str, some: &[&SizesResult]) -> Judged {
    let ratios = |of: fn(&SizesResult) -> f64| Ratios::of(some.iter().map(|one| of(one)).collect());
    let mut n_resizes: Vec<u32> = some.iter().map(|one| one.n_resizes).collect();
    n_resizes.sort_unstable();
    let at = |idx: usize| n_resizes.get(idx).copied().unwrap_or(0);
    Judged {
        kind,
        rule,
        n_cases: some.len(),
        of_best: ratios(|one| one.of_best),
        of_simple: ratios(|one| one.of_simple),
        n_resizes: [at(some.len() / 2), at(some.len().saturating_sub(1))],
    }
}

fn table(judged: &[Judged], n_cases: u32) -> String {
    let ratio = |ratio: f64| format!("{ratio:.3}");
    let table = Table::new(judged)
        .left("RUNS", |of| of.kind)
        .left("SIZE", |of| of.rule)
        .right("CASES", |of| of.n_cases.to_string())
        .right("OF BEST", |of| ratio(of.of_best.mean))
        .right("P90", |of| ratio(of.of_best.p90))
        .right("P99", |of| ratio(of.of_best.p99))
        .right("MAX", |of| ratio(of.of_best.max))
        .right("OF SIMPLE", |of| ratio(of.of_simple.mean))
        .right("P90", |of| ratio(of.of_simple.p90))
        .right("MAX", |of| ratio(of.of_simple.max))
        .right("RESIZES", |of| of.n_resizes[0].to_string())
        .right("MOST", |of| of.n_resizes[1].to_string());
    let heading =
        format!("{n_cases} programs: time over that at fixed sizes; runs under 20 s are short");
    format!("{heading}\n\n{table}")
}

fn as_json(judged: &[Judged]) -> String {
    let ratios =
        |of: &Ratios| json!({ "mean": of.mean, "p90": of.p90, "p99": of.p99, "max": of.max });
    let object = |of: &Judged| {
        json!({
            "runs": of.kind,
            "rule": of.rule,
            "cases": of.n_cases,
            "of_best": ratios(&of.of_best),
            "of_simple": ratios(&of.of_simple),
            "resizes": { "median": of.n_resizes[0], "max": of.n_resizes[1] },
        })
    };
    let list: Vec<Value> = judged.iter().map(object).collect();
    format!("{:#}\n", Value::from(list))
}
