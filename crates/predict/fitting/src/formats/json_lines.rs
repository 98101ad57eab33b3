//! Extra-P's JSON Lines: each line is an object with `params`, `value` and optionally `callpath` and
//! `metric`. Also the lines of Talpas, with `parameters` and semicolons.

use super::call_paths::{self, CallPaths};
use super::{Fault, Pairs, Reading, check_names, check_times};
use crate::measurements::MeasurementsBuilder;
use crate::model::TOTAL;
use crate::placement::Placement;
use serde::Deserialize;

/// Extra-P's name of an unnamed region.
const REGION: &str = "<root>";
/// Extra-P's name of an unnamed metric.
const METRIC: &str = "<default>";

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "parameters")]
    params: Pairs<f64>,
    value: Values,
    callpath: Option<String>,
    metric: Option<String>,
    /// Number of samples of a time by call path.
    samples: Option<u64>,
    /// Placement of the run's ranks, with its whole time.
    placement: Option<Placement>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(f64),
    Several(Vec<f64>),
}

/// Reads a file.
pub fn read(text: &str) -> Reading {
    read_lines(text, str::to_owned)
}

/// Reads a file of Talpas, whose lines have semicolons where JSON has commas.
pub fn read_talpas(text: &str) -> Reading {
    read_lines(text, commas)
}

fn read_lines(text: &str, json: impl Fn(&str) -> String) -> Reading {
    let (mut builder, mut problems) = (MeasurementsBuilder::default(), Vec::new());
    let mut paths = CallPaths::default();
    for (idx, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = serde_json::from_str::<Line>(&json(line));
        let taken = parsed.map_err(|error| Fault::Malformed(error.to_string()));
        if let Err(fault) = taken.and_then(|line| take(&mut builder, &mut paths, &line)) {
            problems.push(fault.at_line(idx));
        }
    }
    Reading { measured: builder.measured, problems, paths, ..Reading::default() }
}

/// Replaces semicolons outside quotes by commas.
fn commas(line: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let one = |letter| {
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        if letter == ';' && !is_quoted { ',' } else { letter }
    };
    line.chars().map(one).collect()
}

fn take(
    builder: &mut MeasurementsBuilder,
    paths: &mut CallPaths,
    line: &Line,
) -> Result<(), Fault> {
    let given = &line.params.0;
    let measured = &mut builder.measured;
    if measured.parameters.is_empty() {
        check_names(given.iter().map(|(name, _)| name))?;
        measured.parameters = given.iter().map(|(name, _)| name.clone()).collect();
    }
    let n_parameters = measured.parameters.len();
    if given.len() != n_parameters {
        return Err(Fault::WrongPoint { n_given: given.len(), n_parameters });
    }
    let value_of = |name: &String| {
        let found = given.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
        found.ok_or_else(|| Fault::Missing(name.clone()))
    };
    let at = measured.parameters.iter().map(value_of).collect::<Result<Vec<f64>, Fault>>()?;
    let values = match &line.value {
        Values::One(value) => std::slice::from_ref(value),
        Values::Several(values) => values,
    };
    let region = line.callpath.as_deref().unwrap_or(REGION);
    let metric = line.metric.as_deref().unwrap_or(METRIC);
    check_times(metric, values)?;
    if let ([value], call_paths::METRIC) = (values, metric) {
        paths.add(region, &at, *value, line.samples.unwrap_or(0));
        return Ok(());
    }
    if (region, metric) == (TOTAL, "time") {
        paths.begin_run(&at);
        let placement = line.placement.map(|placement| (at.clone(), placement));
        builder.measured.placements.extend(placement);
    }
    builder.add(region, metric, &at, values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::Measurements;

    #[test]
    fn lines_gather_by_region_and_point() {
        let text = r#"
            {"params": {"p": 2, "n": 10}, "value": 1.5}
            {"params": {"n": 10, "p": 2}, "value": [2, 3.5], "metric": "<default>"}

            {"params": {"p": 4, "n": 10}, "value": 4, "callpath": "a->b", "metric": "time"}
        "#;
        let reading = read(text);
        let mut expected = Measurements::of(vec!["p".into(), "n".into()]);
        expected.add("<root>", "<default>", &[2.0, 10.0], &[1.5, 2.0, 3.5]);
        expected.add("a->b", "time", &[4.0, 10.0], &[4.0]);
        assert_eq!(reading, Reading { measured: expected, ..Reading::default() });
    }

    #[test]
    fn talpas_has_semicolons() {
        let text = r#"{"parameters":{"x":20;"y":1};"metric":"time";"callpath":"a(int; \";\")";"value":8.2}"#;
        let mut expected = Measurements::of(vec!["x".into(), "y".into()]);
        expected.add("a(int; \";\")", "time", &[20.0, 1.0], &[8.2]);
        assert_eq!(read_talpas(text), Reading { measured: expected, ..Reading::default() });
    }

    #[test]
    fn a_bad_line_costs_itself() {
        let good = r#"{"params": {"p": 2}, "value": 1}"#;
        for bad in [
            "words",
            r#"{"params": {"p": 2}}"#,
            r#"{"params": {"n": 2}, "value": 1}"#,
            r#"{"params": {"p": 2, "n": 2}, "value": 1}"#,
            r#"{"params": {"p": "x"}, "value": 1}"#,
        ] {
            let reading = read(&format!("{good}\n{bad}\n{good}"));
            assert_eq!(reading.measured.series[0].points[0].values, [1.0, 1.0]);
            let places: Vec<&str> = reading.problems.iter().map(|p| &p.place[..]).collect();
            assert_eq!(places, ["line 2"], "{bad}");
        }
    }
}
