//! Regions by call path, from the samples of the runs of an experiment.
//!
//! A run has the time of each role by call path. Here these become regions that the points have in common: a path that
//! samples hardly meet is part of its caller. They take the place of the times by call site, which hold the
//! computation before a call, whoever did it. Times in calls are exact; where several callers share a call site,
//! samples divide them.
//!
//! # Invariants
//! - At each point with enough samples, the times of a role's regions add up to its time.

use super::Reading;
use crate::measurements::{MeasuredPoint, Measurements, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Metric of times by call path in files.
pub const METRIC: &str = "path_time";
/// Metric that they replace.
const TIME: &str = "time";
/// Metric of the time in an MPI call.
const MPI: &str = "mpi";
/// Joins the parts of a path.
const ARROW: &str = "->";
/// Samples at a point from which shares are known.
const N_SAMPLES_MIN: u64 = 30;
/// Samples of all runs after which a call site with one path has no other.
const N_SAMPLES_OF_ONE: u64 = 5;
/// Number of points that a region needs, if there are so many, and their share of all.
const N_POINTS_MIN: usize = 4;
const POINTS_MIN: f64 = 0.5;
/// Samples that a region needs at a point on average: with fewer, noise hides how its time grows.
const N_SAMPLES_MEAN: f64 = 10.0;
/// Share of its role's time, or of its call site's, that a region needs at one point.
const SHARE_MIN: f64 = 0.01;

/// Path and MPI call site in a role; an empty path is the role itself.
type Place = (String, Option<String>);
/// Time of each place in a run, in s, and its samples; times without samples are exact.
type PlaceTimes = BTreeMap<Place, (f64, u64)>;
/// Samples of each path by index of the point; scaled, its shares.
type Shares = BTreeMap<String, BTreeMap<usize, f64>>;

/// Times by call path of all runs, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallPaths {
    /// Point of each run, and its times by role.
    runs: Vec<(Vec<f64>, BTreeMap<String, PlaceTimes>)>,
}

impl CallPaths {
    /// Begins a run at this point.
    pub(super) fn begin_run(&mut self, at: &[f64]) {
        self.runs.push((at.to_vec(), BTreeMap::new()));
    }

    /// Adds a time by call path to the run that began last.
    pub(super) fn add(&mut self, callpath: &str, at: &[f64], value: f64, samples: u64) {
        let Some((_, roles)) = self.runs.last_mut().filter(|(point, _)| point == at) else {
            return;
        };
        let (role, path) = callpath.split_once(ARROW).unwrap_or((callpath, ""));
        let (above, last) = path.rsplit_once(ARROW).unwrap_or(("", path));
        let is_call = last.rsplit_once(' ').is_some_and(|(_, name)| name.starts_with("MPI_"));
        let place = if is_call { (above, Some(last.to_owned())) } else { (path, None) };
        let times = roles.entry(role.to_owned()).or_default();
        times.insert((place.0.to_owned(), place.1), (value, samples));
    }

    /// Returns the runs of a role, by point.
    fn of_role(&self, name: &str) -> RoleRuns<'_> {
        let mut role = RoleRuns { name: name.to_owned(), points: Vec::new() };
        for (at, roles) in &self.runs {
            let Some(times) = roles.get(name) else { continue };
            match role.points.iter_mut().find(|(other, _)| *other == at) {
                Some((_, runs)) => runs.push(times),
                None => role.points.push((at, vec![times])),
            }
        }
        role
    }
}

impl Reading {
    /// Replaces the times by call site by those by call path, where the runs have enough samples.
    ///
    /// With the regions of a model file, `known`, paths become part of these.
    #[must_use]
    pub fn by_call_path(mut self, known: Option<&BTreeSet<&str>>) -> Self {
        let paths = std::mem::take(&mut self.paths);
        let names: BTreeSet<&String> =
            paths.runs.iter().flat_map(|(_, roles)| roles.keys()).collect();
        let mut few = Vec::new();
        for name in names {
            if !paths.of_role(name).replace(&mut self.measured, known) {
                few.push(format!("`{name}`"));
            }
        }
        if !few.is_empty() && known.is_none() {
            self.notes.push(format!(
                "regions of {} are call sites with the computation before them, not call paths: these take {N_SAMPLES_MIN} \
                 samples at each point, and a core gives about 100 in a second",
                few.join(" and ")
            ));
        }
        self
    }
}

/// Runs of a role, by point.
struct RoleRuns<'a> {
    name: String,
    points: Vec<(&'a Vec<f64>, Vec<&'a PlaceTimes>)>,
}

impl RoleRuns<'_> {
    /// Replaces the times of the role; returns false if there are too few samples, or no path is known.
    fn replace(&self, measured: &mut Measurements, known: Option<&BTreeSet<&str>>) -> bool {
        let has_blocked = self.has_blocked();
        let shares = self.shares(None);
        let all = sums(&shares);
        let keeps = |path: &str, of_point: &BTreeMap<usize, f64>| match known {
            Some(known) => known.contains(&self.region(path, None)[..]),
            None => self.is_enough(of_point, &all),
        };
        let shares = folded(shares, keeps);
        if shares.is_empty() {
            return false;
        }
        let mut series: Vec<Series> = Vec::new();
        for (path, of_point) in &shares {
            let time_s =
                |point: usize, run: usize| running_s(self.points[point].1[run], has_blocked);
            series.push(self.series(path, None, of_point, time_s));
        }
        if has_blocked {
            let every = (0..self.points.len()).map(|point| (point, 1.0)).collect();
            let time_s = |point: usize, run: usize| {
                blocked(self.points[point].1[run]).map_or(0.0, |(_, s)| s)
            };
            let path = self
                .points
                .iter()
                .find_map(|(_, runs)| blocked(runs[0]))
                .map_or("", |(path, _)| path);
            series.push(self.series(path, None, &every, time_s));
        }
        let prefix = format!("{}{ARROW}", self.name);
        let of_calls = measured.series.iter().filter(|it| it.metric == MPI);
        for calls in of_calls.filter(|it| it.region.starts_with(&prefix)) {
            series.extend(self.of_calls(calls, &calls.region[prefix.len()..], known));
        }
        series.retain(|it| {
            it.points.iter().flat_map(|point| &point.values).any(|value| *value != 0.0)
        });
        let is_replaced = |it: &Series| it.metric == TIME && it.region.starts_with(&prefix);
        let at = measured.series.iter().position(is_replaced).unwrap_or(measured.series.len());
        measured.series.retain(|it| !is_replaced(it));
        measured.series.splice(at..at, series);
        true
    }

    /// Returns the times in the calls of a site: of each caller, if there are several, or of all.
    fn of_calls(&self, calls: &Series, site: &str, known: Option<&BTreeSet<&str>>) -> Vec<Series> {
        let mut callers = self.shares(Some(site));
        let of_site = sums(&callers);
        callers.retain(|path, of_point| match known {
            Some(known) => known.contains(&self.region(path, Some(site))[..]),
            None => self.is_enough(of_point, &of_site),
        });
        let all = |path: &str| {
            let region = self.region(path, Some(site));
            vec![Series { region, metric: TIME.to_owned(), points: calls.points.clone() }]
        };
        if callers.len() < 2 {
            let only = self.only_caller(site).unwrap_or_default();
            let is_known =
                |known: &BTreeSet<&str>| known.contains(&self.region(only, Some(site))[..]);
            return all(if known.is_none_or(is_known) { only } else { "" });
        }
        let values = |point: usize| {
            let is_here = |it: &&MeasuredPoint| it.at == *self.points[point].0;
            calls.points.iter().find(is_here).map_or(&[][..], |it| &it.values)
        };
        if (0..self.points.len()).any(|point| values(point).len() != self.points[point].1.len()) {
            return all("");
        }
        let callers = scaled(callers);
        let of = |(path, of_point): (&String, &BTreeMap<usize, f64>)| {
            self.series(path, Some(site), of_point, |point, run| values(point)[run])
        };
        callers.iter().map(of).collect()
    }

    /// Returns the path of a call site that samples found no other path of.
    fn only_caller(&self, site: &str) -> Option<&str> {
        let runs = self.points.iter().flat_map(|(_, runs)| runs);
        let all = runs.flat_map(|run| run.iter());
        let mut callers: BTreeMap<&str, u64> = BTreeMap::new();
        for ((path, _), (_, samples)) in
            all.filter(|((_, other), _)| other.as_deref() == Some(site))
        {
            *callers.entry(path).or_default() += samples;
        }
        let (path, samples) = callers.first_key_value()?;
        (callers.len() == 1 && N_SAMPLES_OF_ONE <= *samples).then_some(*path)
    }

    fn region(&self, path: &str, site: Option<&str>) -> String {
        let parts = [&self.name[..], path, site.unwrap_or_default()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(ARROW)
    }

    /// Series of a region that has these shares of the time of each point's runs.
    fn series(
        &self,
        path: &str,
        site: Option<&str>,
        shares: &BTreeMap<usize, f64>,
        time_s: impl Fn(usize, usize) -> f64,
    ) -> Series {
        let point = |(point, share): (&usize, &f64)| {
            let (at, runs) = &self.points[*point];
            let values = (0..runs.len()).map(|run| time_s(*point, run) * share).collect();
            MeasuredPoint { at: (*at).clone(), values }
        };
        let points = shares.iter().map(point).collect();
        Series { region: self.region(path, site), metric: TIME.to_owned(), points }
    }

    /// Returns the samples of each path in a call site, or outside calls, in all runs of each point with enough of them.
    fn shares(&self, site: Option<&str>) -> Shares {
        let mut shares = Shares::new();
        for (point, (_, runs)) in self.points.iter().enumerate() {
            let of_site = |((path, other), (_, samples)): (&Place, &(f64, u64))| {
                let is_of_site = other.as_deref() == site && 0 < *samples;
                is_of_site.then(|| (path.clone(), *samples))
            };
            let here: Vec<(String, u64)> = runs
                .iter()
                .flat_map(|run| run.iter().filter_map(|it| of_site((it.0, it.1))))
                .collect();
            let all: u64 = here.iter().map(|(_, samples)| samples).sum();
            if N_SAMPLES_MIN <= all {
                for (path, samples) in here {
                    let share = shares.entry(path).or_default().entry(point).or_default();
                    *share += samples as f64;
                }
            }
        }
        shares
    }

    /// Returns whether a region with these samples, of these at each point, is met often enough.
    fn is_enough(&self, of_point: &BTreeMap<usize, f64>, all: &BTreeMap<usize, f64>) -> bool {
        let n_points = self.points.len();
        let n_samples: f64 = of_point.values().sum();
        N_POINTS_MIN.min(n_points) <= of_point.len()
            && POINTS_MIN * n_points as f64 <= of_point.len() as f64
            && N_SAMPLES_MEAN * of_point.len() as f64 <= n_samples
            && of_point.iter().any(|(point, n)| SHARE_MIN * all[point] <= *n)
    }

    /// Returns whether the blocked time is a region of its own.
    fn has_blocked(&self) -> bool {
        let mut all = self.points.iter().flat_map(|(_, runs)| runs);
        let is_large = |run: &&PlaceTimes| {
            blocked(run).is_some_and(|(_, s)| SHARE_MIN * (s + running_s(run, true)) <= s)
        };
        all.clone().all(|run| blocked(run).is_some()) && all.any(is_large)
    }
}

/// Returns the blocked time of a run: the only exact one with a path.
fn blocked(run: &PlaceTimes) -> Option<(&str, f64)> {
    let is_blocked = |(place, (_, samples)): &(&Place, &(f64, u64))| {
        *samples == 0 && place.1.is_none() && !place.0.is_empty()
    };
    run.iter().find(is_blocked).map(|((path, _), (value, _))| (&path[..], *value))
}

/// Returns the computing time of a run, without the blocked time if that is a region of its own.
fn running_s(run: &PlaceTimes, has_blocked: bool) -> f64 {
    let computing = run.iter().filter(|((_, site), _)| site.is_none());
    let all_s: f64 = computing.map(|(_, (value, _))| value).sum();
    if has_blocked { all_s - blocked(run).map_or(0.0, |(_, s)| s) } else { all_s }
}

/// Makes paths part of their callers, from the innermost ones outwards, unless they are kept.
fn folded(mut shares: Shares, keeps: impl Fn(&str, &BTreeMap<usize, f64>) -> bool) -> Shares {
    let depth = |path: &str| path.matches(ARROW).count();
    let mut kept = Shares::new();
    for level in (0..=shares.keys().map(|path| depth(path)).max().unwrap_or(0)).rev() {
        let here: Vec<String> =
            shares.keys().filter(|path| depth(path) == level).cloned().collect();
        for path in here {
            let of_point = shares.remove(&path).unwrap_or_default();
            if keeps(&path, &of_point) {
                kept.insert(path, of_point);
            } else if let Some((caller, _)) = path.rsplit_once(ARROW) {
                let of_caller = shares.entry(caller.to_owned()).or_default();
                for (point, share) in of_point {
                    *of_caller.entry(point).or_default() += share;
                }
            }
        }
    }
    scaled(kept)
}

/// Returns the sum over all paths at each point.
fn sums(shares: &Shares) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (point, share) in shares.values().flatten() {
        *sums.entry(*point).or_default() += share;
    }
    sums
}

/// Scales the shares so that they add up to 1 at each point.
fn scaled(mut shares: Shares) -> Shares {
    let sums = sums(&shares);
    for (point, share) in shares.values_mut().flatten() {
        *share /= sums[point];
    }
    shares
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, Reading};
    use std::collections::BTreeSet;
    use std::fmt::Write;

    /// Lines of a run: path, samples and time, or a time of a call site.
    fn run(text: &mut String, p: u32, rows: &[(&str, &str, f64, Option<u64>)]) {
        for (callpath, metric, value, samples) in rows {
            let more =
                samples.map_or_else(String::new, |samples| format!(",\"samples\":{samples}"));
            writeln!(
                text,
                "{{\"params\":{{\"p\":{p}}},\"callpath\":\"{callpath}\",\"metric\":\"{metric}\",\"value\":{value}{more}}}"
            )
            .expect("a string grows");
        }
    }

    /// Runs at p = 1, 2, 4 and 8, twice each: `force` and `halo` compute, `pack` is met in one run, and `force` and
    /// `step` call a wrapper.
    fn read() -> Reading {
        let mut text = String::new();
        for p in [1, 2, 4, 8] {
            for run_idx in 0..2_u32 {
                let (s, calls_s) = (16.0 / f64::from(p), f64::from(p));
                let mut rows = vec![
                    ("total", "time", s + calls_s, None),
                    ("all ranks->w.c:9 MPI_Send", "time", s + calls_s, None),
                    ("all ranks->w.c:9 MPI_Send", "mpi", calls_s, None),
                    ("all ranks->main->step->force", "path_time", 0.75 * s, Some(75)),
                    ("all ranks->main->halo", "path_time", 0.25 * s, Some(24)),
                    ("all ranks->main->step->force->w.c:9 MPI_Send", "path_time", 0.5, Some(30)),
                    ("all ranks->main->w.c:9 MPI_Send", "path_time", 0.5, Some(10)),
                ];
                if run_idx == 0 && p == 4 {
                    rows.push(("all ranks->main->halo->pack", "path_time", 0.0, Some(2)));
                }
                run(&mut text, p, &rows);
            }
        }
        Format::JsonLines.read(&text)
    }

    fn times(reading: &Reading) -> Vec<(&str, Vec<f64>)> {
        let of_time = reading.measured.series.iter().filter(|it| it.metric == "time");
        let first =
            of_time.map(|it| (&it.region[..], it.points.iter().map(|at| at.values[0]).collect()));
        first.collect()
    }

    #[test]
    fn paths_that_all_points_have_are_regions() {
        let reading = read().by_call_path(None);
        let found = times(&reading);
        let regions: Vec<&str> = found.iter().map(|(region, _)| *region).collect();
        let expected = [
            "total",
            "all ranks->main->halo",
            "all ranks->main->step->force",
            "all ranks->main->w.c:9 MPI_Send",
            "all ranks->main->step->force->w.c:9 MPI_Send",
        ];
        assert_eq!(regions, expected);
        for (idx, p) in [1.0, 2.0, 4.0, 8.0].into_iter().enumerate() {
            let sum: f64 = found[1..].iter().map(|(_, values)| values[idx]).sum();
            assert!((sum - 16.0 / p - p).abs() < 1e-9, "{sum}");
        }
        assert_eq!(found[4].1, [0.75, 1.5, 3.0, 6.0]);
        assert_eq!(reading.measured.series.iter().filter(|it| it.metric == "path_time").count(), 0);
        assert!(reading.notes.is_empty());
    }

    #[test]
    fn known_regions_take_what_belongs_to_them() {
        let known = BTreeSet::from(["all ranks->main", "all ranks->main->step"]);
        let reading = read().by_call_path(Some(&known));
        let regions: Vec<&str> = times(&reading).iter().map(|(region, _)| *region).collect();
        let expected =
            ["total", "all ranks->main", "all ranks->main->step", "all ranks->w.c:9 MPI_Send"];
        assert_eq!(regions, expected);
        let by_site = read().by_call_path(Some(&BTreeSet::from(["all ranks->w.c:9 MPI_Send"])));
        assert_eq!(times(&by_site).len(), 2);
    }

    #[test]
    fn few_samples_leave_call_sites() {
        let mut text = String::new();
        for p in [1, 2] {
            let rows = [
                ("total", "time", 1.0, None),
                ("all ranks->w.c:9 MPI_Send", "time", 1.0, None),
                ("all ranks->main", "path_time", 1.0, Some(3)),
            ];
            run(&mut text, p, &rows);
        }
        let reading = Format::JsonLines.read(&text).by_call_path(None);
        assert_eq!(times(&reading)[1].0, "all ranks->w.c:9 MPI_Send");
        assert!(reading.notes[0].contains("not call paths"), "{:?}", reading.notes);
    }

    #[test]
    fn time_in_which_nothing_ran_is_a_region() {
        let mut text = String::new();
        for p in [1, 2] {
            let rows = [
                ("total", "time", 4.0, None),
                ("all ranks->w.c:9 MPI_Send", "time", 4.0, None),
                ("all ranks->main", "path_time", 3.0, Some(90)),
                ("all ranks->blocked outside MPI", "path_time", 1.0, Some(0)),
            ];
            run(&mut text, p, &rows);
        }
        let reading = Format::JsonLines.read(&text).by_call_path(None);
        let expected = [
            ("total", vec![4.0, 4.0]),
            ("all ranks->main", vec![3.0, 3.0]),
            ("all ranks->blocked outside MPI", vec![1.0, 1.0]),
        ];
        assert_eq!(times(&reading), expected);
    }
}
