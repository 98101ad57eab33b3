//! Times by call path: which functions the ranks of a role compute in, and who calls MPI.
//!
//! Samples give shares; the times that are shared out are those of the regions, which are measured exactly.
//!
//! # Invariants
//! - The times of a role's paths add up to the mean of its ranks' time, except MPI calls that no sample fell into.
//!
//! # Not here
//! Which paths are regions: that takes the runs of all points (`fitting::formats`).

use crate::regions::{Measurement, SiteTime, role_of_ranks};
use std::collections::BTreeMap;

/// Metric of times by call path.
pub const METRIC: &str = "path_time";
/// Name of the computing time in which a rank did not run, nor wait for a core: for files, or asleep.
pub const BLOCKED: &str = "blocked outside MPI";
/// Functions of the system and of runtimes, which say nothing about the program.
const RUNTIME: [&str; 10] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "GOMP_",
    "gomp_",
    "__kmp",
    "start_thread",
    "clone",
    "__clone",
    "[no module]",
];
/// Those of them that a thread of a runtime begins with.
const THREAD: [&str; 4] = ["start_thread", "clone", "__clone", "gomp_thread_start"];
/// Suffixes of functions that the compiler took out of the function with the name before.
const OUTLINED: [&str; 6] =
    ["._omp_fn.", ".omp_outlined", ".part.", ".isra.", ".constprop.", ".cold"];

/// Samples of one rank in one call path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledPath {
    /// Rank, counted over the whole run from 0.
    pub rank: usize,
    /// Functions from the outermost one inwards.
    pub functions: Vec<String>,
    /// Place of the MPI call that the path ends in, as in [`SiteTime::place`]; then the last function is that of MPI.
    pub place: Option<String>,
    /// Number of samples.
    pub samples: u64,
}

/// Samples of a role, by call path and MPI call.
#[derive(Debug, Default)]
struct RoleSamples {
    n_ranks: usize,
    /// Means over the ranks, in s: computing, and the part of it that is blocked.
    computing_s: f64,
    blocked_s: f64,
    /// Mean time over the ranks by MPI call, in s.
    mpi_s: BTreeMap<String, f64>,
    samples: BTreeMap<(Option<String>, String), u64>,
}

/// Returns the times by call path of a run that consists of these parts, given the blocked computing time of each
/// rank in s; none if there are no samples.
pub fn measurements(
    parts: &[SiteTime],
    sampled: &[SampledPath],
    blocked_s: &[f64],
) -> Vec<Measurement> {
    if sampled.is_empty() {
        return Vec::new();
    }
    let names = role_of_ranks(parts);
    let mut roles: BTreeMap<&str, RoleSamples> = BTreeMap::new();
    for (rank, name) in names.iter().enumerate() {
        let role = roles.entry(name).or_default();
        role.n_ranks += 1;
        role.blocked_s += blocked_s.get(rank).copied().unwrap_or(0.0);
    }
    for part in parts {
        let role = roles.entry(&names[part.rank]).or_default();
        role.computing_s += part.computation_s;
        *role.mpi_s.entry(part.place.clone()).or_default() += part.mpi_s;
    }
    for (rank, path, place, samples) in joined(sampled) {
        let Some(role) = names.get(rank).and_then(|name| roles.get_mut(&name[..])) else {
            continue;
        };
        *role.samples.entry((place, path)).or_default() += samples;
    }
    roles.iter().flat_map(|(name, role)| role.measurements(name)).collect()
}

impl RoleSamples {
    fn measurements(&self, name: &str) -> Vec<Measurement> {
        let n_ranks = self.n_ranks.max(1) as f64;
        let row = |parts: &[&str], value: f64, samples: u64| {
            let parts = parts.iter().filter(|part| !part.is_empty());
            let callpath = [name].iter().chain(parts).copied().collect::<Vec<_>>().join("->");
            Measurement { callpath, metric: METRIC, value, samples: Some(samples) }
        };
        let mut totals: BTreeMap<&Option<String>, u64> = BTreeMap::new();
        for ((place, _), samples) in &self.samples {
            *totals.entry(place).or_default() += samples;
        }
        let blocked_s = self.blocked_s.min(self.computing_s) / n_ranks;
        let running_s = self.computing_s / n_ranks - blocked_s;
        let mut rows = Vec::new();
        if !totals.contains_key(&None) {
            rows.push(row(&[], running_s, 0));
        }
        if 0.0 < blocked_s {
            rows.push(row(&[BLOCKED], blocked_s, 0));
        }
        for ((place, path), samples) in &self.samples {
            let whole_s = match place {
                None => running_s,
                Some(place) => self.mpi_s.get(place).copied().unwrap_or(0.0) / n_ranks,
            };
            if whole_s == 0.0 {
                continue;
            }
            let share = *samples as f64 / totals[place].max(1) as f64;
            let ends_in = place.as_deref().unwrap_or_default();
            rows.push(row(&[path, ends_in], whole_s * share, *samples));
        }
        rows
    }
}

/// Returns rank, path, place and samples of each, where threads of a runtime work for the function that started them.
fn joined(sampled: &[SampledPath]) -> Vec<(usize, String, Option<String>, u64)> {
    let plain: Vec<Vec<String>> =
        sampled.iter().map(|one| plain(&one.functions, one.place.is_some())).collect();
    let is_of_thread = |one: &SampledPath| {
        let is_start = |name: &String| THREAD.iter().any(|start| name.starts_with(start));
        one.functions.iter().take(3).any(is_start)
    };
    // Where functions stand on paths of the program's own threads, by function: the path up to it with most samples.
    let mut homes: BTreeMap<&str, BTreeMap<&[String], u64>> = BTreeMap::new();
    for (one, path) in sampled.iter().zip(&plain).filter(|(one, _)| !is_of_thread(one)) {
        for (at, function) in path.iter().enumerate() {
            let up_to = homes.entry(function).or_default().entry(&path[..at]).or_default();
            *up_to += one.samples;
        }
    }
    let path_of = |(one, path): (&SampledPath, &Vec<String>)| {
        // Without lines, a call site is named after the function that it is in.
        let has_function = |place: &String, last: &String| {
            place.strip_prefix(&last[..]).is_some_and(|rest| rest.starts_with([' ', '#']))
        };
        let is_named = one
            .place
            .as_ref()
            .zip(path.last())
            .is_some_and(|(place, last)| has_function(place, last));
        let path = &path[..path.len() - usize::from(is_named)];
        let home = path
            .first()
            .filter(|_| is_of_thread(one))
            .and_then(|first| homes.get(&first[..])?.iter().max_by_key(|(_, samples)| **samples));
        let above = home.map_or(&[][..], |(above, _)| *above);
        let path = above.iter().chain(path).map(String::as_str).collect::<Vec<_>>().join("->");
        (one.rank, path, one.place.clone(), one.samples)
    };
    sampled.iter().zip(&plain).map(path_of).collect()
}

/// Functions of the program on a path: without those of runtimes, and each once, so that recursion is one place.
fn plain(functions: &[String], ends_in_mpi: bool) -> Vec<String> {
    let n_own = functions.len() - usize::from(ends_in_mpi && !functions.is_empty());
    let mut path: Vec<String> = Vec::new();
    for name in &functions[..n_own] {
        if RUNTIME.iter().any(|runtime| name.starts_with(runtime)) {
            continue;
        }
        let end = OUTLINED.iter().filter_map(|suffix| name.find(suffix)).min();
        let name = without_arguments(&name[..end.unwrap_or(name.len())]).replace("->", "→");
        match path.iter().position(|other| *other == name) {
            Some(at) => path.truncate(at + 1),
            None => path.push(name),
        }
    }
    path
}

/// Returns the name of a function without the arguments of templates: `solve` for `solve<Matrix<double>, int>`.
#[must_use]
pub fn without_arguments(name: &str) -> String {
    // The names of operators have brackets of their own.
    if name.contains("operator<") || name.contains("operator>") || name.contains("operator-") {
        return name.to_owned();
    }
    let (mut short, mut depth) = (String::new(), 0_usize);
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    // Nothing is left of a name in brackets, such as `<unknown>`.
    if short.trim().is_empty() { name.to_owned() } else { short.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(rank: usize, functions: &str, place: Option<&str>, samples: u64) -> SampledPath {
        let functions = functions.split(' ').map(str::to_owned).collect();
        SampledPath { rank, functions, place: place.map(str::to_owned), samples }
    }

    fn part(rank: usize, place: &str, computation_s: f64, mpi_s: f64) -> SiteTime {
        SiteTime { rank, place: place.to_owned(), computation_s, mpi_s, ..SiteTime::default() }
    }

    #[track_caller]
    fn check(sampled: &[SampledPath], blocked_s: &[f64], expected: &[(&str, f64, u64)]) {
        let parts = [part(0, "a.c:1 MPI_Send", 4.0, 2.0), part(1, "a.c:1 MPI_Send", 8.0, 1.0)];
        let found = measurements(&parts, sampled, blocked_s);
        let of = |it: &Measurement| {
            let rounded = (it.value * 1e9).round() / 1e9;
            (it.callpath.clone(), rounded, it.samples.unwrap_or_default())
        };
        let found: Vec<_> = found.iter().map(of).collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, s, n)| ((*path).to_owned(), *s, *n)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn computing_and_calls_are_shared_out_by_samples() {
        let all = [
            sampled(0, "_start main step force force._omp_fn.0", None, 30),
            sampled(1, "_start main step force", None, 60),
            sampled(1, "_start main", None, 10),
            sampled(1, "main step halo MPI_Send", Some("a.c:1 MPI_Send"), 3),
        ];
        let expected = [
            ("all ranks->main", 0.6, 10),
            ("all ranks->main->step->force", 5.4, 90),
            ("all ranks->main->step->halo->a.c:1 MPI_Send", 1.5, 3),
        ];
        check(&all, &[], &expected);
        let blocked = [("all ranks->blocked outside MPI", 1.0, 0), ("all ranks->main", 5.0, 1)];
        check(&[sampled(0, "main", None, 1)], &[0.0, 2.0], &blocked);
    }

    #[test]
    fn computing_without_samples_is_of_the_role() {
        let only_mpi = [sampled(0, "main MPI_Send", Some("a.c:1 MPI_Send"), 1)];
        let expected = [("all ranks", 6.0, 0), ("all ranks->main->a.c:1 MPI_Send", 1.5, 1)];
        check(&only_mpi, &[], &expected);
        check(&[], &[], &[]);
    }

    #[test]
    fn threads_of_a_runtime_work_for_who_started_them() {
        let all = [
            sampled(0, "main step GOMP_parallel force._omp_fn.1", None, 1),
            sampled(0, "clone3 start_thread gomp_thread_start force._omp_fn.1 pair", None, 3),
        ];
        let expected = [
            ("all ranks->main->step->force", 1.5, 1),
            ("all ranks->main->step->force->pair", 4.5, 3),
        ];
        check(&all, &[], &expected);
    }

    #[test]
    fn arguments_of_templates_are_left_out() {
        let names = ["f<A<int>, B>::g<3>", "f", "A<int>::operator<<", "<unknown>", "f<a> "];
        let expected = ["f::g", "f", "A<int>::operator<<", "<unknown>", "f"];
        assert_eq!(names.map(without_arguments), expected);
    }

    #[test]
    fn recursion_is_one_place() {
        let path = |words: &str| plain(&sampled(0, words, None, 1).functions, false).join(" ");
        assert_eq!(path("main sort split sort split merge"), "main sort split merge");
        assert_eq!(path("main a b a"), "main a");
        assert_eq!(path("main x::operator->"), "main x::operator→");
    }
}
