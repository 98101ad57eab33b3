//! Extra-P's text: sections PARAMETER, POINTS, REGION, METRIC and DATA, one DATA line for each point.

use super::{Fault, Reading, check_names, check_times, number};
use crate::measurements::MeasurementsBuilder;

pub(super) const SECTIONS: [&str; 5] = ["PARAMETER", "POINTS", "REGION", "METRIC", "DATA"];

#[derive(Default)]
struct State {
    builder: MeasurementsBuilder,
    points: Vec<Vec<f64>>,
    region: String,
    metric: String,
    /// Index of the point that the next DATA line belongs to.
    point_idx: usize,
}

/// Reads a file.
pub fn read(text: &str) -> Reading {
    let mut state = State::default();
    let mut problems = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let faults = state.take(line);
        problems.extend(faults.into_iter().map(|fault| fault.at_line(idx)));
    }
    Reading { measured: state.builder.measured, problems, ..Reading::default() }
}

impl State {
    fn take(&mut self, line: &str) -> Vec<Fault> {
        let (section, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match section {
            "PARAMETER" => {
                let names = &mut self.builder.measured.parameters;
                let new = rest.split_whitespace().map(str::to_owned);
                let longer: Vec<String> = names.iter().cloned().chain(new).collect();
                if !self.points.is_empty() {
                    return vec![Fault::LateParameter];
                }
                if let Err(fault) = check_names(&longer) {
                    return vec![fault];
                }
                *names = longer;
                Vec::new()
            }
            "POINTS" => self.points(rest),
            "REGION" | "METRIC" => {
                let name = if section == "REGION" { &mut self.region } else { &mut self.metric };
                rest.clone_into(name);
                self.point_idx = 0;
                Vec::new()
            }
            "DATA" => self.data(rest),
            other => vec![Fault::UnknownSection(other.to_owned())],
        }
    }

    /// Reads points in brackets, `(1 2) (3 4)` or `((1) (2)) ((3) (4))`, or without brackets.
    fn points(&mut self, rest: &str) -> Vec<Fault> {
        let n_parameters = self.builder.measured.parameters.len();
        if n_parameters == 0 {
            return vec![Fault::Missing("PARAMETER".to_owned())];
        }
        let numbers = rest.replace(['(', ')'], " ");
        let numbers: Result<Vec<f64>, Fault> = numbers.split_whitespace().map(number).collect();
        let numbers = match numbers {
            Ok(numbers) => numbers,
            Err(fault) => return vec![fault],
        };
        let complete = numbers.chunks_exact(n_parameters);
        let n_given = complete.remainder().len();
        self.points.extend(complete.map(<[f64]>::to_vec));
        if n_given == 0 { Vec::new() } else { vec![Fault::WrongPoint { n_given, n_parameters }] }
    }

    fn data(&mut self, rest: &str) -> Vec<Fault> {
        let Some(at) = self.points.get(self.point_idx) else { return vec![Fault::TooManyData] };
        self.point_idx += 1;
        let (mut values, mut faults) = (Vec::new(), Vec::new());
        for cell in rest.split_whitespace() {
            match number(cell) {
                Ok(value) => values.push(value),
                Err(fault) => faults.push(fault),
            }
        }
        match check_times(&self.metric, &values) {
            Ok(()) => self.builder.add(&self.region, &self.metric, at, &values),
            Err(fault) => faults.push(fault),
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, &[f64], &[f64])], n_problems: usize) {
        let reading = read(text);
        let mut found = Vec::new();
        for series in &reading.measured.series {
            for point in &series.points {
                found.push((
                    &series.region[..],
                    &series.metric[..],
                    &point.at[..],
                    &point.values[..],
                ));
            }
        }
        assert_eq!(found, expected, "{:?}", reading.problems);
        assert_eq!(reading.problems.len(), n_problems, "{:?}", reading.problems);
    }

    #[test]
    fn points_may_be_written_in_several_ways() {
        let data = "\nREGION a->b\nDATA 1 2\nDATA 3\n";
        let one: [(&str, &str, &[f64], &[f64]); 2] =
            [("a->b", "", &[4.0], &[1.0, 2.0]), ("a->b", "", &[8.0], &[3.0])];
        check(&format!("PARAMETER p\nPOINTS 4 8{data}"), &one, 0);
        check(&format!("# words\nPARAMETER p\r\nPOINTS (4) (8){data}"), &one, 0);
        check(&format!("PARAMETER p\n\nPOINTS ( 4 )\nPOINTS ( 8 ){data}"), &one, 0);
        let two: [(&str, &str, &[f64], &[f64]); 2] =
            [("a->b", "", &[4.0, 1.0], &[1.0, 2.0]), ("a->b", "", &[8.0, 2.0], &[3.0])];
        check(&format!("PARAMETER p n\nPOINTS (4 1) (8 2){data}"), &two, 0);
        check(&format!("PARAMETER p\nPARAMETER n\nPOINTS ((4) (1)) ((8) (2)){data}"), &two, 0);
        check(&format!("PARAMETER p n\nPOINTS ( 4  1 )( 8 2 ){data}"), &two, 0);
    }

    #[test]
    fn a_metric_holds_until_the_next() {
        let text = "PARAMETER p\nPOINTS 1\nREGION a\nMETRIC time\nDATA 1\nMETRIC bytes\nDATA 2\nREGION b\nDATA 3";
        check(
            text,
            &[
                ("a", "time", &[1.0], &[1.0]),
                ("a", "bytes", &[1.0], &[2.0]),
                ("b", "bytes", &[1.0], &[3.0]),
            ],
            0,
        );
    }

    #[test]
    fn a_bad_line_costs_itself() {
        let text = "PARAMETER p\nPOINTS 1\nPOINT 2\nREGION a\nDATA 1 x nan 2\nDATA 5";
        check(text, &[("a", "", &[1.0], &[1.0, 2.0])], 4);
        check("POINTS 1", &[], 1);
        check("PARAMETER p n\nPOINTS (1 2 3)", &[], 1);
        let first = read("PARAMETER p\n\nWORDS").problems[0].to_string();
        assert_eq!(
            first,
            "line 3: `WORDS` is not a section: expected PARAMETER, POINTS, REGION, METRIC or DATA"
        );
    }
}
