//! Fits models of 200 synthetic regions with noise and outliers, by `sintonia fit` and by Extra-P from PyPI.
//!
//! Both predict times for more processes than were measured. Extra-P is measured if `scripts/setup.sh bench` could
//! install it.

use crate::Report;
use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::median;
use crate::sample;
use crate::table::{self, verdict};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Bars: median and mean of the errors of regions, in percent; processor time, in s; start-up, in ms.
const MEDIAN_MAX: f64 = 3.0;
const MEAN_MAX: f64 = 4.0;
const CPU_S_MAX: f64 = 0.2;
const START_MS_MAX: f64 = 10.0;
/// Number of start-ups that are timed; the fastest counts.
const N_STARTS: usize = 21;
/// Options that name the points kept back.
const UNSEEN: [&str; 4] = ["--set", "p=64,128", "--set", "n=100,200,400,800,1600"];

/// Results of one tool.
#[derive(Debug)]
struct Fitted {
    name: String,
    median: f64,
    mean: f64,
    n_not_positive: usize,
    cpu_s: f64,
    start_ms: Option<f64>,
}

#[derive(Deserialize)]
struct Unseen {
    region: String,
    point: [f64; 2],
    truth: f64,
}

#[derive(Deserialize)]
struct Predictions {
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Prediction {
    region: Option<String>,
    parameters: BTreeMap<String, f64>,
    value: f64,
}

/// Fits the set by both tools.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let folder = paths.scratch().join("models");
    crate::build_paths::make_folder(&folder)?;
    let (made_up, sintonia) = (paths.built("examples/made_up")?, paths.built("sintonia")?);
    sample::output_of(command(&made_up, [folder.as_os_str()]))?;
    let mut all = vec![ours(&sintonia, &folder, n_turns)?];
    let note = match extrap(paths, &folder, n_turns) {
        Ok(fitted) if fitted.is_empty() => {
            "Extra-P is not there: `scripts/setup.sh bench` installs it from PyPI where that can be reached.\n".to_owned()
        }
        Ok(fitted) => {
            all.extend(fitted);
            String::new()
        }
        Err(error) => format!("Extra-P did not run: {error}\n"),
    };
    let mut text = "Models of 200 regions over 2 parameters, 25 points, 5 repetitions; errors on 2 and 4 times the processes\n".to_owned();
    let header = [
        "tool",
        "setting",
        "median error",
        "mean error",
        "not positive",
        "cpu s",
        "ratio",
        "start ms",
    ];
    let rows: Vec<Vec<String>> = all.iter().map(|fitted| row(fitted, &all[0])).collect();
    let bars_met = is_met(&all[0]);
    text += &table::render(&header, &rows);
    text += &format!(
        "bars: {MEDIAN_MAX} % and {MEAN_MAX} %, none not positive, {CPU_S_MAX} s, {START_MS_MAX} ms: {}\n{note}",
        verdict(Some(bars_met))
    );
    let json = all.iter().map(|one| {
        json!({ "tool": one.name, "median_percent": one.median, "mean_percent": one.mean,
            "n_not_positive": one.n_not_positive, "cpu_s": one.cpu_s, "start_ms": one.start_ms })
    });
    Ok(Report { text, json: json.collect(), bars_met })
}

fn is_met(ours: &Fitted) -> bool {
    ours.median <= MEDIAN_MAX
        && ours.mean <= MEAN_MAX
        && ours.n_not_positive == 0
        && ours.cpu_s <= CPU_S_MAX
        && ours.start_ms.is_none_or(|ms| ms <= START_MS_MAX)
}

fn row(fitted: &Fitted, ours: &Fitted) -> Vec<String> {
    let (tool, setting) = fitted.name.split_once(", ").unwrap_or((&fitted.name, ""));
    vec![
        tool.to_owned(),
        setting.to_owned(),
        format!("{:.2} %", fitted.median),
        format!("{:.2} %", fitted.mean),
        fitted.n_not_positive.to_string(),
        format!("{:.2}", fitted.cpu_s),
        format!("{:.0}", fitted.cpu_s / ours.cpu_s),
        fitted.start_ms.map_or(String::new(), |ms| format!("{ms:.1}")),
    ]
}

fn command<S: AsRef<std::ffi::OsStr>>(
    program: &Path,
    words: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

fn ours(sintonia: &Path, folder: &Path, n_turns: usize) -> Result<Fitted, BenchError> {
    let mut cpu_s = Vec::new();
    for _ in 0..n_turns {
        let mut fit =
            command(sintonia, ["fit", "measured.json", "-o", "models.json", "--csv", "models.csv"]);
        fit.current_dir(folder);
        cpu_s.push(sample::take(fit)?.cpu_s);
    }
    let mut predict = command(sintonia, ["predict", "models.json", "--json"]);
    predict.args(UNSEEN).current_dir(folder);
    let name = sample::name_of(&predict);
    let output =
        predict.output().map_err(|source| BenchError::Start { command: name.clone(), source })?;
    let said: Predictions = parsed(name, &output.stdout)?;
    let path = folder.join("unseen.json");
    let unseen = std::fs::read(&path).map_err(BenchError::file(&path))?;
    let unseen: Vec<Unseen> = parsed("made_up".to_owned(), &unseen)?;
    let (errors, n_not_positive) = errors(&said.predictions, &unseen);
    Ok(Fitted {
        name: "sintonia".to_owned(),
        median: median(errors.iter().copied()),
        mean: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        n_not_positive,
        cpu_s: median(cpu_s),
        start_ms: Some(start_ms(|| command(sintonia, ["--version"]))?),
    })
}

fn parsed<T: DeserializeOwned>(command: String, json: &[u8]) -> Result<T, BenchError> {
    serde_json::from_slice(json)
        .map_err(|error| BenchError::NoFigure { command, output: error.to_string() })
}

/// Error of each region in percent, and number of predictions that are not positive.
fn errors(said: &[Prediction], unseen: &[Unseen]) -> (Vec<f64>, usize) {
    let key = |region: &str, p: f64, n: f64| (region.to_owned(), p.to_bits(), n.to_bits());
    let by_point: BTreeMap<_, f64> = said
        .iter()
        .filter_map(|one| {
            let at = |name: &str| one.parameters.get(name).copied();
            Some((key(one.region.as_deref()?, at("p")?, at("n")?), one.value))
        })
        .collect();
    let mut regions: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut n_not_positive = 0;
    for Unseen { region, point: [p, n], truth } in unseen {
        let value = by_point.get(&key(region, *p, *n)).copied().unwrap_or(0.0);
        n_not_positive += usize::from(value <= 0.0);
        let error = 200.0 * (value - truth).abs() / (value.abs() + truth.abs());
        regions.entry(region).or_default().push(error);
    }
    let mean = |errors: &Vec<f64>| errors.iter().sum::<f64>() / errors.len() as f64;
    (regions.values().map(mean).collect(), n_not_positive)
}

/// Time of the fastest start of a program that ends at once, in ms.
fn start_ms(command: impl Fn() -> Command) -> Result<f64, BenchError> {
    let mut fastest_s = f64::INFINITY;
    for _ in 0..N_STARTS {
        let mut command = command();
        let began = Instant::now();
        let name = sample::name_of(&command);
        command.output().map_err(|source| BenchError::Start { command: name, source })?;
        fastest_s = fastest_s.min(began.elapsed().as_secs_f64());
    }
    Ok(1e3 * fastest_s)
}

/// Results of both settings of Extra-P; empty if it is not installed.
fn extrap(paths: &BuildPaths, folder: &Path, n_turns: usize) -> Result<Vec<Fitted>, BenchError> {
    let python: PathBuf = paths.root.join("target/venv-extrap/bin/python");
    if !python.exists() {
        return Ok(Vec::new());
    }
    let script = paths.root.join("experiments/common/extrap_errors.py");
    let mut by_name: BTreeMap<String, Vec<Fitted>> = BTreeMap::new();
    // Extra-P is slow, and gives the same results each time.
    for _ in 0..n_turns.min(2) {
        let output = sample::output_of(command(&python, [script.as_os_str(), folder.as_os_str()]))?;
        for fitted in output.lines().filter_map(fitted_in) {
            by_name.entry(fitted.name.clone()).or_default().push(fitted);
        }
    }
    let start_ms = start_ms(|| command(&python, ["-c", "import extrap.modelers.model_generator"]))?;
    let one = |(name, all): (String, Vec<Fitted>)| {
        let of = |get: fn(&Fitted) -> f64| median(all.iter().map(get));
        let n_not_positive = all.first().map_or(0, |one| one.n_not_positive);
        let (median, mean, cpu_s) = (of(|one| one.median), of(|one| one.mean), of(|one| one.cpu_s));
        Fitted { name, median, mean, n_not_positive, cpu_s, start_ms: Some(start_ms) }
    };
    Ok(by_name.into_iter().map(one).collect())
}

/// Parses `SETTING  median 1.0 %  mean 2.0 %  not positive 3  cpu 4.0 s`.
fn fitted_in(line: &str) -> Option<Fitted> {
    let (name, rest) = line.split_once(" median ")?;
    let number = |after: &str| {
        let rest = if after.is_empty() { rest } else { rest.split_once(after)?.1 };
        rest.split_whitespace().next()?.parse::<f64>().ok()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let n_not_positive = number("not positive ")? as usize;
    Some(Fitted {
        name: format!("Extra-P, {}", name.trim()),
        median: number("")?,
        mean: number("mean ")?,
        n_not_positive,
        cpu_s: number("cpu ")?,
        start_ms: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_extra_p_are_read() {
        let line = "median, negative exponents   median   3.60 %  mean  15.10 %  not positive   12  cpu 5.70 s";
        let fitted = fitted_in(line).expect("a line of it");
        assert_eq!(fitted.name, "Extra-P, median, negative exponents");
        let figures = [fitted.median, fitted.mean, fitted.cpu_s].map(|figure| format!("{figure}"));
        assert_eq!((figures.join(" ").as_str(), fitted.n_not_positive), ("3.6 15.1 5.7", 12));
        assert!(fitted_in("a warning").is_none());
    }

    #[test]
    fn errors_are_those_of_regions() {
        let said = |value| Prediction {
            region: Some("a".to_owned()),
            parameters: [("p".to_owned(), 2.0), ("n".to_owned(), 3.0)].into(),
            value,
        };
        let unseen = [Unseen { region: "a".to_owned(), point: [2.0, 3.0], truth: 1.0 }];
        let (found, n_not_positive) = errors(&[said(3.0)], &unseen);
        assert!((found[0] - 100.0).abs() < 1e-12 && n_not_positive == 0);
        assert_eq!(errors(&[said(-1.0)], &unseen).1, 1);
    }
}
