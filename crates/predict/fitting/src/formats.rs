//! Files of measurements: Extra-P's text, JSON and JSON Lines, those of Talpas, CSV, and the results of hyperfine, TALP,
//! Caliper, Thicket and Score-P.
//!
//! Text (or an archive) in, measurements and problems out: a bad line costs only itself. Extra-P's formats
//! are described in its `docs/file-formats.md`.

mod caliper;
pub mod call_paths;
pub mod csv;
pub mod cube;
pub mod extrap_json;
pub mod extrap_text;
pub mod hyperfine;
pub mod json_lines;
mod json_objects;
mod named_settings;
mod run;
pub mod run_files;
mod talp;
mod thicket;

use crate::measurements::Measurements;
use call_paths::CallPaths;
use csv::Columns;
use cube::CubeFault;
use run_files::RunFiles;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use std::{collections::HashSet, fmt, marker::PhantomData};

/// Contents of a file, and the parts that could not be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The measurements.
    pub measured: Measurements,
    /// Parts that were left out.
    pub problems: Vec<FileProblem>,
    /// Interpretations of an ambiguous file, as sentences for the user.
    pub notes: Vec<String>,
    /// Times by call path, beside the measurements.
    pub paths: CallPaths,
}

/// A part of a file that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct FileProblem {
    /// Place in the file, such as `line 3`.
    pub place: String,
    /// Reason.
    pub fault: Fault,
}

/// Reason why a part of a file could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A line begins with an unknown word.
    #[error("`{0}` is not a section: expected PARAMETER, POINTS, REGION, METRIC or DATA")]
    UnknownSection(String),
    /// Text where a number was expected.
    #[error("`{0}` is not a number: write it like 12 or 1.5e-3")]
    NotANumber(String),
    /// A negative value of a time.
    #[error("`{0}` is negative, and a time is not: correct it")]
    NegativeTime(String),
    /// Two columns or parameters have the same name.
    #[error("duplicate name `{0}`: give each parameter its own")]
    NamedTwice(String),
    /// A parameter after the points, which lack it.
    #[error("PARAMETER must come before POINTS")]
    LateParameter,
    /// More data than points.
    #[error("there are more DATA lines than POINTS: each belongs to one point")]
    TooManyData,
    /// A point with more or fewer coordinates than parameters.
    #[error("{n_given} coordinates are given for {n_parameters} parameters")]
    WrongPoint {
        /// Number of coordinates given.
        n_given: usize,
        /// Number of parameters.
        n_parameters: usize,
    },
    /// The first line of a table holds numbers instead of names.
    #[error("there is no heading: name the columns in the first line, such as `n,p,time`")]
    NoHeading,
    /// No column of a table can be the measured value.
    #[error(
        "no column of numbers is left for the measured value: separate columns by commas, semicolons or tabs, and name them \
         in the first line, such as `n,p,time`"
    )]
    NoValue,
    /// A row has more cells than the heading.
    #[error(
        "there are {n_cells} cells for {n_columns} columns: put a cell with a separator in it into double quotes, and write \
         numbers like 1.5"
    )]
    TooManyCells {
        /// Number of cells in the row.
        n_cells: usize,
        /// Number of columns that the heading names.
        n_columns: usize,
    },
    /// A required part is missing.
    #[error("`{0}` is missing: add it")]
    Missing(String),
    /// The file is empty.
    #[error("the input is empty: give a file with measurements")]
    Empty,
    /// An id that is not defined in the list of this name.
    #[error("nothing in `{0}` has the id {1}: correct it")]
    UnknownId(&'static str, i64),
    /// Benchmarks without parameters.
    #[error(
        "the commands have no parameters with numbers: run hyperfine with `--parameter-scan` or \
         `--parameter-list`"
    )]
    NoScan,
    /// A run that records no numbers about itself.
    #[error(
        "the run records no number of processes and no size, perhaps because the file was cut off: record them, with \
         Caliper by Adiak"
    )]
    NoSettings,
    /// A file whose path does not have the parameters of its run.
    #[error(
        "neither its folder's name nor its own has parameters: name them like `NAME.p4.n100.r1`, with words and numbers in \
         turn"
    )]
    NoNamedSettings,
    /// A profile without times.
    #[error(
        "the run has no times: measure with Caliper's `spot`, `hatchet-region-profile` or `runtime-report`"
    )]
    NoTimes,
    /// A file of a folder that cannot be read.
    #[error("it cannot be read: {0}")]
    NotRead(String),
    /// A line that is not a record of Caliper.
    #[error(
        "`{0}` is not a record of Caliper, such as `__rec=node,id=12,attr=10,data=64`: remove it"
    )]
    NotARecord(String),
    /// A part of a CUBE file.
    #[error(transparent)]
    Cube(CubeFault),
    /// Text that is not JSON, or JSON of another shape.
    #[error("unexpected JSON: {0}")]
    Malformed(String),
}

impl Fault {
    fn at_line(self, idx: usize) -> FileProblem {
        FileProblem { place: format!("line {}", idx + 1), fault: self }
    }

    fn at(self, place: impl Into<String>) -> FileProblem {
        FileProblem { place: place.into(), fault: self }
    }
}

impl From<FileProblem> for Reading {
    /// Reads nothing of a file, because of this problem.
    fn from(problem: FileProblem) -> Self {
        Self { problems: vec![problem], ..Self::default() }
    }
}

/// Format of a file of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Extra-P's text.
    Text,
    /// Extra-P's JSON, newer or older form.
    Json,
    /// Extra-P's JSON Lines.
    JsonLines,
    /// The line format of Talpas.
    Talpas,
    /// A table with a heading.
    Csv,
    /// Results of hyperfine.
    Hyperfine,
    /// Summaries of TALP, one for each run.
    Talp,
    /// Profiles of Caliper, one for each run.
    Caliper,
    /// Exports of Thicket, with many runs.
    Thicket,
}

impl Format {
    /// Detects the format of a file by its first line.
    pub fn of(text: &str) -> Self {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or_default();
        let is_section =
            extrap_text::SECTIONS.iter().any(|name| first.split_whitespace().next() == Some(name));
        if is_section {
            Self::Text
        } else if first.starts_with(caliper::RECORD) {
            Self::Caliper
        } else if first.starts_with('{') {
            let is_whole = first.ends_with('}');
            let member = first_member(text);
            match () {
                () if member == thicket::FIRST => Self::Thicket,
                () if is_whole && first.contains("\"params\"") => Self::JsonLines,
                () if is_whole && first.contains("\"callpath\"") => Self::Talpas,
                () if member == hyperfine::FIRST => Self::Hyperfine,
                () if talp::FIRST.contains(&member) => Self::Talp,
                () => Self::Json,
            }
        } else {
            Self::Csv
        }
    }

    /// Reads a file of this format.
    pub fn read(self, text: &str) -> Reading {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        match self {
            Self::Text => extrap_text::read(text),
            Self::Json => extrap_json::read(text),
            Self::JsonLines => json_lines::read(text),
            Self::Talpas => json_lines::read_talpas(text),
            Self::Csv => csv::read(text, &Columns::default()),
            Self::Hyperfine => hyperfine::read(text),
            Self::Talp | Self::Caliper | Self::Thicket => {
                self.runs(text).reading(&Columns::default())
            }
        }
    }

    /// Reads the runs of a file of this format.
    pub fn runs(self, text: &str) -> RunFiles {
        let mut files = RunFiles::default();
        files.add("", self, text);
        files
    }
}

/// Returns the name of the first member of a JSON object.
fn first_member(text: &str) -> &str {
    let inside = text.trim_start().trim_start_matches('{').trim_start();
    let name = inside.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    name.map_or("", |(name, _)| name)
}

/// Byte order mark that some editors put at the start of a file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

fn number(text: &str) -> Result<f64, Fault> {
    let text = text.trim();
    let found = text.parse().ok().filter(|value: &f64| value.is_finite());
    // Turns a negative zero into a zero.
    found.map(|value| value + 0.0).ok_or_else(|| Fault::NotANumber(text.to_owned()))
}

/// Names of a metric without a name of its own.
const UNNAMED: [&str; 3] = ["", "<default>", "value"];
/// Names of a measured time; the first one present counts.
const TIMES: &str = "time measured runtime run_time walltime wall_time elapsed duration seconds secs median mean average avg t";
/// Units that may follow the name of a time.
const UNITS: [&str; 9] = ["s", "ms", "us", "ns", "sec", "secs", "seconds", "min", "minutes"];

/// Returns a name in lower case without its unit: `Time (s)` and `time_s` become `time`.
fn plain(name: &str) -> String {
    let mut name = name.to_lowercase();
    if let Some((before, _)) = name.split_once(['(', '[']) {
        name = before.trim().to_owned();
    }
    match name.rsplit_once(['_', ' ', '-', '.']) {
        Some((before, unit)) if UNITS.contains(&unit) => before.to_owned(),
        _ => name,
    }
}

/// Returns whether a metric is a time, which is never negative: its name says so, or it has no name.
fn is_time(metric: &str) -> bool {
    let (name, lower) = (plain(metric), metric.to_lowercase());
    let bracket = lower.split_once(['(', '[']);
    let has_unit = bracket
        .map_or(name != lower, |(_, unit)| UNITS.contains(&unit.trim_matches([')', ']', ' '])));
    UNNAMED.contains(&name.as_str())
        || has_unit
        || TIMES.split(' ').any(|time| time == name)
        || name.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "time")
}

/// Rejects negative times; other metrics may be negative, and zeros are valid.
fn check_times(metric: &str, values: &[f64]) -> Result<(), Fault> {
    match values.iter().find(|value| **value < 0.0) {
        Some(value) if is_time(metric) => Err(Fault::NegativeTime(value.to_string())),
        _ => Ok(()),
    }
}

/// Rejects duplicate names.
fn check_names<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    let twice = names.into_iter().find(|name| !seen.insert(name.as_str()));
    twice.map_or(Ok(()), |name| Err(Fault::NamedTwice(name.clone())))
}

/// Members of an object, in file order.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
    type Value = Pairs<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reader accepted a negative number as a time.
    #[test]
    fn a_negative_time_is_refused_where_it_stands() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let reading = Format::of(text).read(text);
            let said: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
            assert_eq!(said, [expected], "{text}");
            let points: usize = reading.measured.series.iter().map(|it| it.points.len()).sum();
            assert_eq!(points, 2, "zeros are real: {:?}", reading.measured);
        }
        let fault = "`-3` is negative, and a time is not: correct it";
        check("p,time\n1,2\n2,-3\n3,0\n", &format!("line 3: {fault}"));
        check("p,time_1,time_2\n1,2,1\n2,1,-3\n3,0,0\n", &format!("line 3: {fault}"));
        check("PARAMETER p\nPOINTS 1 2 3\nDATA 2\nDATA 0\nDATA -3\n", &format!("line 5: {fault}"));
        let line =
            |p: u8, value: i8| format!("{{\"params\": {{\"p\": {p}}}, \"value\": {value}}}\n");
        check(&(line(1, 2) + &line(2, -3) + &line(3, 0)), &format!("line 2: {fault}"));
        check(
            r#"{"parameters": ["p"], "measurements": {"a": {"time": [{"point": [1], "values": [2]},
            {"point": [2], "values": [1, -3]}, {"point": [3], "values": [0]}]}}}"#,
            &format!("`a`, `time`, point 2: {fault}"),
        );
    }

    #[test]
    fn other_metrics_may_be_negative() {
        let reading =
            Format::Csv.read("metric,p,value\nbalance,1,-2\nbytes,1,3\nWall Time (s),1,-1\n");
        assert_eq!(reading.measured.series.len(), 2);
        assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
        for name in ["", "Time (s)", "solve_ms", "t", "cpu time", "value"] {
            assert!(is_time(name), "{name}");
        }
        for name in ["bytes", "balance", "balance (%)", "drift [K]", "timeouts"] {
            assert!(!is_time(name), "{name}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Format) {
        assert_eq!(Format::of(text), expected);
    }

    #[test]
    fn a_format_is_known_by_its_beginning() {
        check("# words\n\nPARAMETER p\n", Format::Text);
        check("{\n  \"parameters\": [\"p\"]", Format::Json);
        check("{\"parameters\": [\"p\"], \"measurements\": {}}", Format::Json);
        check("\n{\"params\": {\"p\": 1}, \"value\": 2}\n", Format::JsonLines);
        check("\u{feff}PARAMETER\tp\n", Format::Text);
        check(
            "{\"parameters\":{\"p\":2};\"metric\":\"t\";\"callpath\":\"a\";\"value\":1}",
            Format::Talpas,
        );
        check("p,n,value\n", Format::Csv);
        check("", Format::Csv);
        check("{\n  \"results\": [\n", Format::Hyperfine);
        check("{\n  \"dlbVersion\": \"3.5.0\",\n", Format::Talp);
        check("{\"dlbVersion\": \"3.5.0\", \"Application\": {}}\n", Format::Talp);
        check("{\"graph\": [{\"0\": {}}], \"dataframe\": []}", Format::Thicket);
        check("__rec=node,id=12,attr=10,data=64,parent=3\n", Format::Caliper);
    }
}
