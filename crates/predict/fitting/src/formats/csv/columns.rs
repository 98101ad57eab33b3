//! Assigns the columns of a table to their purposes: given by the user, or guessed from names and cells.
//!
//! A column of words names regions. Of the columns of numbers, the value is the one named like a measured time; those
//! named like a prediction, an error or a repetition number are left out, as is one that is equivalent to
//! another. All others are parameters. Guesses are reported ([`Places::notes`]).

use super::units::{self, Unit};
use super::{Columns, Row, metric};
use crate::formats::{Fault, TIMES, check_names, number, plain};
use std::collections::HashMap;

/// Indices of the columns, by purpose.
pub(super) struct Places {
    pub(super) parameters: Vec<usize>,
    /// Columns of values, several where each repetition has its own.
    pub(super) values: Vec<usize>,
    /// Columns whose cells, joined, name the region.
    pub(super) region: Vec<usize>,
    pub(super) metric: Option<usize>,
    /// Seconds, bytes or numbers in one unit of each column.
    pub(super) factors: Vec<f64>,
    /// Columns that are not used, and the reasons.
    left_out: Vec<(usize, String)>,
    /// Columns taken for the region because of their cells: index, first cell that is not a number, and its line.
    words: Vec<(usize, String, usize)>,
    /// True if several columns could have been the value.
    is_value_guessed: bool,
}

const REGIONS: [&str; 6] = ["region", "callpath", "call_path", "function", "kernel", "phase"];
const METRICS: [&str; 1] = ["metric"];
/// Name of a value column that takes precedence over names of times.
const VALUE: &str = "value";
/// First words of names of computed, not measured, values.
const COMPUTED: &str = "predict predicted prediction forecast modeled modelled expected error errors residual speedup efficiency \
    extrap std stdev stddev sd var variance ci sem min max";
const REPETITIONS: [&str; 9] =
    ["rep", "repetition", "repeat", "trial", "sample", "replicate", "run_id", "iteration", "row"];

impl Places {
    /// Assigns the columns.
    ///
    /// # Errors
    /// When a column given by name is missing, two parameters have the same name, or no column is left for the value.
    pub(super) fn of(heading: &[String], rows: &[Row], columns: &Columns) -> Result<Self, Fault> {
        if heading.iter().all(|name| number(name).is_ok()) {
            return Err(Fault::NoHeading);
        }
        if heading.len() == 1 {
            return Err(Fault::NoValue);
        }
        let named = |name: &String| {
            let found = heading.iter().position(|other| other == name);
            let plain = || {
                heading
                    .iter()
                    .position(|other| units::without(other) == name || metric(other) == name)
            };
            found.or_else(plain).ok_or_else(|| Fault::Missing(name.clone()))
        };
        let wished = |name: &Option<String>, customs: &[&str]| match name {
            Some(name) => named(name).map(Some),
            None => Ok(heading.iter().position(|it| customs.contains(&it.to_lowercase().as_str()))),
        };
        let metric = wished(&columns.metric, &METRICS)?;
        let mut region: Vec<usize> = wished(&columns.region, &REGIONS)?.into_iter().collect();
        let said = columns.parameters.as_ref().map(|names| names.iter().map(named).collect());
        let said: Option<Vec<usize>> = said.transpose()?;
        let is_taken = |idx: &usize| Some(*idx) == metric || region.contains(idx);
        let is_parameter = |idx: &usize| said.as_ref().is_some_and(|said| said.contains(idx));
        let is_left = |idx: &usize| {
            !is_taken(idx) && !is_parameter(idx) && !is_nothing(&heading[*idx], rows, *idx)
        };
        let left = (0..heading.len()).filter(is_left);
        let (names, numbers): (Vec<usize>, Vec<usize>) = left.partition(|it| is_words(rows, *it));
        let (value, is_value_guessed) = match &columns.value {
            Some(name) => (named(name)?, false),
            None => value(heading, &numbers).ok_or(Fault::NoValue)?,
        };
        let mut left_out: Vec<(usize, String)> = Vec::new();
        let mut words = Vec::new();
        if region.is_empty() {
            words.extend(names.iter().filter_map(|idx| first_word(rows, *idx)));
            region = names;
        } else {
            left_out.extend(names.into_iter().map(|idx| (idx, "it has no numbers".to_owned())));
        }
        let is_more =
            |idx: usize| columns.value.is_none() && are_numbered(&heading[idx], &heading[value]);
        let (mut values, numbers): (Vec<usize>, _) =
            numbers.into_iter().partition(|idx| *idx == value || is_more(*idx));
        if values.is_empty() {
            values.push(value);
        }
        let parameters = match said {
            Some(said) => {
                left_out
                    .extend(numbers.into_iter().map(|idx| (idx, "it was not named".to_owned())));
                said
            }
            None => parameters(heading, rows, numbers, &mut left_out),
        };
        check_names(parameters.iter().map(|idx| &heading[*idx]))?;
        let factor = |name: &String| Unit::of(name).map_or(1.0, |unit| unit.factor);
        let factors = heading.iter().map(factor).collect();
        Ok(Self { parameters, values, region, metric, factors, left_out, words, is_value_guessed })
    }

    /// Returns the guesses, as sentences.
    pub(super) fn notes(&self, heading: &[String]) -> Vec<String> {
        let one = |(idx, reason): &(usize, String)| {
            format!("column `{}` is not used: {reason}", heading[*idx])
        };
        let of_region = |(idx, word, line): &(usize, String, usize)| {
            let told = format!("`{word}` in line {line} is not a number");
            format!("column `{}` is read as the region: {told}", heading[*idx])
        };
        let mut notes: Vec<String> = self.words.iter().map(of_region).collect();
        notes.extend(self.left_out.iter().map(one));
        if let Some(value) = self.values.first().filter(|_| self.is_value_guessed) {
            notes.push(format!("column `{}` is taken for the measured value", heading[*value]));
        }
        for idx in self.parameters.iter().chain(&self.values) {
            if let Some(unit) = Unit::of(&heading[*idx]) {
                let heading = &heading[*idx];
                let is_value = self.values.contains(idx);
                let name = if is_value { metric(heading) } else { unit.name };
                notes.push(format!("column `{heading}` is read as `{name}` in {}", unit.base()));
            }
        }
        notes
    }
}

/// Returns whether a column has neither a name nor cells, as the last one of lines that end with a separator.
fn is_nothing(name: &str, rows: &[Row], idx: usize) -> bool {
    name.is_empty() && rows.iter().all(|(_, row)| row.get(idx).is_none_or(String::is_empty))
}

/// Returns whether most cells of a column are words.
fn is_words(rows: &[Row], idx: usize) -> bool {
    let cells = || rows.iter().filter_map(|(_, row)| row.get(idx)).filter(|cell| !cell.is_empty());
    let n_words = cells().filter(|cell| number(cell).is_err() && !is_meant(cell)).count();
    cells().count() < 2 * n_words
}

/// Words that stand for a missing or unrepresentable number.
const NO_NUMBERS: [&str; 8] = ["nan", "inf", "infinity", "na", "n/a", "null", "none", "-"];
/// Largest number of letters in a unit behind a number.
const N_UNIT_MAX: usize = 3;

/// Returns whether a cell that does not parse is meant as a number: `NaN`, `1,5`, `1_000`, `0x10`, `5 %`, `3ms`.
fn is_meant(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let rest = cell.trim_start_matches(['+', '-']);
    if NO_NUMBERS.contains(&rest) || NO_NUMBERS.contains(&cell.as_str()) {
        return true;
    }
    let is_of_number = |letter: &char| {
        letter.is_ascii_digit() || [' ', ',', '.', '_', '\'', '+', '-'].contains(letter)
    };
    let n_other = rest.chars().filter(|letter| !is_of_number(letter)).count();
    rest.starts_with(|letter: char| letter.is_ascii_digit()) && n_other <= N_UNIT_MAX
}

/// Returns the first cell of a column that is not a number, with its column and its line from 1.
fn first_word(rows: &[Row], idx: usize) -> Option<(usize, String, usize)> {
    let cells = rows.iter().filter_map(|(line, row)| Some((line, row.get(idx)?)));
    let mut words = cells.filter(|(_, cell)| !cell.is_empty() && number(cell).is_err());
    words.next().map(|(line, word)| (idx, word.clone(), line + 1))
}

/// Returns whether a column's name means that its values were computed.
fn is_computed(name: &str) -> bool {
    let name = plain(name);
    let first = name.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    name == "model" || COMPUTED.split(' ').any(|word| word == first)
}

/// Returns whether two names differ only in the number at their ends, as `time_1` and `time_2` do.
fn are_numbered(name: &str, other: &str) -> bool {
    let stem = |name: &'_ str| {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        (stem.len() < name.len()).then(|| stem.to_owned())
    };
    stem(name).is_some() && stem(name) == stem(other)
}

/// Returns the column of the value, and whether another column was as likely.
fn value(heading: &[String], numbers: &[usize]) -> Option<(usize, bool)> {
    let measured: Vec<usize> =
        numbers.iter().copied().filter(|idx| !is_computed(&heading[*idx])).collect();
    let stem = |idx: usize| {
        let name = plain(&heading[idx]);
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_').to_owned()
    };
    let mut customs = [VALUE].into_iter().chain(TIMES.split(' '));
    let customary =
        customs.find_map(|custom| measured.iter().copied().find(|idx| stem(*idx) == custom));
    if let Some(idx) = customary {
        return Some((idx, false));
    }
    let is_size = |name: &str| Unit::of(name).is_some_and(|unit| !unit.is_time);
    let has_unit = |idx: &usize| {
        plain(&heading[*idx]) != heading[*idx].to_lowercase() && !is_size(&heading[*idx])
    };
    let with_unit: Vec<usize> = measured.iter().copied().filter(has_unit).collect();
    match with_unit[..] {
        [only] => Some((only, false)),
        [.., last] => Some((last, true)),
        [] => measured.last().or(numbers.last()).map(|idx| (*idx, 2 < numbers.len())),
    }
}

/// Returns those of the columns that are parameters.
fn parameters(
    heading: &[String],
    rows: &[Row],
    numbers: Vec<usize>,
    left_out: &mut Vec<(usize, String)>,
) -> Vec<usize> {
    let mut parameters: Vec<usize> = Vec::new();
    let mut repeating: Vec<(usize, String)> = Vec::new();
    for idx in numbers {
        let name = &heading[idx];
        let same = || parameters.iter().find(|other| say_the_same(rows, **other, idx));
        if is_computed(name) {
            left_out.push((idx, "its name says that it was computed".to_owned()));
        } else if REPETITIONS.contains(&plain(name).as_str()) {
            left_out.push((idx, "its name says that it counts repetitions".to_owned()));
        } else if let Some(other) = same() {
            repeating.push((idx, format!("it duplicates `{}`", heading[*other])));
        } else {
            parameters.push(idx);
        }
    }
    // Sizes that only grow with the processes: which of the two matters is not known, so both are kept.
    if parameters.len() < 2 {
        parameters.extend(repeating.into_iter().map(|(idx, _)| idx));
    } else {
        left_out.extend(repeating);
    }
    parameters
}

/// Returns whether two columns are equivalent: a one-to-one mapping of at least three values.
fn say_the_same(rows: &[Row], a: usize, b: usize) -> bool {
    let (mut forth, mut back) = (HashMap::new(), HashMap::new());
    for (_, row) in rows {
        let (Some(a), Some(b)) = (row.get(a), row.get(b)) else { continue };
        if *forth.entry(a).or_insert(b) != b || *back.entry(b).or_insert(a) != a {
            return false;
        }
    }
    2 < forth.len()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    /// Checks parameters, metric, regions and the number of notes.
    #[track_caller]
    fn check(text: &str, parameters: &[&str], metric: &str, regions: &[&str], n_notes: usize) {
        let reading = read(text, &Columns::default());
        assert_eq!(reading.problems, [], "{text}");
        assert_eq!(reading.measured.parameters, parameters, "{text}");
        let found: Vec<&str> =
            reading.measured.series.iter().map(|it| it.region.as_str()).collect();
        assert_eq!(found, regions, "{text}");
        assert!(reading.measured.series.iter().all(|series| series.metric == metric), "{text}");
        assert_eq!(reading.notes.len(), n_notes, "{:?}", reading.notes);
    }

    #[test]
    fn names_and_cells_say_what_columns_are_for() {
        check("p,n,time\n1,2,3", &["p", "n"], "time", &[""], 0);
        check("time,p,n\n1,2,3", &["p", "n"], "time", &[""], 0);
        check("p,n,Time (s)\n1,2,3", &["p", "n"], "Time (s)", &[""], 0);
        check("p,x\n1,2", &["p"], "x", &[""], 0);
        check("p,n,x\n1,2,3", &["p", "n"], "x", &[""], 1);
        check("p,rep,time_ms\n1,1,3\n1,2,3", &["p"], "time", &[""], 2);
        check("p,size [MiB],solve (us)\n1,2,3", &["p", "size"], "time", &[""], 2);
        check(
            "case,p,predicted_s,measured_s\nS1,3,2,3\nS2/3,3,2,3",
            &["p"],
            "measured_s",
            &["S1", "S2/3"],
            2,
        );
        check("region,metric,p,value\na,bytes,3,2", &["p"], "bytes", &["a"], 0);
        check("file,function,p,time\nx.c,f,3,2", &["p"], "time", &["f"], 1);
        check("file,line,p,time\nx.c,f,3,2", &["p"], "time", &["x.c->f"], 2);
        check("p,n,time_1,time_2\n3,2,5,6", &["p", "n"], "time_1", &[""], 0);
        check("p,n,mean,std\n3,2,5,6", &["p", "n"], "mean", &[""], 1);
    }

    /// A typing mistake in a parameter silently became the name of a region.
    #[test]
    fn a_parameter_that_is_no_number_is_said() {
        let reading = read("n,p,time\nabc,2,3\n", &Columns::default());
        assert_eq!(
            reading.notes,
            ["column `n` is read as the region: `abc` in line 2 is not a number"]
        );
        let reading = read("n,p,time\nabc,2,3\n10,2,4\n20,2,5\n", &Columns::default());
        let said: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["line 2: `abc` is not a number: write it like 12 or 1.5e-3"]);
        let reading = read("n,n,time\n1,2,3\n", &Columns::default());
        assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
    }

    /// Times that are not numbers turned a parameter into the value, for a region named `NaN`.
    #[test]
    fn a_time_that_is_no_number_is_no_region() {
        for time in ["NaN", "-inf", "1e400", "\"1,5\"", "1_000", "0x10", "5 %", "3ms", "N/A"] {
            let reading = read(&format!("n,p,time\n1,2,{time}\n2,3,{time}\n"), &Columns::default());
            assert_eq!(reading.measured.series, [], "{time}");
            let said: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
            let named = time.trim_matches('"');
            let fault = format!("`{named}` is not a number: write it like 12 or 1.5e-3");
            assert_eq!(said, [format!("line 2: {fault}"), format!("line 3: {fault}")]);
        }
        check("x,p,time\n2d_stencil,3,2", &["p"], "time", &["2d_stencil"], 1);
    }

    #[test]
    fn a_column_that_repeats_another_is_left_out() {
        let text = "workers,dimension,bytes,measured_s,predicted_s\n1,300,720,2,1\n1,600,2880,2,1\n1,900,6480,2,1\n\
                    2,300,720,2,1\n2,600,2880,2,1\n2,900,6480,2,1\n";
        check(text, &["workers", "dimension"], "measured_s", &[""], 2);
        // Where sizes grow only with the processes, both are kept.
        check("p,n,time\n1,10,3\n2,20,3\n3,30,3", &["p", "n"], "time", &[""], 0);
    }
}
