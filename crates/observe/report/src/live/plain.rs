//! Snapshots as lines, for pipes and log files.

use super::Snapshot;
use crate::place;
use display::text::harmless;
use display::units::{percent, plural, rate, seconds};

/// Formats a snapshot as one line without a line feed.
#[must_use]
pub fn plain_line(snapshot: &Snapshot) -> String {
    let start = format!("sintonia: {} {}", seconds(snapshot.elapsed_s), harmless(&snapshot.state));
    if snapshot.ranks.is_empty() {
        return start;
    }
    let now = &snapshot.last_interval;
    let calls_per_s: f64 = snapshot.ranks.iter().map(|rank| rank.calls_per_s).sum();
    let parts = [
        start,
        plural(snapshot.ranks.len(), "rank"),
        format!(
            "parallel efficiency {} ({} so far)",
            percent(now.parallel_efficiency),
            percent(snapshot.so_far.parallel_efficiency)
        ),
        format!("load balance {}", percent(now.load_balance)),
        format!("communication {}", percent(now.communication_efficiency)),
        format!("{} calls/s", rate(calls_per_s)),
    ];
    let line = parts.join(", ");
    match snapshot.call_sites.first() {
        Some(site) => {
            let operation = harmless(&site.operation);
            format!("{line}, most time in {operation} {}", place::location(&site.place))
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[track_caller]
    fn check(snapshot: &Snapshot, expected: &str) {
        assert_eq!(plain_line(snapshot), expected);
    }

    #[test]
    fn a_line_for_each_state() {
        let waiting = Snapshot { state: "waiting for MPI".to_owned(), ..Snapshot::default() };
        check(&waiting, "sintonia: 0 s waiting for MPI");
        check(
            &sample::snapshot(8),
            "sintonia: 12.5 s running, 8 ranks, parallel efficiency 60.1 % (68.9 % so far), \
             load balance 73.4 %, communication 93.9 %, 2.13 k calls/s, most time in MPI_Recv xfire.c:412",
        );
    }
}
