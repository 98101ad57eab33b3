//! The MPI call that ends an iteration: the one that the outermost loop of most of the time passes.
//!
//! # Not here
//! The search in the sequence of calls while the program runs (`tuner`), whose answer is taken if the run has it.

use crate::evidence::{Evidence, Site, Step};
use std::collections::BTreeMap;

/// Least number of repetitions.
const N_MIN: u64 = 8;
/// Longest iteration in s that is preferred to those of an inner loop, as in the tuner.
const LONGEST_S: f64 = 0.25;
/// Least share of the time in the loop.
const SHARE_MIN: f64 = 0.6;

/// A call as a description names it, and the sentence why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IterationCall {
    pub(crate) call: String,
    pub(crate) reason: String,
    /// Function that makes the call.
    pub(crate) function: String,
}

/// Finds the call.
///
/// # Errors
/// A sentence why there is none.
pub(crate) fn find(evidence: &Evidence) -> Result<IterationCall, String> {
    let told = evidence.iteration_source.as_deref();
    if let Some((site, text)) = told.and_then(|text| Some((site_told(evidence, text)?, text)))
        && let Some(call) = call_of(evidence, site)
    {
        let reason = format!("Found while the program ran: {text}.");
        let function = evidence.sites[&site].place.function.clone();
        return Ok(IterationCall { call, reason, function });
    }
    let mut n_calls: BTreeMap<u32, u64> = BTreeMap::new();
    for step in &evidence.steps {
        *n_calls.entry(step.site).or_default() += step.calls;
    }
    let counts = repetitions(&evidence.steps, &n_calls);
    if counts.is_empty() {
        return Err(format!(
            "no MPI call of the lowest rank repeats {N_MIN} times or more within most of the time; a longer run may \
             show the loop"
        ));
    }
    let named = counts.iter().find_map(|n| Some((*n, named_site(evidence, &n_calls, *n)?)));
    let Some((n, (site, call))) = named else {
        return Err("the calls of its loops cannot be told apart by name".to_owned());
    };
    let Site { operation, place, .. } = &evidence.sites[&site];
    let whole_s: f64 = evidence.steps.iter().map(|step| step.time_s).sum();
    let reason = format!(
        "`{operation}` in `{}` was passed {n} times by the lowest rank, every {:.3} ms.",
        place.function,
        1e3 * whole_s / n as f64
    );
    Ok(IterationCall { call, reason, function: place.function.clone() })
}

/// Returns the site that is passed `n` times and can be named, collectives and those with much time first.
fn named_site(evidence: &Evidence, n_calls: &BTreeMap<u32, u64>, n: u64) -> Option<(u32, String)> {
    let mpi_s = |site: u32| -> f64 {
        evidence.steps.iter().filter(|step| step.site == site).map(|step| step.mpi_s).sum()
    };
    let rank = |site: &u32| {
        let is_collective = evidence.sites.get(site).is_some_and(|site| site.is_collective);
        (is_collective, mpi_s(*site))
    };
    let passed = n_calls.iter().filter(|(_, calls)| **calls == n);
    let mut sites: Vec<u32> = passed.map(|(site, _)| *site).collect();
    sites.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    sites.iter().find_map(|site| Some((*site, call_of(evidence, *site)?)))
}

/// Returns how often loops with most of the time repeat: the outermost one that is not too long first.
fn repetitions(steps: &[Step], n_calls: &BTreeMap<u32, u64>) -> Vec<u64> {
    let whole_s: f64 = steps.iter().map(|step| step.time_s).sum();
    let share = |n: u64| {
        let inside = steps.iter().filter(|step| n_calls.get(&step.site).is_some_and(|it| n <= *it));
        inside.map(|step| step.time_s).sum::<f64>() / whole_s
    };
    let mut counts: Vec<u64> = n_calls.values().copied().filter(|n| N_MIN <= *n).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|n| SHARE_MIN <= share(*n));
    let is_short = |n: &u64| whole_s / *n as f64 <= LONGEST_S;
    let (mut found, mut long): (Vec<u64>, Vec<u64>) = counts.into_iter().partition(is_short);
    long.reverse();
    found.extend(long);
    found
}

/// Returns the site that the tuner's sentence names.
fn site_told(evidence: &Evidence, text: &str) -> Option<u32> {
    let is_told = |site: &&Site| {
        let place = &site.place;
        let named = match place.line {
            0 => format!("{} in {}:", site.operation, place.function),
            line => format!("{} in {} ({}:{line})", site.operation, place.function, place.file),
        };
        text.contains(&named)
    };
    let found = evidence.sites.iter().find(|(_, site)| is_told(site));
    found.map(|(id, _)| *id)
}

/// Returns how a description names a call; `None` if it cannot be told from others.
fn call_of(evidence: &Evidence, site: u32) -> Option<String> {
    let Site { operation, place, .. } = evidence.sites.get(&site)?;
    let is_alone = |is_alike: &dyn Fn(&Site) -> bool| {
        evidence.sites.values().filter(|other| is_alike(other)).count() == 1
    };
    let file = file_of(&place.file);
    let is_in_line =
        |other: &Site| file_of(&other.place.file) == file && other.place.line == place.line;
    if place.line != 0 && is_alone(&is_in_line) {
        return Some(format!("{file}:{}", place.line));
    }
    let is_same =
        |other: &Site| other.place.function == place.function && other.operation == *operation;
    (!place.function.is_empty() && is_alone(&is_same))
        .then(|| format!("{operation} in {}", place.function))
}

fn file_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::SourceLocation;

    /// Evidence of sites in `solve.c`, each with its line, calls and time.
    fn evidence(sites: &[(u32, u64, f64)]) -> Evidence {
        let mut evidence = Evidence::default();
        for (id, (line, calls, time_s)) in (0..).zip(sites) {
            let (function, file) = ("solve".to_owned(), "/src/solve.c".to_owned());
            let place = SourceLocation { function, file, line: *line, ..SourceLocation::default() };
            let operation = format!("MPI_Op{id}");
            evidence.sites.insert(id, Site { operation, place, is_collective: id == 1 });
            let step = Step { site: id, calls: *calls, time_s: *time_s, mpi_s: *time_s };
            evidence.steps.push(step);
        }
        evidence
    }

    #[track_caller]
    fn check(sites: &[(u32, u64, f64)], expected: Result<&str, &str>) {
        match (find(&evidence(sites)), expected) {
            (Ok(found), Ok(call)) => assert_eq!(found.call, call),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, _) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn the_outermost_loop_of_most_of_the_time_has_the_iteration() {
        check(&[(3, 1, 0.1), (5, 100, 1.0), (7, 900, 3.0)], Ok("solve.c:5"));
        // The outer loop takes too long for a comparison.
        check(&[(3, 1, 0.1), (5, 8, 1.0), (7, 900, 9.0)], Ok("solve.c:7"));
        // Nothing but initialization repeats so seldom.
        check(&[(3, 9, 0.1), (5, 1000, 1.0)], Ok("solve.c:3"));
        check(&[(3, 7, 0.1)], Err("repeats 8 times"));
        // A collective ends an iteration rather than another call.
        check(&[(3, 50, 2.0), (5, 50, 1.0)], Ok("solve.c:5"));
        // Of two calls in one line, the operation is named.
        check(&[(5, 50, 2.0), (5, 50, 1.0)], Ok("MPI_Op1 in solve"));
    }

    #[test]
    fn what_the_tuner_found_is_taken() {
        let mut evidence = evidence(&[(3, 50, 2.0), (5, 50, 1.0)]);
        let text = "an iteration is one passage of MPI_Op0 in solve (/src/solve.c:3): 12.0 ms, 2 MPI calls";
        evidence.iteration_source = Some(text.to_owned());
        assert_eq!(find(&evidence).unwrap().call, "solve.c:3");
    }
}
