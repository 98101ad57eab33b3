//! Measurements of a run: for each role the times of its regions, and the time of the whole run.
//!
//! A region is the call site of an MPI operation together with the computation before it. Its values are means over
//! the ranks of the role.
//!
//! # Invariants
//! - The times of a role's regions add up to the mean time of its ranks: the time of a function that is measured
//!   separately is subtracted from the computation around it.

use std::collections::BTreeSet;

/// Name of the region that stands for the whole run.
pub const TOTAL: &str = "total";

/// Time and traffic of one rank at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteTime {
    /// Rank, counted over the whole run from 0.
    pub rank: usize,
    /// Location and operation, such as `matmul.c:88 MPI_Send`.
    pub place: String,
    /// Computing time before the calls, in seconds.
    pub computation_s: f64,
    /// Time inside the calls, in seconds.
    pub mpi_s: f64,
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved by the calls.
    pub bytes: u64,
    /// Shares of this computation that belong to functions measured separately.
    pub functions: Vec<FunctionShare>,
}

/// Share of a function in the computation before a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionShare {
    /// Name of the function.
    pub function: String,
    /// Number of its calls that ended there.
    pub calls: u64,
    /// Time in the function, without MPI and without other measured functions inside it, in seconds.
    pub time_s: f64,
}

/// One measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Region, such as `workers->matmul.c:88 MPI_Send`.
    pub callpath: String,
    /// Metric: `time`, `computation`, `mpi`, `calls`, `bytes`, or [`METRIC`](crate::call_paths::METRIC).
    pub metric: &'static str,
    /// Value, in seconds, calls, or bytes.
    pub value: f64,
    /// Number of samples that a time by call path rests on.
    pub samples: Option<u64>,
}

/// Sums over the ranks of a role for one region.
struct Row {
    callpath: String,
    n_ranks: usize,
    /// Computation in seconds, time in MPI in seconds, calls, bytes.
    sums: [f64; 4],
}

/// Returns the measurements of a run that consists of these parts, in the order of the parts.
pub fn measurements(parts: &[SiteTime], total_s: f64) -> Vec<Measurement> {
    let roles = role_of_ranks(parts);
    let mut rows: Vec<Row> = Vec::new();
    for part in parts {
        let role = &roles[part.rank];
        let n_ranks = roles.iter().filter(|other| *other == role).count();
        let mut add = |callpath: String, values: [f64; 4]| {
            let idx = rows.iter().position(|row| row.callpath == callpath).unwrap_or_else(|| {
                rows.push(Row { callpath, n_ranks, sums: [0.0; 4] });
                rows.len() - 1
            });
            rows[idx].sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        let of_functions_s: f64 = part.functions.iter().map(|share| share.time_s).sum();
        let own_s = (part.computation_s - of_functions_s).max(0.0);
        let callpath = format!("{role}->{}", part.place);
        for share in &part.functions {
            let values = [share.time_s, 0.0, share.calls as f64, 0.0];
            add(format!("{callpath}->{}", share.function), values);
        }
        add(callpath, [own_s, part.mpi_s, part.calls as f64, part.bytes as f64]);
    }
    let callpath = TOTAL.to_owned();
    let whole = Measurement { callpath, metric: "time", value: total_s, samples: None };
    [whole].into_iter().chain(rows.iter().flat_map(Row::measurements)).collect()
}

impl Row {
    fn measurements(&self) -> impl Iterator<Item = Measurement> {
        let [computation, mpi, calls, bytes] = self.sums.map(|sum| sum / self.n_ranks as f64);
        let values = [
            ("time", computation + mpi),
            ("computation", computation),
            ("mpi", mpi),
            ("calls", calls),
            ("bytes", bytes),
        ];
        values.into_iter().map(|(metric, value)| Measurement {
            callpath: self.callpath.clone(),
            metric,
            value,
            samples: None,
        })
    }
}

/// An MPI call on the timeline of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineMpiCall {
    /// Time of its start, in ns.
    pub start_ns: u64,
    /// Time of its end, in ns.
    pub end_ns: u64,
    /// Number that identifies its place.
    pub place: usize,
}

/// Entry or exit of a function on the timeline of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionBoundary {
    /// Time, in ns.
    pub time_ns: u64,
    /// Number that identifies the function.
    pub function: usize,
    /// True for an entry, false for an exit.
    pub is_entry: bool,
}

/// Share of a function in the computation before the calls at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Number of the place.
    pub place: usize,
    /// Number of the function.
    pub function: usize,
    /// Number of its calls that ended there.
    pub calls: u64,
    /// Time in the function, without other functions inside it, in ns.
    pub time_ns: u64,
}

/// Divides the computation of a thread among functions; calls and boundaries are sorted by time.
///
/// Time belongs to the innermost open function, and to the place of the next call. Time inside calls belongs to MPI.
pub fn inside(calls: &[TimelineMpiCall], boundaries: &[FunctionBoundary]) -> Vec<Inside> {
    let mut found: Vec<Inside> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut boundaries = boundaries.iter().peekable();
    let mut now_ns = 0;
    for call in calls {
        let mut add = |function: usize, calls: u64, time_ns: u64| {
            let is_same = |other: &Inside| (other.place, other.function) == (call.place, function);
            let idx = found.iter().position(is_same).unwrap_or_else(|| {
                found.push(Inside { place: call.place, function, ..Inside::default() });
                found.len() - 1
            });
            found[idx].calls += calls;
            found[idx].time_ns += time_ns;
        };
        while let Some(boundary) = boundaries.next_if(|boundary| boundary.time_ns <= call.start_ns)
        {
            // A boundary inside the last call changes which function is open, but adds no time.
            let until_ns = boundary.time_ns.max(now_ns);
            if let Some(function) = open.last() {
                add(*function, 0, until_ns - now_ns);
            }
            now_ns = until_ns;
            if boundary.is_entry {
                open.push(boundary.function);
            } else if let Some(at) = open.iter().rposition(|other| *other == boundary.function) {
                open.truncate(at);
                add(boundary.function, 1, 0);
            }
        }
        if let Some(function) = open.last() {
            add(*function, 0, call.start_ns.saturating_sub(now_ns));
        }
        now_ns = now_ns.max(call.end_ns);
    }
    found
}

/// Returns the name of each rank's role.
pub(crate) fn role_of_ranks(parts: &[SiteTime]) -> Vec<String> {
    let n_ranks = parts.iter().map(|part| part.rank + 1).max().unwrap_or(0);
    let mut places = vec![BTreeSet::new(); n_ranks];
    for part in parts {
        places[part.rank].insert(part.place.as_str());
    }
    roles(&places)
}

/// Returns the name of each rank's role, given the places at which it calls MPI.
///
/// Names do not depend on the number of ranks where possible, so that a role has the same name in all runs
/// of an experiment.
fn roles(places: &[BTreeSet<&str>]) -> Vec<String> {
    let first_alike: Vec<usize> = places
        .iter()
        .map(|own| places.iter().position(|other| other == own).expect("a rank is like itself"))
        .collect();
    let n_roles = first_alike.iter().collect::<BTreeSet<_>>().len();
    let last = places.len().saturating_sub(1);
    let n_alike = |first: usize| first_alike.iter().filter(|other| **other == first).count();
    let master_is_alone = n_roles == 2 && n_alike(0) == 1;
    let name = |first: &usize| match *first {
        _ if n_roles == 1 => "all ranks".to_owned(),
        0 if master_is_alone => "master".to_owned(),
        _ if master_is_alone => "workers".to_owned(),
        first if first != 0 && first == last => "last rank".to_owned(),
        first if n_alike(first) == 1 => format!("rank {first}"),
        first => format!("ranks {first}-"),
    };
    first_alike.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(rank: usize, place: &str, computation_s: f64, mpi_s: f64) -> SiteTime {
        SiteTime {
            rank,
            place: place.to_owned(),
            computation_s,
            mpi_s,
            calls: 2,
            bytes: 10,
            functions: Vec::new(),
        }
    }

    fn times(parts: &[SiteTime]) -> Vec<(String, f64)> {
        let all = measurements(parts, 9.0).into_iter().filter(|it| it.metric == "time");
        all.map(|it| (it.callpath, it.value)).collect()
    }

    #[test]
    fn a_role_has_the_mean_of_its_ranks() {
        let parts = [
            part(0, "a:1 MPI_Send", 1.0, 2.0),
            part(1, "a:2 MPI_Recv", 0.5, 3.0),
            part(2, "a:2 MPI_Recv", 1.5, 1.0),
            part(2, "a:2 MPI_Recv", 0.0, 2.0),
        ];
        let expected = [
            ("total".to_owned(), 9.0),
            ("master->a:1 MPI_Send".to_owned(), 3.0),
            ("workers->a:2 MPI_Recv".to_owned(), 4.0),
        ];
        assert_eq!(times(&parts), expected);
        let calls = measurements(&parts, 9.0);
        let of_workers = calls.iter().filter(|it| it.callpath.starts_with("workers"));
        let values: Vec<_> = of_workers.map(|it| (it.metric, it.value)).collect();
        let rest = [("computation", 1.0), ("mpi", 3.0), ("calls", 3.0), ("bytes", 15.0)];
        assert_eq!(values[1..], rest);
    }

    #[test]
    fn a_function_is_taken_out_of_its_region() {
        let mut one = part(0, "a:1 MPI_Send", 5.0, 1.0);
        one.functions.push(FunctionShare {
            function: "multiply".to_owned(),
            calls: 3,
            time_s: 4.0,
        });
        let expected = [
            ("total".to_owned(), 9.0),
            ("all ranks->a:1 MPI_Send->multiply".to_owned(), 4.0),
            ("all ranks->a:1 MPI_Send".to_owned(), 2.0),
        ];
        assert_eq!(times(&[one]), expected);
    }

    /// Calls as `(start, end, place)`, boundaries as `(time, function, is_entry)`.
    #[track_caller]
    fn check_inside(
        calls: &[(u64, u64, usize)],
        boundaries: &[(u64, usize, bool)],
        expected: &[(usize, usize, u64, u64)],
    ) {
        let call = |&(start_ns, end_ns, place): &_| TimelineMpiCall { start_ns, end_ns, place };
        let boundary =
            |&(time_ns, function, is_entry): &_| FunctionBoundary { time_ns, function, is_entry };
        let calls: Vec<TimelineMpiCall> = calls.iter().map(call).collect();
        let boundaries: Vec<FunctionBoundary> = boundaries.iter().map(boundary).collect();
        let found = inside(&calls, &boundaries);
        let found: Vec<_> =
            found.iter().map(|it| (it.place, it.function, it.calls, it.time_ns)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn computation_is_divided_among_functions() {
        let calls = [(100, 110, 7), (200, 210, 8)];
        check_inside(&calls, &[], &[]);
        check_inside(&calls, &[(20, 1, true), (60, 1, false)], &[(7, 1, 1, 40)]);
        // A function that calls MPI: its time on both sides of the call.
        check_inside(&calls, &[(90, 1, true), (130, 1, false)], &[(7, 1, 0, 10), (8, 1, 1, 20)]);
        // A function inside another one.
        let nested = [(10, 1, true), (20, 2, true), (50, 2, false), (60, 1, false)];
        check_inside(&calls, &nested, &[(7, 1, 1, 20), (7, 2, 1, 30)]);
        // A function that never ends, and an exit without an entry.
        check_inside(&calls, &[(120, 1, true)], &[(8, 1, 0, 80)]);
        check_inside(&calls, &[(120, 1, false)], &[]);
    }

    #[track_caller]
    fn check_roles(places: &[&str], expected: &[&str]) {
        let places: Vec<BTreeSet<&str>> =
            places.iter().map(|all| all.split(' ').collect()).collect();
        assert_eq!(roles(&places), expected);
    }

    #[test]
    fn ranks_that_do_the_same_have_a_role() {
        check_roles(&[], &[]);
        check_roles(&["a"], &["all ranks"]);
        check_roles(&["a b", "b a", "a b"], &["all ranks"; 3]);
        check_roles(&["a", "b"], &["master", "workers"]);
        check_roles(&["a", "b", "b"], &["master", "workers", "workers"]);
        check_roles(&["b", "b", "a"], &["ranks 0-", "ranks 0-", "last rank"]);
        check_roles(&["a", "b", "b", "c"], &["rank 0", "ranks 1-", "ranks 1-", "last rank"]);
        check_roles(&["a", "b", "a", "b"], &["ranks 0-", "ranks 1-", "ranks 0-", "ranks 1-"]);
    }
}
