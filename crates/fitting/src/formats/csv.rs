//! Tables with a heading: columns for parameters, the region, the metric, and the value.
//!
//! Each row is one repetition. Cells may be in double quotes, which is how a comma gets into one.

use super::{Fault, Reading, number};
use crate::measurements::Measurements;
use std::fmt::Write;

/// Which columns are read, where their names do not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The parameters; otherwise all columns that are nothing else.
    pub parameters: Option<Vec<String>>,
    /// The value; otherwise `value`, or the last column.
    pub value: Option<String>,
    /// The region; otherwise `region` or `callpath`, if there is one.
    pub region: Option<String>,
    /// The metric; otherwise `metric`, if there is one.
    pub metric: Option<String>,
}

/// Positions of the columns.
struct Places {
    parameters: Vec<usize>,
    value: usize,
    region: Option<usize>,
    metric: Option<usize>,
}

/// Reads a table.
pub fn read(text: &str, columns: &Columns) -> Reading {
    let mut reading = Reading::default();
    let mut lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((idx, heading)) = lines.next() else {
        reading.problems.push(Fault::Missing("heading".into()).at_line(0));
        return reading;
    };
    let heading = cells(heading);
    let places = match Places::of(&heading, columns) {
        Ok(places) => places,
        Err(fault) => {
            reading.problems.push(fault.at_line(idx));
            return reading;
        }
    };
    let metric = heading[places.value].clone();
    reading.measured.parameters =
        places.parameters.iter().map(|idx| heading[*idx].clone()).collect();
    for (idx, line) in lines {
        if let Err(fault) = places.take(&mut reading.measured, &cells(line), &metric) {
            reading.problems.push(fault.at_line(idx));
        }
    }
    reading
}

impl Places {
    fn of(heading: &[String], columns: &Columns) -> Result<Self, Fault> {
        let of = |name: &str| heading.iter().position(|other| other == name);
        let wished = |name: &Option<String>, customs: &[&str]| match name {
            Some(name) => of(name).map(Some).ok_or_else(|| Fault::Missing(name.clone())),
            None => Ok(customs.iter().find_map(|name| of(name))),
        };
        let region = wished(&columns.region, &["region", "callpath"])?;
        let metric = wished(&columns.metric, &["metric"])?;
        let value = wished(&columns.value, &["value"])?.unwrap_or(heading.len() - 1);
        let parameters = match &columns.parameters {
            Some(names) => names
                .iter()
                .map(|name| of(name).ok_or_else(|| Fault::Missing(name.clone())))
                .collect::<Result<Vec<usize>, Fault>>()?,
            None => (0..heading.len())
                .filter(|idx| ![Some(value), region, metric].contains(&Some(*idx)))
                .collect(),
        };
        Ok(Self { parameters, value, region, metric })
    }

    /// Adds a row; the metric is `otherwise` without a column for it.
    fn take(
        &self,
        measured: &mut Measurements,
        row: &[String],
        otherwise: &str,
    ) -> Result<(), Fault> {
        let cell = |idx: usize| {
            let name = || Fault::Missing(format!("column {}", idx + 1));
            row.get(idx).map(String::as_str).ok_or_else(name)
        };
        let at =
            self.parameters.iter().map(|idx| number(cell(*idx)?)).collect::<Result<Vec<_>, _>>()?;
        let region = self.region.map_or(Ok(""), cell)?;
        let metric = self.metric.map_or(Ok(otherwise), cell)?;
        measured.add(region, metric, &at, &[number(cell(self.value)?)?]);
        Ok(())
    }
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().expect("there is always one");
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cell.push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The measurements as a table that [`read`] reads.
pub fn write(measured: &Measurements) -> String {
    let mut text = String::from("region,metric");
    for parameter in &measured.parameters {
        text.push(',');
        text += &quoted(parameter);
    }
    text += ",value\n";
    for series in &measured.series {
        for point in &series.points {
            for value in &point.values {
                text += &format!("{},{}", quoted(&series.region), quoted(&series.metric));
                for coordinate in &point.at {
                    write!(text, ",{coordinate}").expect("a string takes everything");
                }
                writeln!(text, ",{value}").expect("a string takes everything");
            }
        }
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut measured = Measurements::of(vec!["p".into(), "n".into()]);
        measured.add("f(int, \"x\")->g", "time", &[2.0, 10.0], &[1.5, 2.0]);
        measured.add("h", "bytes", &[2.0, 10.5], &[3e-7]);
        let reading = read(&write(&measured), &Columns::default());
        assert_eq!(reading, Reading { measured, problems: Vec::new() });
    }

    #[test]
    fn columns_may_be_chosen() {
        let text = "workers,dimension,bytes,measured_s,predicted_s\n1,300,720000,2.091,1.984\n";
        let columns = Columns {
            parameters: Some(vec!["workers".into(), "bytes".into()]),
            value: Some("measured_s".into()),
            ..Columns::default()
        };
        let mut expected = Measurements::of(vec!["workers".into(), "bytes".into()]);
        expected.add("", "measured_s", &[1.0, 720_000.0], &[2.091]);
        assert_eq!(read(text, &columns), Reading { measured: expected, problems: Vec::new() });
        let missing = Columns { value: Some("time".into()), ..Columns::default() };
        assert_eq!(read(text, &missing).problems, [Fault::Missing("time".into()).at_line(0)]);
    }

    #[test]
    fn a_bad_row_costs_itself() {
        let reading = read("# words\np,value\n1,2\n1\n1,x\n\n2,3\n", &Columns::default());
        assert_eq!(reading.measured.series[0].points.len(), 2);
        let places: Vec<&str> = reading.problems.iter().map(|problem| &problem.place[..]).collect();
        assert_eq!(places, ["line 4", "line 5"]);
        assert_eq!(read("", &Columns::default()).problems.len(), 1);
    }
}
