//! Profiles of Caliper (`.cali`): records of a tree of nodes, of measured snapshots, and of the run's globals.
//!
//! Lines are `__rec=node,id=..,attr=..,data=..,parent=..`, `__rec=ctx,ref=..,attr=..,data=..` and
//! `__rec=globals,..`, described in Caliper's documentation. A node is a value of an attribute; an attribute is
//! itself a node. Nodes of nested attributes, such as `region`, make the path of a region.
//!
//! The metric is `time`: seconds, including inner regions, on average over the ranks that have the region. It is the first
//! of `profile::TIMES` that the run has; times without a unit are seconds. Each stream is one run; a node that is defined
//! again starts the next.
//!
//! # Not here
//! Choice of the globals that are parameters (`run_files`).

mod globals;
mod profile;
mod stream;

use super::run::{PROCESSES, Run};
use super::{Fault, FileProblem};
use globals::Globals;
use profile::Profile;
use stream::{Record, Stream};

/// Beginning of each line.
pub(super) const RECORD: &str = "__rec=";

/// Reads the runs of a file, and its problems.
pub(super) fn runs(text: &str) -> (Vec<Run>, Vec<FileProblem>) {
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    let mut run = Reader::from_line(0);
    for (idx, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record = match Record::of(line) {
            Ok(record) => record,
            Err(fault) => {
                problems.push(fault.at_line(idx));
                continue;
            }
        };
        if run.stream.is_ended_by(&record) {
            run.end(&mut runs, &mut problems);
            run = Reader::from_line(idx);
        }
        let taken = run.take(&record);
        problems.extend(taken.err().map(|fault| fault.at_line(idx)));
    }
    run.end(&mut runs, &mut problems);
    (runs, problems)
}

/// Reader of one stream.
struct Reader<'a> {
    stream: Stream<'a>,
    profile: Profile,
    globals: Globals,
    first_line_idx: usize,
}

impl<'a> Reader<'a> {
    fn from_line(first_line_idx: usize) -> Self {
        let (stream, profile) = (Stream::default(), Profile::default());
        Self { stream, profile, globals: Globals::default(), first_line_idx }
    }

    fn take(&mut self, record: &Record<'a>) -> Result<(), Fault> {
        match record {
            Record::Node(node) => self.stream.define(node),
            Record::Snapshot(entries) => self.profile.add(&self.stream, entries),
            Record::Globals(entries) => {
                self.globals = Globals::of(&self.stream, entries)?;
                Ok(())
            }
            Record::Other => Ok(()),
        }
    }

    fn end(self, runs: &mut Vec<Run>, problems: &mut Vec<FileProblem>) {
        let Globals { settings, words } = self.globals;
        let n_ranks = settings.iter().find(|(name, _)| name == PROCESSES);
        let values = self.profile.values(n_ranks.map_or(1.0, |(_, n_ranks)| *n_ranks));
        if values.is_empty() {
            problems.push(Fault::NoTimes.at_line(self.first_line_idx));
        } else {
            let place = format!("line {}", self.first_line_idx + 1);
            runs.push(Run { settings, words, values, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes of a profile with inclusive times on average over the ranks.
    const SPOT: &str = "\
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=13,attr=8,data=attribute.unit,parent=12
__rec=node,id=14,attr=13,data=sec,parent=5
__rec=node,id=15,attr=10,data=65,parent=14
__rec=node,id=16,attr=8,data=avg#inclusive#sum#time.duration,parent=15
__rec=node,id=17,attr=8,data=max#inclusive#sum#time.duration,parent=15
__rec=node,id=18,attr=10,data=276,parent=3
__rec=node,id=19,attr=8,data=region,parent=18
__rec=node,id=20,attr=19,data=main
__rec=ctx,ref=20,attr=16=17,data=2.5=3
__rec=node,id=21,attr=19,data=f(int\\,x\\=1),parent=20
__rec=ctx,ref=21,attr=16=17,data=1.5=2
__rec=ctx,attr=16=17,data=9=9
__rec=node,id=22,attr=10,data=1612,parent=1
__rec=node,id=23,attr=8,data=jobsize,parent=22
__rec=node,id=24,attr=8,data=problem_size,parent=22
__rec=node,id=25,attr=8,data=cali.channel,parent=22
__rec=node,id=26,attr=23,data=8
__rec=node,id=27,attr=24,data=30,parent=26
__rec=node,id=28,attr=25,data=1,parent=27
__rec=globals,ref=28
";

    fn of(values: &[(&str, f64)]) -> Vec<(String, String, f64)> {
        values.iter().map(|(region, value)| ((*region).into(), "time".into(), *value)).collect()
    }

    #[test]
    fn a_region_is_the_path_of_nested_attributes() {
        let (runs, problems) = runs(SPOT);
        assert_eq!(problems, []);
        let settings = vec![("p".to_owned(), 8.0), ("problem_size".to_owned(), 30.0)];
        let values = of(&[("main", 2.5), ("main->f(int,x=1)", 1.5)]);
        assert_eq!(runs, [Run { settings, values, place: "line 1".into(), ..Run::default() }]);
    }

    /// Exclusive times of two ranks, in the unit given.
    fn by_rank(name: &str, unit: &str) -> String {
        format!(
            "\
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=13,attr=8,data=time.unit,parent=12
__rec=node,id=14,attr=13,data={unit},parent=5
__rec=node,id=15,attr=10,data=65,parent=14
__rec=node,id=16,attr=8,data={name},parent=15
__rec=node,id=17,attr=10,data=77,parent=1
__rec=node,id=18,attr=8,data=mpi.rank,parent=17
__rec=node,id=19,attr=10,data=276,parent=3
__rec=node,id=20,attr=8,data=annotation,parent=19
__rec=node,id=21,attr=20,data=a
__rec=node,id=22,attr=20,data=b,parent=21
__rec=ctx,ref=21,attr=18=16,data=0=1000
__rec=ctx,ref=22,attr=18=16,data=0=4000
__rec=ctx,ref=21,attr=18=16,data=1=3000
"
        )
    }

    #[test]
    fn exclusive_times_are_added_to_outer_regions() {
        for name in ["sum#sum#time.duration", "sum#time.duration"] {
            let (runs, _) = runs(&by_rank(name, "msec"));
            assert_eq!(runs[0].values, of(&[("a", 4.0), ("a->b", 4.0)]), "{name}");
        }
        let (runs, _) = runs(&by_rank("sum#time.duration.ns", "nsec"));
        assert!((runs[0].values[0].2 - 4e-6).abs() < 1e-15);
    }

    #[test]
    fn streams_may_follow_each_other() {
        let (runs, problems) = runs(&SPOT.repeat(3));
        assert_eq!(problems, []);
        let places: Vec<&str> = runs.iter().map(|run| run.place.as_str()).collect();
        assert_eq!(places, ["line 1", "line 22", "line 43"]);
    }

    #[track_caller]
    fn check_damaged(text: &str, n_runs: usize, expected: &[&str]) {
        let (runs, problems) = runs(text);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
        assert_eq!(runs.len(), n_runs, "{runs:?}");
    }

    #[test]
    fn a_bad_line_costs_itself_and_what_refers_to_it() {
        let words = "words\n".to_owned() + SPOT;
        let fault =
            "is not a record of Caliper, such as `__rec=node,id=12,attr=10,data=64`: remove it";
        check_damaged(&words, 1, &[&format!("line 1: `words` {fault}")]);
        let cut = SPOT.replace("data=1.5=2", "data=1.5");
        let line = "__rec=ctx,ref=21,attr=16=17,data=1.5";
        check_damaged(&cut, 1, &[&format!("line 12: `{line}` {fault}")]);
        let without = SPOT.replace("__rec=node,id=21", "__rec=none,id=21");
        check_damaged(
            &without,
            1,
            &["line 12: nothing in `node records` has the id 21: correct it"],
        );
        let number = SPOT.replace("data=1.5=2", "data=x=2");
        check_damaged(&number, 1, &["line 12: `x` is not a number: write it like 12 or 1.5e-3"]);
        let metric = SPOT.replace("time.duration", "bytes");
        let remedy = "measure with Caliper's `spot`, `hatchet-region-profile` or `runtime-report`";
        check_damaged(&metric, 0, &[&format!("line 1: the run has no times: {remedy}")]);
    }
}
