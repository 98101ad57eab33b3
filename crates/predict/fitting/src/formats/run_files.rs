//! Files that hold one run each (`caliper`, `talp`, `cube`) or many (`thicket`): a run's point is what it records about itself, or what its
//! path says.
//!
//! Parameters are the recorded numbers that differ between the runs. Results, dates and identifiers are not
//! parameters, nor is a number that follows from another; each one left out is reported.

use super::csv::Columns;
use super::run::{PROCESSES, Run};
use super::{
    BYTE_ORDER_MARK, Fault, FileProblem, Format, Reading, caliper, cube, hyperfine, named_settings,
    talp, thicket,
};
use crate::measurements::MeasurementsBuilder;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;

/// Words in names of results, dates and identifiers.
const NO_SETTINGS: &str = "time times walltime cputime systime runtime elapsed duration date day launchdate launchday timestamp start end \
    stop fom merit rate throughput bandwidth flops gflops speedup efficiency error residual seed pid id jobid uuid hash version \
    port memory";
/// Words that make a name with one of the above a number of steps.
const STEPS: [&str; 6] = ["step", "steps", "iteration", "iterations", "cycles", "timesteps"];
/// Words in names of numbers that follow from the number of processes.
const HOSTS: [&str; 8] =
    ["numhosts", "hosts", "nhosts", "hostcount", "nodes", "nnodes", "numnodes", "numcpus"];

/// Runs of several files.
#[derive(Debug, Default)]
pub struct RunFiles {
    runs: Vec<Run>,
    benchmarks: Vec<hyperfine::Placed>,
    /// Names of files of another kind.
    others: Vec<String>,
    problems: Vec<FileProblem>,
}

impl RunFiles {
    /// Returns whether a file of this format holds runs.
    pub const fn are_of(format: Format) -> bool {
        matches!(format, Format::Talp | Format::Caliper | Format::Thicket)
    }

    /// Adds the runs of a file; `name` is given with its problems, unless empty.
    pub fn add(&mut self, name: &str, format: Format, text: &str) {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        let (runs, problems) = match format {
            Format::Talp => talp::runs(text),
            Format::Caliper => caliper::runs(text),
            Format::Thicket => thicket::runs(text),
            Format::Hyperfine => return self.add_benchmarks(name, text),
            _ => return self.ignore(name),
        };
        self.extend(name, runs, problems);
    }

    /// Adds the benchmarks of a file of hyperfine, whose parameters are its own or those of its path.
    fn add_benchmarks(&mut self, name: &str, text: &str) {
        let (mut benchmarks, problems) = hyperfine::benchmarks(text);
        let settings = named_settings::of_path(name);
        for (place, benchmark) in &mut benchmarks {
            benchmark.set_parameters(&settings);
            *place = placed(name, place);
        }
        self.benchmarks.extend(benchmarks);
        self.extend(name, [], problems);
    }

    /// Counts a file of another kind.
    pub fn ignore(&mut self, name: &str) {
        self.others.push(name.to_owned());
    }

    /// Adds the run of a CUBE file, whose parameters are those of its path; `name` is given with its problems, unless empty.
    pub fn add_cube(&mut self, name: &str, path: &str, bytes: &[u8]) {
        let settings = named_settings::of_path(path);
        if settings.is_empty() {
            self.extend(name, [], vec![Fault::NoNamedSettings.at("archive")]);
            return;
        }
        let (run, problems) = cube::run(bytes, settings);
        self.extend(name, run, problems);
    }

    fn extend(
        &mut self,
        name: &str,
        runs: impl IntoIterator<Item = Run>,
        problems: Vec<FileProblem>,
    ) {
        let of_file = |run: Run| Run { place: placed(name, &run.place), ..run };
        self.runs.extend(runs.into_iter().map(of_file));
        let located = |it: FileProblem| FileProblem { place: placed(name, &it.place), ..it };
        self.problems.extend(problems.into_iter().map(located));
    }

    /// Reports a file that cannot be read, and the reason.
    pub fn leave_out(&mut self, name: &str, reason: impl Display) {
        self.problems.push(Fault::NotRead(reason.to_string()).at(format!("`{name}`")));
    }

    /// Returns the measurements.
    ///
    /// The parameters are those of `columns`, or the numbers that differ; its region is a recorded text that is put before
    /// the regions.
    pub fn reading(&self, columns: &Columns) -> Reading {
        let Self { runs, benchmarks, problems, .. } = self;
        let mut problems = problems.clone();
        if runs.is_empty() && !benchmarks.is_empty() {
            let reading = hyperfine::reading(benchmarks, problems);
            return Reading { notes: self.note_of_others().into_iter().collect(), ..reading };
        }
        let chosen = match &columns.parameters {
            Some(names) => Chosen { names: names.clone(), notes: Vec::new() },
            None => Table::of(runs).parameters(),
        };
        let region = columns.region.as_deref();
        let mut builder = MeasurementsBuilder::of(chosen.names.clone());
        for run in runs {
            let taken = run.add_to(&mut builder, &chosen.names, region);
            problems.extend(taken.err().map(|fault| fault.at(run.place.clone())));
        }
        let mut notes = chosen.notes;
        notes.extend(self.note_of_others());
        if !benchmarks.is_empty() {
            notes.push(
                "scans of hyperfine are not used beside profiles: give a folder of them alone"
                    .to_owned(),
            );
        }
        notes.extend(note_of_words(&differing_words(runs, &chosen.names), region));
        // A counter that was not recorded is zero everywhere.
        let is_zero = |value: &f64| value.abs() < f64::MIN_POSITIVE;
        builder
            .measured
            .series
            .retain(|series| series.points.iter().any(|point| !point.values.iter().all(is_zero)));
        Reading { measured: builder.measured, problems, notes, ..Reading::default() }
    }

    /// Returns the sentence about files that are not read, if there are any.
    fn note_of_others(&self) -> Option<String> {
        let first = self.others.first()?;
        Some(match self.others.len() {
            1 => format!("`{first}` is not used: it is no profile, summary or scan"),
            n_others => format!(
                "{n_others} files are not used, such as `{first}`: they are no profiles, summaries or scans"
            ),
        })
    }
}

/// Returns the place in a file of this name, unless it is empty.
fn placed(name: &str, place: &str) -> String {
    if name.is_empty() { place.to_owned() } else { format!("`{name}`, {place}") }
}

/// Returns the names of texts that differ between runs at the same point.
fn differing_words<'a>(runs: &'a [Run], parameters: &[String]) -> BTreeSet<&'a str> {
    let mut seen: HashMap<(Vec<u64>, &str), &str> = HashMap::new();
    let mut differing = BTreeSet::new();
    for run in runs {
        let Ok(at) = run.point(parameters) else { continue };
        let at: Vec<u64> = at.iter().map(|value| value.to_bits()).collect();
        for (name, word) in run.words.iter().filter(|(name, _)| is_setting(name).is_ok()) {
            if *seen.entry((at.clone(), name.as_str())).or_insert(word) != word {
                differing.insert(name.as_str());
            }
        }
    }
    differing
}

/// Returns the sentence about such texts, unless one of them is the region.
fn note_of_words(names: &BTreeSet<&str>, region: Option<&str>) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (region.is_none() && !names.is_empty()).then(|| {
        format!(
            "runs with equal parameters count as repetitions, but differ in {}: make one part of the region with \
             `--region-column`",
            quoted.join(", ")
        )
    })
}

/// Numbers of all runs that have any, by name in order of first occurrence.
struct Table<'a> {
    names: Vec<&'a str>,
    columns: HashMap<&'a str, Vec<f64>>,
    n_runs: usize,
}

/// Parameters, and sentences about numbers that were left out.
struct Chosen {
    names: Vec<String>,
    notes: Vec<String>,
}

impl<'a> Table<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let mut table = Self { names: Vec::new(), columns: HashMap::new(), n_runs: 0 };
        for run in runs.iter().filter(|run| !run.settings.is_empty()) {
            table.n_runs += 1;
            for (name, value) in &run.settings {
                let column = table.columns.entry(name).or_insert_with(|| {
                    table.names.push(name);
                    Vec::new()
                });
                column.push(*value);
            }
        }
        table
    }

    /// Returns the numbers that every run has and that differ, the number of processes first.
    fn parameters(&self) -> Chosen {
        let is_common = |name: &&str| self.columns[name].len() == self.n_runs;
        let differs = |name: &&str| 1 < distinct(&self.columns[name]).len();
        let mut names: Vec<&str> =
            self.names.iter().copied().filter(is_common).filter(differs).collect();
        names.sort_by_key(|name| *name != PROCESSES);
        let (mut chosen, mut repeating): (Vec<&str>, Vec<(&str, &str)>) = (Vec::new(), Vec::new());
        let mut notes = Vec::new();
        for name in names {
            let equivalent = chosen.iter().find(|other| self.are_equivalent(other, name));
            if let Some(reason) = is_setting(name).err() {
                notes.push(format!("`{name}` is not used: {reason}"));
            } else if is_of_hosts(name)
                && chosen.contains(&PROCESSES)
                && self.follows(PROCESSES, name)
            {
                notes.push(format!("`{name}` is not used: it follows from `{PROCESSES}`"));
            } else if let Some(other) = equivalent {
                repeating.push((name, other));
            } else {
                chosen.push(name);
            }
        }
        // As in tables: which of two matters is not known, so both are kept.
        if chosen.len() < 2 {
            chosen.extend(repeating.into_iter().map(|(name, _)| name));
        } else {
            let one = |(name, other): (&str, &str)| {
                format!("`{name}` is not used: it duplicates `{other}`")
            };
            notes.extend(repeating.into_iter().map(one));
        }
        if chosen.is_empty() && self.names.contains(&PROCESSES) {
            chosen.push(PROCESSES);
        }
        Chosen { names: chosen.into_iter().map(str::to_owned).collect(), notes }
    }

    /// Returns whether each value of `name` comes with one value of `other`, and they are more than two.
    fn are_equivalent(&self, other: &str, name: &str) -> bool {
        2 < distinct(&self.columns[name]).len()
            && self.follows(other, name)
            && self.follows(name, other)
    }

    /// Returns whether `other` determines `name`.
    fn follows(&self, other: &str, name: &str) -> bool {
        let mut images = HashMap::new();
        let mut pairs = self.columns[other].iter().zip(&self.columns[name]);
        pairs
            .all(|(from, to)| *images.entry(from.to_bits()).or_insert(to.to_bits()) == to.to_bits())
    }
}

fn distinct(values: &[f64]) -> HashSet<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns why a name is not that of a setting.
fn is_setting(name: &str) -> Result<(), &'static str> {
    let words = words(name);
    let is_any = |customs: &[&str]| words.iter().any(|word| customs.contains(&word.as_str()));
    let is_outcome = words.iter().any(|word| NO_SETTINGS.split(' ').any(|custom| custom == word));
    if is_outcome && !is_any(&STEPS) {
        Err("its name says that it is a result, a date or an identifier")
    } else {
        Ok(())
    }
}

fn is_of_hosts(name: &str) -> bool {
    words(name).iter().any(|word| HOSTS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: &[(&str, f64)]) -> Run {
        Run {
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            values: vec![("main".into(), "time".into(), 1.5), ("main".into(), "ipc".into(), 0.0)],
            place: "line 1".into(),
            ..Run::default()
        }
    }

    fn of(runs: Vec<Run>) -> RunFiles {
        RunFiles { runs, ..RunFiles::default() }
    }

    /// Checks the parameters and the number of notes.
    #[track_caller]
    fn check(names: &[&str], rows: &[&[f64]], expected: &[&str], n_notes: usize) {
        let of_row =
            |row: &&[f64]| run(&names.iter().copied().zip(row.iter().copied()).collect::<Vec<_>>());
        let files = of(rows.iter().map(of_row).collect());
        let reading = files.reading(&Columns::default());
        assert_eq!(reading.measured.parameters, expected, "{:?}", reading.notes);
        assert_eq!(reading.notes.len(), n_notes, "{:?}", reading.notes);
        assert_eq!(reading.measured.series.len(), 1, "{:?}", reading.measured);
    }

    #[test]
    fn parameters_are_what_differs() {
        check(&["n", "p"], &[&[1.0, 1.0], &[1.0, 2.0]], &["p"], 0);
        check(&["n", "p"], &[&[1.0, 1.0], &[2.0, 2.0]], &["p", "n"], 0);
        check(&["n", "p"], &[&[1.0, 1.0]], &["p"], 0);
        check(&["time_steps", "elapsed_time"], &[&[1.0, 1.5], &[2.0, 1.0]], &["time_steps"], 1);
        check(
            &["p", "n", "numhosts", "jobsize"],
            &[&[1.0, 5.0, 1.0, 1.0], &[2.0, 5.0, 1.0, 2.0], &[3.0, 7.0, 2.0, 3.0]],
            &["p", "n"],
            2,
        );
    }

    #[test]
    fn a_text_may_be_part_of_the_region() {
        let with =
            |word: &str| Run { words: vec![("variant".into(), word.into())], ..run(&[("p", 1.0)]) };
        let files = of(vec![with("seq"), with("gpu")]);
        let reading = files.reading(&Columns::default());
        assert_eq!(reading.measured.series[0].points[0].values, [1.5, 1.5]);
        assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
        let columns = Columns { region: Some("variant".into()), ..Columns::default() };
        let reading = files.reading(&columns);
        let regions: Vec<&str> = reading.measured.series.iter().map(|it| &it.region[..]).collect();
        assert_eq!(regions, ["seq->main", "gpu->main"]);
        assert!(reading.notes.is_empty(), "{:?}", reading.notes);
    }

    #[test]
    fn a_run_without_settings_is_left_out() {
        let runs = vec![run(&[("p", 1.0)]), run(&[]), run(&[("p", 2.0), ("n", 1.0)])];
        let reading = of(runs).reading(&Columns::default());
        assert_eq!(reading.measured.series[0].points.len(), 2);
        assert_eq!(reading.problems, [Fault::NoSettings.at("line 1")]);
        let runs = vec![run(&[("p", 1.0)]), run(&[("p", 2.0), ("n", 1.0)])];
        let columns = Columns { parameters: Some(vec!["n".to_owned()]), ..Columns::default() };
        let reading = of(runs).reading(&columns);
        assert_eq!(reading.problems, [Fault::Missing("n".into()).at("line 1")]);
    }

    const SCAN: &str =
        r#"{"results": [{"command": "a 3", "times": [1.5, 1.25], "parameters": {"n": "3"}}]}"#;
    const PLAIN: &str = r#"{"results": [{"command": "a", "times": [2], "mean": 2}]}"#;

    #[test]
    fn scans_may_have_their_parameters_in_their_names() {
        let mut files = RunFiles::default();
        files.add("a.json", Format::Hyperfine, SCAN);
        files.add("a.n4.r1.json", Format::Hyperfine, PLAIN);
        files.add("a.n4.r2.json", Format::Hyperfine, PLAIN);
        files.add("words.json", Format::Hyperfine, PLAIN);
        let reading = files.reading(&Columns::default());
        let mut expected = crate::Measurements::of(vec!["n".into()]);
        expected.add("", "time", &[3.0], &[1.5, 1.25]);
        expected.add("", "time", &[4.0], &[2.0, 2.0]);
        assert_eq!(reading.measured, expected);
        assert_eq!(reading.problems, [Fault::NoScan.at("`words.json`, result 1")]);
    }

    /// Each file of other tools in the folder was a problem of its own.
    #[test]
    fn other_files_are_one_note() {
        let mut files = of(vec![run(&[("p", 1.0)])]);
        for name in ["b.json", "c.json"] {
            files.add(name, Format::Json, "{}");
        }
        files.add("d.json", Format::Hyperfine, SCAN);
        let reading = files.reading(&Columns::default());
        assert_eq!(reading.problems, []);
        assert_eq!(
            reading.notes,
            [
                "2 files are not used, such as `b.json`: they are no profiles, summaries or scans",
                "scans of hyperfine are not used beside profiles: give a folder of them alone",
            ]
        );
    }

    #[test]
    fn the_path_of_a_cube_file_has_its_parameters() {
        let mut files = RunFiles::default();
        let profile = cube::tests::profile();
        for path in ["mm.p2.r1/profile.cubex", "mm.p2.r2/profile.cubex", "mm.p4.r1/profile.cubex"] {
            files.add_cube(path, path, &profile);
        }
        files.add_cube("mm/profile.cubex", "mm/profile.cubex", &profile);
        let reading = files.reading(&Columns::default());
        assert_eq!(reading.measured.parameters, ["p"]);
        let points =
            reading.measured.series.iter().find(|it| it.metric == "time").map(|it| &it.points);
        let n_values: Vec<usize> = points.into_iter().flatten().map(|it| it.values.len()).collect();
        assert_eq!(n_values, [2, 1]);
        assert_eq!(reading.problems, [Fault::NoNamedSettings.at("`mm/profile.cubex`, archive")]);
    }
}
