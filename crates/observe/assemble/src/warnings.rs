//! Warnings about data that could not be observed, with advice.

use super::roster::{RankProcess, Roster};
use run_record::measured::{MeasuredRun, RunFacts};
use std::collections::BTreeSet;

/// Error of the nodes' clocks, in ns, above which traced runs get a warning.
const CLOCK_ERROR_NS: u64 = 200_000;

/// Losses that are worth a warning, besides those in the reports themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    /// Number of records that found a ring full or were lost in transit.
    pub(super) records: u64,
    /// Number of calls of operations unknown to this version.
    pub(super) unknown_calls: u64,
    /// Programs and libraries that have call sites but no debug information.
    pub(super) without_lines: BTreeSet<String>,
}

/// Returns all warnings, most important first.
pub(super) fn sentences(
    measured: &MeasuredRun,
    facts: &RunFacts,
    roster: &Roster<'_>,
    losses: &Losses,
) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(nothing_seen(roster, facts));
    sentences.extend(measured.warnings.iter().cloned());
    sentences.extend(missing_ranks(roster));
    sentences.extend(records_dropped(facts, losses));
    sentences.extend(tables_too_small(roster));
    sentences.extend(without_time(roster));
    sentences.extend(without_lines(&losses.without_lines));
    if facts.traced {
        sentences.extend(clocks(measured));
    }
    if losses.unknown_calls != 0 {
        sentences.push(format!(
            "{} calls are of operations this version does not know: use one version of Sintonia on all nodes.",
            losses.unknown_calls
        ));
    }
    sentences
}

fn nothing_seen(roster: &Roster<'_>, facts: &RunFacts) -> Option<String> {
    let program = facts.command.first().map_or("the command", String::as_str);
    roster.ranks.is_empty().then(|| {
        format!(
            "No MPI process was seen under `{program}`: it must call MPI_Init, be linked dynamically, and keep LD_PRELOAD (run `sintonia doctor` to check the setup)."
        )
    })
}

fn missing_ranks(roster: &Roster<'_>) -> Vec<String> {
    let worlds = roster.worlds.iter().map(|world| roster.of_world(world));
    let missing = |ranks: &[RankProcess<'_>]| {
        let first = ranks.first()?.report;
        let (n_ranks, size) = (ranks.len(), first.size as usize);
        (n_ranks < size).then(|| {
            format!(
                "Only {n_ranks} of {size} ranks of `{}` were seen: on other nodes LD_PRELOAD must reach the ranks and the folder of Sintonia must exist.",
                first.program
            )
        })
    };
    worlds.filter_map(missing).collect()
}

fn records_dropped(facts: &RunFacts, losses: &Losses) -> Option<String> {
    let so = if facts.probed.is_empty() {
        "the trace has gaps (the totals have none)"
    } else {
        "functions with probes have too few calls (the totals of MPI have all)"
    };
    let n_records = losses.records;
    (n_records != 0)
        .then(|| format!("{n_records} records were dropped, so {so}: enlarge `--ring-records`."))
}

fn tables_too_small(roster: &Roster<'_>) -> Vec<String> {
    let sum = |of: &dyn Fn(&RankProcess<'_>) -> u64| roster.ranks.iter().map(of).sum::<u64>();
    let threads = sum(&|rank| u64::from(rank.report.threads_refused));
    let without_region = sum(&calls_without_region);
    let mut sentences = Vec::new();
    if threads != 0 {
        sentences.push(format!(
            "{threads} threads were not observed because shared memory was full: increase `--threads`, or free space in /dev/shm."
        ));
    }
    if without_region != 0 {
        sentences.push(format!(
            "{without_region} calls are counted by operation only, not by call site: enlarge `--regions`."
        ));
    }
    sentences
}

/// Returns the calls of a rank that found its region tables full.
pub(super) fn calls_without_region(rank: &RankProcess<'_>) -> u64 {
    rank.report.threads.iter().map(|thread| thread.calls_without_region).sum()
}

fn without_time(roster: &Roster<'_>) -> Option<String> {
    let n_ranks = roster.ranks.iter().filter(|rank| !rank.clock.has_rate()).count();
    (n_ranks != 0).then(|| {
        format!(
            "{n_ranks} ranks ended before their clock was measured: their counts are right and their times are 0."
        )
    })
}

fn without_lines(modules: &BTreeSet<String>) -> Option<String> {
    let names: Vec<String> = modules.iter().map(|module| format!("`{module}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "No file and line for calls in {}: compile with -g, or install its debug package.",
            names.join(", ")
        )
    })
}

fn clocks(measured: &MeasuredRun) -> Option<String> {
    let error_ns = measured.nodes.iter().map(|node| node.round_trip_ns / 2).max()?;
    (CLOCK_ERROR_NS < error_ns).then(|| {
        format!(
            "The clocks of the nodes are known to {:.1} ms only: compare shorter times only on one node.",
            error_ns as f64 * 1e-6
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::process;
    use run_record::measured::NodeClock;
    use wire::ProcessReport;

    /// Checks that there is one warning for each of `expected`, containing its text.
    #[track_caller]
    fn check(processes: Vec<ProcessReport>, losses: Losses, expected: &[&str]) {
        let nodes = vec![NodeClock { node: "a".into(), offset_ns: 0, round_trip_ns: 3_000_000 }];
        let measured = MeasuredRun { processes, nodes, ..MeasuredRun::default() };
        let facts = RunFacts { traced: losses.records != 0, ..RunFacts::default() };
        let found = sentences(&measured, &facts, &Roster::new(&measured, facts.started_s), &losses);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn what_is_missing_is_said_in_words() {
        let both = || vec![process(0, 0), process(0, 1)];
        check(both(), Losses::default(), &[]);
        check(vec![], Losses::default(), &["No MPI process was seen"]);
        check(vec![process(0, 1)], Losses::default(), &["Only 1 of 2 ranks of `/bin/fire`"]);
        let losses = Losses { records: 7, ..Losses::default() };
        check(both(), losses, &["7 records were dropped", "known to 1.5 ms"]);
        let losses = Losses { unknown_calls: 3, ..Losses::default() };
        check(both(), losses, &["3 calls are of operations"]);
        let without_lines = ["/bin/a", "/lib/b.so"].map(str::to_owned).into();
        let losses = Losses { without_lines, ..Losses::default() };
        check(both(), losses, &["`/bin/a`, `/lib/b.so`"]);
    }

    #[test]
    fn what_a_process_had_no_room_for_is_said() {
        let mut full = process(0, 0);
        full.threads_refused = 2;
        full.threads[0].calls_without_region = 5;
        full.clock.last_ns = full.clock.first_ns;
        let mut other = process(0, 1);
        other.node = "elsewhere".into();
        let expected =
            ["2 threads were not observed", "5 calls are counted", "1 ranks ended before"];
        check(vec![full, other], Losses::default(), &expected);
    }
}
