//! Tables with a heading: columns for parameters, the region, the metric, and the value.
//!
//! Each row is one repetition. Cells are separated by commas, semicolons or tabs, whichever is most frequent in the
//! heading; a cell in double quotes may contain the separator. The purpose of a column is known by its name and its cells
//! (`columns`), or given by the user. Cells of columns with a unit become seconds and bytes (`units`).

mod columns;
mod units;

use super::{BYTE_ORDER_MARK, Fault, Reading, check_names, check_times, number};
use crate::measurements::{Measurements, MeasurementsBuilder};
use columns::Places;
use units::Unit;

/// Columns to read, where their names do not reveal their purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Columns of the parameters; by default all columns of numbers with no other purpose.
    pub parameters: Option<Vec<String>>,
    /// Column of the value; by default the one named like a measured time.
    pub value: Option<String>,
    /// Column of the region; by default `region` or `callpath`, or the columns of words.
    pub region: Option<String>,
    /// Column of the metric; by default `metric`, if present.
    pub metric: Option<String>,
}

/// Metric of a time with a unit that is converted.
const TIME: &str = "time";

/// Line index, from 0, and cells of a row.
type Row = (usize, Vec<String>);

/// Reads a table.
pub fn read(text: &str, columns: &Columns) -> Reading {
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    let mut lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((idx, heading)) = lines.next() else {
        return Fault::Empty.at_line(0).into();
    };
    let separator = separator(heading);
    let heading = cells(heading, separator);
    let rows: Vec<Row> = lines.map(|(idx, line)| (idx, cells(line, separator))).collect();
    let places = match Places::of(&heading, &rows, columns) {
        Ok(places) => places,
        Err(fault) => return fault.at_line(idx).into(),
    };
    let name = |idx: &usize| units::without(&heading[*idx]).to_owned();
    let names: Vec<String> = places.parameters.iter().map(name).collect();
    if let Err(fault) = check_names(&names) {
        return fault.at_line(idx).into();
    }
    let mut builder = MeasurementsBuilder::of(names);
    let metric = metric(&heading[places.values[0]]);
    let mut problems = Vec::new();
    for (idx, row) in &rows {
        let taken =
            check_length(&heading, row).and_then(|()| take(&places, &mut builder, row, metric));
        problems.extend(taken.err().map(|fault| fault.at_line(*idx)));
    }
    Reading {
        measured: builder.measured,
        problems,
        notes: places.notes(&heading),
        ..Reading::default()
    }
}

/// Returns the metric of a value column.
fn metric(heading: &str) -> &str {
    Unit::of(heading).map_or(heading, |unit| if unit.is_time { TIME } else { unit.name })
}

/// Rejects a row with more cells than the heading: which of them are surplus is not known.
fn check_length(heading: &[String], row: &[String]) -> Result<(), Fault> {
    let n_cells = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    let n_columns = heading.len();
    if n_cells <= n_columns { Ok(()) } else { Err(Fault::TooManyCells { n_cells, n_columns }) }
}

/// Adds a row; without a column for it, the metric is `otherwise`.
fn take(
    places: &Places,
    measured: &mut MeasurementsBuilder,
    row: &[String],
    otherwise: &str,
) -> Result<(), Fault> {
    let cell = |idx: &usize| {
        let name = || Fault::Missing(format!("column {}", idx + 1));
        row.get(*idx).map(String::as_str).ok_or_else(name)
    };
    let in_base_unit = |idx: &usize| Ok(number(cell(idx)?)? * places.factors[*idx]);
    let at = places.parameters.iter().map(in_base_unit).collect::<Result<Vec<_>, _>>()?;
    let region = places.region.iter().map(cell).collect::<Result<Vec<_>, _>>()?.join("->");
    let metric = places.metric.as_ref().map_or(Ok(otherwise), cell)?;
    // A repetition missing at the end of a row is left out alone.
    let (first, more) = places.values.split_first().expect("there is a value");
    let more = more.iter().filter_map(|idx| in_base_unit(idx).ok());
    let values: Vec<f64> = std::iter::once(in_base_unit(first)?).chain(more).collect();
    check_times(metric, &values)?;
    measured.add(&region, metric, &at, &values);
    Ok(())
}

/// Returns the separator that is most frequent in the heading; a comma where it has none.
fn separator(heading: &str) -> char {
    let count = |separator: char| heading.matches(separator).count();
    let most = [';', '\t', ','].into_iter().max_by_key(|separator| count(*separator));
    most.filter(|separator| 0 < count(*separator)).unwrap_or(',')
}

fn cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    // A tab at either end separates an empty cell.
    let mut letters = line.trim_matches([' ', '\r']).chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().expect("there is always one");
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            _ if letter == separator && !quoted => cells.push(String::new()),
            _ => cell.push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Writes the measurements as a table that [`read`] reads.
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
                    text += &format!(",{coordinate}");
                }
                text += &format!(",{value}\n");
            }
        }
    }
    text
}

/// Returns a cell as written in a table: in quotes where necessary.
pub fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', ';', '\t', '\n']) {
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
        measured.add("h", "bytes", &[4.0, 10.5], &[3e-7]);
        let reading = read(&write(&measured), &Columns::default());
        assert_eq!(reading, Reading { measured, ..Reading::default() });
    }

    #[test]
    fn columns_may_be_chosen() {
        let text = "workers,dimension,bytes,measured_s,predicted_s\n1,300,720000,2.091,1.984\n";
        let columns = Columns {
            parameters: Some(vec!["workers".into(), "bytes".into()]),
            value: Some("predicted_s".into()),
            ..Columns::default()
        };
        let mut expected = Measurements::of(vec!["workers".into(), "bytes".into()]);
        expected.add("", "predicted_s", &[1.0, 720_000.0], &[1.984]);
        assert_eq!(read(text, &columns).measured, expected);
        let missing = Columns { value: Some("time".into()), ..Columns::default() };
        assert_eq!(read(text, &missing).problems, [Fault::Missing("time".into()).at_line(0)]);
    }

    #[test]
    fn units_are_converted() {
        let text = "size [MiB],p,time [ms]\n2,4,1500\n";
        let mut expected = Measurements::of(vec!["size".into(), "p".into()]);
        expected.add("", "time", &[2_097_152.0, 4.0], &[1.5]);
        let reading = read(text, &Columns::default());
        assert_eq!(reading.measured, expected);
        let notes = [
            "column `size [MiB]` is read as `size` in bytes",
            "column `time [ms]` is read as `time` in seconds",
        ];
        assert_eq!(reading.notes, notes);
        for (parameter, value) in [("size", "time"), ("size [MiB]", "time [ms]")] {
            let parameters = Some(vec![parameter.to_owned(), "p".to_owned()]);
            let columns =
                Columns { parameters, value: Some(value.to_owned()), ..Columns::default() };
            assert_eq!(read(text, &columns).measured, expected);
        }
        let twice = read("size [MiB],size_kb,p,time\n2,4,1,1\n", &Columns::default());
        assert_eq!(twice.problems, [Fault::NamedTwice("size".into()).at_line(0)]);
        let negative = read("p,solve_us\n1,-2\n", &Columns::default());
        assert_eq!(negative.problems.len(), 1);
    }

    #[test]
    fn a_bad_row_costs_itself() {
        let reading = read("# words\np,value\n1,2\n1\n1,x\n\n2,3\n", &Columns::default());
        assert_eq!(reading.measured.series[0].points.len(), 2);
        let places: Vec<&str> = reading.problems.iter().map(|problem| &problem.place[..]).collect();
        assert_eq!(places, ["line 4", "line 5"]);
        assert_eq!(read("# words", &Columns::default()).problems, [Fault::Empty.at_line(0)]);
    }

    /// A row with too many cells, or with decimal commas, was read from the left and its surplus cells ignored.
    #[test]
    fn a_row_that_is_longer_than_the_heading_is_left_out() {
        let reading = read("p,n,time\n1,2,3,\n1,2,3,4\n1,2,1,5\n", &Columns::default());
        assert_eq!(reading.measured.series[0].points.len(), 1);
        let fault = Fault::TooManyCells { n_cells: 4, n_columns: 3 };
        assert_eq!(reading.problems, [fault.clone().at_line(2), fault.at_line(3)]);
    }

    #[test]
    fn what_is_no_table_is_said() {
        let problems = |text| read(text, &Columns::default()).problems;
        assert_eq!(problems("1,2,3\n2,3,4\n"), [Fault::NoHeading.at_line(0)]);
        assert_eq!(problems("p n time\n1 2 3\n"), [Fault::NoValue.at_line(0)]);
    }

    #[track_caller]
    fn check_separated(text: &str) {
        let mut expected = Measurements::of(vec!["p".into(), "n".into()]);
        expected.add("", "time", &[2.0, 10.0], &[1.5]);
        assert_eq!(read(text, &Columns::default()).measured, expected, "{text}");
    }

    #[test]
    fn cells_may_be_separated_in_several_ways() {
        check_separated("p,n,time\n2,10,1.5\n");
        check_separated("\u{feff}p;n;time\r\n2;10;1.5\r\n");
        check_separated("p\tn\ttime\n2\t10\t1.5");
        check_separated("p,n,time,\n2,10,1.5,\n");
        check_separated("\"p\", \"n\", \"time\"\n\"2\", 10, 1.5");
    }
}
