//! `--next`: of the plan's points, those that would narrow the interval at a target most.

use super::{MEASURED, Prepared};
use anyhow::Context;
use clap::Args;
use display::table::Table;
use experiment::journal::Journal;
use experiment::plan::Parameters;
use fitting::advice::{Candidate, advise, begin};
use fitting::formats::json_lines;
use fitting::{ParameterRole, Series, Settings, TOTAL};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use user_io::{bounded_read, ensure_option};

/// Measured points from which a model chooses the next ones.
const N_POINTS_MIN: usize = 3;

/// Options for the points to measure next.
#[derive(Args, Debug)]
#[command(next_help_heading = "What to measure next")]
pub(super) struct NextOptions {
    /// Run only the K points of the plan that would narrow the interval at the target most, by the model of what was
    /// measured so far; with less than three points measured, lines along each parameter
    #[arg(long, value_name = "K")]
    pub(super) next: Option<usize>,
    /// Most core-hours for these points; their time is what the model foretells
    #[arg(long, value_name = "CORE-HOURS", requires = "next")]
    budget: Option<f64>,
    /// Value of a parameter at the target; by default the largest one in the plan; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "next", value_parser = target)]
    target: Vec<(String, f64)>,
}

fn target(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.trim().parse().ok().filter(|value: &f64| value.is_finite());
    Ok((name.trim().to_owned(), value.ok_or("write NAME=VALUE, with a number")?))
}

/// Points chosen, and why.
pub(super) struct NextPoints {
    target: Parameters,
    points: Vec<NextPoint>,
}

struct NextPoint {
    /// Index in the plan's points.
    idx: usize,
    parameters: Parameters,
    /// Expected cost, and ratio of the interval's ends before and after; `None` without a model.
    expected: Option<(f64, f64, f64)>,
}

impl NextPoints {
    /// Chooses points of the plan that were not measured yet.
    pub(super) fn choose(
        options: &NextOptions,
        prepared: &Prepared,
        journal: &Journal,
        dir: &Path,
    ) -> anyhow::Result<Option<Self>> {
        let Some(n) = options.next else { return Ok(None) };
        ensure_option!(0 < n, "`--next 0` asks for nothing: name the number of points");
        let budget = options.budget.unwrap_or(f64::INFINITY);
        ensure_option!(0.0 < budget, "`--budget` must be above 0");
        let mut target = largest(prepared);
        for (name, value) in &options.target {
            let known = target.keys().cloned().collect::<Vec<_>>().join(", ");
            let of_name = target.get_mut(name);
            ensure_option!(of_name.is_some(), "the plan has no parameter `{name}`; it has {known}");
            of_name.into_iter().for_each(|known| *known = *value);
        }
        let measured = measured(dir)?;
        let done: Vec<&Parameters> = journal.runs.iter().map(|run| &run.params).collect();
        let is_measured = |at: &Parameters| {
            measured.as_ref().is_some_and(|(names, series)| {
                let at: Vec<f64> = names.iter().filter_map(|name| at.get(name).copied()).collect();
                series.points.iter().any(|point| point.at == at)
            })
        };
        let is_open = |idx: &usize| {
            let point = &prepared.points[*idx];
            let at = &point.parameters;
            !point.is_holdout && !done.contains(&at) && !is_measured(at)
        };
        let open: Vec<usize> = (0..prepared.points.len()).filter(is_open).collect();
        let points = match measured {
            Some((names, series)) => {
                let asked = Asked { prepared, open: &open, target: &target, n, budget };
                asked.by_model(&names, &series)
            }
            None => {
                let at = |idx: &usize| prepared.points[*idx].parameters.values().copied().collect();
                let grid: Vec<Vec<f64>> = open.iter().map(at).collect();
                let first = begin(&grid, n).into_iter();
                first.map(|place| NextPoint::of(prepared, open[place], None)).collect()
            }
        };
        Ok(Some(Self { target, points }))
    }

    /// Returns the indices of the chosen points.
    pub(super) fn indices(&self) -> BTreeSet<usize> {
        self.points.iter().map(|point| point.idx).collect()
    }

    /// Says which points were chosen, and what they promise.
    pub(super) fn text(&self) -> String {
        let at = in_words(&self.target);
        if self.points.is_empty() {
            return format!(
                "no point of the plan that is left would narrow the interval at {at}\n"
            );
        }
        let expected = |point: &NextPoint, of: fn((f64, f64, f64)) -> String| {
            point.expected.map_or_else(String::new, of)
        };
        let table = Table::new(&self.points)
            .left("NEXT", |point| in_words(&point.parameters))
            .right("CORE-HOURS", |point| expected(point, |(cost, ..)| format!("{cost:.3}")))
            .right("HIGH / LOW", |point| expected(point, |(_, before, _)| format!("{before:.2}")))
            .right("AFTER", |point| expected(point, |(_, _, after)| format!("{after:.2}")));
        match self.points.iter().all(|point| point.expected.is_none()) {
            true => format!("to begin with, lines along each parameter:\n\n{table}"),
            false => format!("to narrow the interval at {at}:\n\n{table}"),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let one = |point: &NextPoint| {
            json!({
                "params": point.parameters,
                "core_hours": point.expected.map(|(cost, ..)| cost),
                "ratio_before": point.expected.map(|(_, before, _)| before),
                "ratio_after": point.expected.map(|(_, _, after)| after),
            })
        };
        json!({ "target": self.target, "points": self.points.iter().map(one).collect::<Vec<_>>() })
    }
}

/// What was asked for.
struct Asked<'a> {
    prepared: &'a Prepared,
    /// Points that were not measured.
    open: &'a [usize],
    target: &'a Parameters,
    n: usize,
    budget: f64,
}

impl Asked<'_> {
    fn by_model(&self, names: &[String], series: &Series) -> Vec<NextPoint> {
        let value = |at: &Parameters, name: &String| at.get(name).copied().unwrap_or(f64::NAN);
        let coordinates = |at: &Parameters| names.iter().map(|name| value(at, name)).collect();
        let repetitions = f64::from(self.prepared.plan.repetitions);
        let processes: Vec<&String> = names
            .iter()
            .filter(|name| ParameterRole::of_name(name) == ParameterRole::Processes)
            .collect();
        let candidates: Vec<Candidate> = self
            .open
            .iter()
            .map(|idx| {
                let at = &self.prepared.points[*idx].parameters;
                let n_processes: f64 = processes.iter().map(|name| value(at, name)).product();
                let cost_per_time = n_processes * repetitions / 3600.0;
                Candidate { at: coordinates(at), cost_per_time }
            })
            .collect();
        let target: Vec<f64> = coordinates(self.target);
        let asked = (&candidates[..], &target[..]);
        let advice = advise(names, series, &Settings::default(), asked, (self.n, self.budget));
        let point = advice.into_iter().map(|advice| {
            let expected = (advice.cost, advice.ratio_before, advice.ratio_after);
            NextPoint::of(self.prepared, self.open[advice.candidate_idx], Some(expected))
        });
        point.collect()
    }
}

impl NextPoint {
    fn of(prepared: &Prepared, idx: usize, expected: Option<(f64, f64, f64)>) -> Self {
        Self { idx, parameters: prepared.points[idx].parameters.clone(), expected }
    }
}

/// Returns the largest value of each parameter.
fn largest(prepared: &Prepared) -> Parameters {
    let mut largest = Parameters::new();
    for (name, value) in prepared.points.iter().flat_map(|point| &point.parameters) {
        let known = largest.entry(name.clone()).or_insert(*value);
        *known = known.max(*value);
    }
    largest
}

/// Returns the parameters and the whole program's times; `None` while there are too few.
fn measured(dir: &Path) -> anyhow::Result<Option<(Vec<String>, Series)>> {
    let path = dir.join(MEASURED);
    if !path.exists() {
        return Ok(None);
    }
    let text = bounded_read::read_text(&path, bounded_read::MEASURED_BYTES_MAX)
        .with_context(|| format!("`{}`", path.display()))?;
    let measured = json_lines::read(&text).measured;
    let is_whole = |series: &&Series| series.region == TOTAL && series.metric == "time";
    let whole = measured.series.iter().find(is_whole).cloned();
    let whole = whole.filter(|series| N_POINTS_MIN <= series.points.len());
    Ok(whole.map(|series| (measured.parameters, series)))
}

fn in_words(parameters: &Parameters) -> String {
    let one = |(name, value): (&String, &f64)| format!("{name} = {value}");
    parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}
