//! Results of hyperfine (`--export-json`) with parameters (`--parameter-scan`, `--parameter-list`).
//!
//! Parameters whose values are numbers are the parameters, those with words are part of the region. Where several
//! commands share a point, the region also has the command, with the parameters' names for their values.

use super::json_objects::objects;
use super::{Fault, FileProblem, Reading, check_times, number};
use crate::measurements::MeasurementsBuilder;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// First member of a file.
pub(super) const FIRST: &str = "results";
/// Metric of the measured times.
const METRIC: &str = "time";

#[derive(Deserialize)]
struct Export {
    results: Vec<Benchmark>,
}

/// Command and its times.
#[derive(Debug, Deserialize)]
pub(super) struct Benchmark {
    #[serde(default)]
    command: String,
    /// Time of each run, in seconds.
    #[serde(default)]
    times: Vec<f64>,
    /// Mean time, in seconds.
    mean: Option<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

impl Benchmark {
    /// Takes these parameters if it has none.
    pub(super) fn set_parameters(&mut self, settings: &[(String, f64)]) {
        if self.parameters.is_empty() {
            let of = |(name, value): &(String, f64)| (name.clone(), Value::from(value.to_string()));
            self.parameters = settings.iter().map(of).collect();
        }
    }

    /// Returns a value as it stands in the command.
    fn text_of(&self, name: &str) -> Option<String> {
        match self.parameters.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Returns a value that is a number.
    fn number_of(&self, name: &str) -> Result<f64, Fault> {
        number(&self.text_of(name).ok_or_else(|| Fault::Missing(name.to_owned()))?)
    }

    /// Returns the command with the names of these parameters for their values.
    fn template(&self, names: &[String]) -> String {
        let values = names.iter().map(|name| (name, self.text_of(name)));
        let values: Vec<(&String, Option<String>)> = values.collect();
        let one = |word: &str| {
            let found = values.iter().find(|(_, value)| value.as_deref() == Some(word));
            found.map_or_else(|| word.to_owned(), |(name, _)| format!("{{{name}}}"))
        };
        self.command.split(' ').map(one).collect::<Vec<_>>().join(" ")
    }
}

/// Benchmark and its place.
pub(super) type Placed = (String, Benchmark);

/// Reads a file, or several put together.
pub fn read(text: &str) -> Reading {
    let (benchmarks, problems) = benchmarks(text);
    reading(&benchmarks, problems)
}

/// Reads the benchmarks of a file, and its problems.
pub(super) fn benchmarks(text: &str) -> (Vec<Placed>, Vec<FileProblem>) {
    let (mut benchmarks, mut problems) = (Vec::new(), Vec::new());
    for (line_idx, export) in objects::<Export>(text) {
        match export {
            Ok(export) => benchmarks.extend(export.results),
            Err(fault) => problems.push(fault.at_line(line_idx)),
        }
    }
    let placed = |(idx, benchmark)| (format!("result {}", idx + 1), benchmark);
    (benchmarks.into_iter().enumerate().map(placed).collect(), problems)
}

/// Returns the measurements of all benchmarks, with these problems and further ones.
pub(super) fn reading(benchmarks: &[Placed], mut problems: Vec<FileProblem>) -> Reading {
    let scan = Scan::of(benchmarks.iter().map(|(_, benchmark)| benchmark));
    if scan.numbers.is_empty() {
        if problems.is_empty() {
            problems.push(Fault::NoScan.at("`results`"));
        }
        return Reading { problems, ..Reading::default() };
    }
    let mut builder = MeasurementsBuilder::of(scan.numbers.clone());
    for (place, benchmark) in benchmarks {
        let taken = scan.take(benchmark, &mut builder);
        problems.extend(taken.err().map(|fault| fault.at(place.clone())));
    }
    Reading { measured: builder.measured, problems, ..Reading::default() }
}

/// Purposes of the parameters of a scan.
struct Scan {
    /// Parameters with numbers only.
    numbers: Vec<String>,
    /// Parameters with words, which are part of the region.
    words: Vec<String>,
    /// True if the region has the command, because several commands share a point.
    has_commands: bool,
}

impl Scan {
    fn of<'a>(benchmarks: impl Iterator<Item = &'a Benchmark>) -> Self {
        let benchmarks: Vec<&Benchmark> = benchmarks.collect();
        let mut names: Vec<&String> = Vec::new();
        for name in benchmarks.iter().flat_map(|benchmark| benchmark.parameters.keys()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let is_number = |name: &&String| {
            let texts = || benchmarks.iter().filter_map(|it| it.text_of(name));
            texts().all(|text| number(&text).is_ok())
        };
        let (numbers, words): (Vec<&String>, Vec<&String>) = names.into_iter().partition(is_number);
        let (numbers, words) = (owned(&numbers), owned(&words));
        let parameters = [&numbers[..], &words].concat();
        let mut commands: HashMap<String, HashSet<String>> = HashMap::new();
        for benchmark in benchmarks.iter().filter(|it| !it.parameters.is_empty()) {
            let at = format!("{:?}", benchmark.parameters);
            commands.entry(at).or_default().insert(benchmark.template(&parameters));
        }
        let has_commands = commands.values().any(|commands| 1 < commands.len());
        Self { has_commands, numbers, words }
    }

    /// Adds a benchmark.
    fn take(&self, benchmark: &Benchmark, to: &mut MeasurementsBuilder) -> Result<(), Fault> {
        if benchmark.parameters.is_empty() {
            return Err(Fault::NoScan);
        }
        let at = self.numbers.iter().map(|name| benchmark.number_of(name));
        let at = at.collect::<Result<Vec<f64>, Fault>>()?;
        let mut values = benchmark.times.clone();
        if values.is_empty() {
            values.extend(benchmark.mean);
        }
        if values.is_empty() {
            return Err(Fault::Missing("times".to_owned()));
        }
        check_times(METRIC, &values)?;
        to.add(&self.region(benchmark), METRIC, &at, &values);
        Ok(())
    }

    fn region(&self, benchmark: &Benchmark) -> String {
        let word = |name: &String| Some(format!("{name}={}", benchmark.text_of(name)?));
        let words = self.words.iter().filter_map(word);
        let command = || benchmark.template(&[&self.numbers[..], &self.words].concat());
        let parts = words.chain(self.has_commands.then(command));
        parts.collect::<Vec<_>>().join(", ")
    }
}

fn owned(names: &[&String]) -> Vec<String> {
    names.iter().map(|name| (*name).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::Measurements;

    fn export(results: &[&str]) -> String {
        format!("{{\n  \"results\": [{}]\n}}\n", results.join(",\n"))
    }

    #[track_caller]
    fn check(results: &[&str], parameters: &[&str], expected: &[(&str, &[f64], &[f64])]) {
        let names = parameters.iter().map(|name| (*name).to_owned()).collect();
        let mut measured = Measurements::of(names);
        for (region, at, values) in expected {
            measured.add(region, "time", at, values);
        }
        assert_eq!(read(&export(results)), Reading { measured, ..Reading::default() });
    }

    #[test]
    fn a_scan_has_points() {
        let one =
            r#"{"command": "sort 10", "mean": 1.5, "times": [1, 2], "parameters": {"n": "10"}}"#;
        let two = r#"{"command": "sort 20", "mean": 4, "parameters": {"n": 20}}"#;
        check(&[one, two], &["n"], &[("", &[10.0], &[1.0, 2.0]), ("", &[20.0], &[4.0])]);
    }

    #[test]
    fn words_are_part_of_the_region() {
        let gcc = r#"{"command": "a", "times": [1], "parameters": {"cc": "gcc", "n": "1"}}"#;
        let clang = r#"{"command": "a", "times": [2], "parameters": {"cc": "clang", "n": "1"}}"#;
        let expected: &[(&str, &[f64], &[f64])] =
            &[("cc=gcc", &[1.0], &[1.0]), ("cc=clang", &[1.0], &[2.0])];
        check(&[gcc, clang], &["n"], expected);
    }

    #[test]
    fn commands_with_the_same_points_are_regions() {
        let of = |command: &str, n: u8| {
            format!(r#"{{"command": "{command} {n}", "times": [1], "parameters": {{"n": "{n}"}}}}"#)
        };
        let results = [of("a", 1), of("b", 1), of("a", 2), of("b", 2)];
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let expected: &[(&str, &[f64], &[f64])] = &[
            ("a {n}", &[1.0], &[1.0]),
            ("b {n}", &[1.0], &[1.0]),
            ("a {n}", &[2.0], &[1.0]),
            ("b {n}", &[2.0], &[1.0]),
        ];
        check(&results, &["n"], expected);
    }

    #[track_caller]
    fn check_damaged(text: &str, expected: &str) {
        let said: Vec<String> = read(text).problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_bad_result_costs_itself() {
        let good = r#"{"command": "a", "times": [1], "parameters": {"n": "1"}}"#;
        let plain = r#"{"command": "a", "times": [1]}"#;
        let remedy = "the commands have no parameters with numbers: run hyperfine with \
                      `--parameter-scan` or `--parameter-list`";
        check_damaged(&export(&[plain]), &format!("`results`: {remedy}"));
        check_damaged(&export(&[good, plain]), &format!("result 2: {remedy}"));
        let without = r#"{"command": "a", "parameters": {"n": "1"}}"#;
        check_damaged(&export(&[good, without]), "result 2: `times` is missing: add it");
        let other = r#"{"command": "a", "times": [1], "parameters": {"p": "1"}}"#;
        assert_eq!(read(&export(&[good, other])).problems.len(), 2);
        let cut = "line 2: unexpected JSON: it ends within an object: write the file again";
        check_damaged(&export(&[good])[..60], cut);
    }
}
