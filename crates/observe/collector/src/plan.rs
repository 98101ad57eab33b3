//! Timing and progress of a collector: decisions without clock, file or socket.

use std::time::Duration;

/// Maximum number of records in one message (256 KiB).
pub(crate) const BATCH_RECORDS_MAX: u64 = 4096;
/// Shortest interval between reads, in which records wait to be sent together.
const SHORTEST: Duration = Duration::from_millis(1);
/// Interval at which orders that found no room in a mailbox are retried.
pub(crate) const ORDERS_EVERY: Duration = Duration::from_millis(5);
/// Fill of a ring per interval up to which it may wait for the requested time.
const LITTLE: f64 = 1.0 / 512.0;
const LONGEST: Duration = Duration::from_millis(20);
const DOZING: Duration = Duration::from_millis(100);
/// Longest interval for events that are only summed.
const LONGEST_SUMMED: Duration = Duration::from_millis(50);
/// Longest interval with functions chosen by pattern: they may suddenly be called so often that a ring of the
/// usual size holds only a few milliseconds of records.
const LONGEST_PROBED: Duration = Duration::from_millis(5);

/// Interval between reads of the rings: short enough that none fills up, and no shorter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrainPace {
    longest: Duration,
    /// Interval after a long time without records.
    dozing: Duration,
    /// Time until rings are read again.
    pub(crate) interval: Duration,
    /// Requested interval when records of function calls are awaited.
    awaited: Duration,
    n_empty: u32,
    /// Fill of the fullest ring at the last read, 0 to 1.
    fill: f64,
}

impl Default for DrainPace {
    fn default() -> Self {
        Self::within(LONGEST, DOZING)
    }
}

impl DrainPace {
    /// Returns the pace for processes whose events are only summed.
    pub(crate) fn of_sums() -> Self {
        Self::within(LONGEST_SUMMED, DOZING)
    }

    /// Returns the pace for processes with probes in functions chosen by pattern.
    pub(crate) fn of_probes() -> Self {
        Self::within(LONGEST_PROBED, LONGEST_PROBED)
    }

    fn within(longest: Duration, dozing: Duration) -> Self {
        Self { longest, dozing, interval: longest, awaited: longest, n_empty: 0, fill: 0.0 }
    }

    /// Sets the time within which records of processes that take orders are wanted.
    pub(crate) fn set_awaited_interval(&mut self, time: Duration) {
        self.awaited = time.max(SHORTEST);
    }

    /// Returns the interval if a process takes orders: as requested while records arrive, doubled by each of the
    /// first two empty reads in a row. With many records it is never longer than the normal interval.
    pub(crate) fn interval_when_awaited(&self) -> Duration {
        let awaited =
            (self.awaited * 2_u32.pow(self.n_empty.min(2))).min(self.awaited.max(LONGEST));
        let is_urgent = self.interval < self.longest || LITTLE < self.fill;
        if is_urgent { self.interval.min(awaited) } else { awaited }
    }

    /// Adapts the interval after a read that found the fullest ring filled to `fill` (0 to 1).
    pub(crate) fn after(&mut self, fill: f64) {
        self.fill = fill;
        self.n_empty = if fill == 0.0 { self.n_empty.saturating_add(1) } else { 0 };
        self.interval = if 0.125 < fill {
            (self.interval / 4).max(SHORTEST)
        } else if 50 < self.n_empty {
            self.dozing
        } else if fill < 0.03 {
            (self.interval * 2).min(self.longest)
        } else {
            self.interval.min(self.longest)
        };
    }
}

/// Progress of one thread's records.
///
/// Records are delivered on two paths: individually and summed. Those of one path may be safe before earlier ones
/// of the other, but a ring is freed in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadProgress {
    /// Number of records that are safe elsewhere; their ring space is free.
    pub acknowledged: u64,
    /// Number of records handed to the connection.
    pub sent: u64,
    single: DeliveryPath,
    summed: DeliveryPath,
}

/// Path on which records are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// One by one.
    Single,
    /// As part of a sum.
    Summed,
}

/// Positions up to which records were delivered on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DeliveryPath {
    handed: u64,
    safe: u64,
}

impl DeliveryPath {
    /// Returns the position before which nothing of this path is unsafe; `sent` counts the records of both paths.
    fn safe_up_to(&self, sent: u64) -> u64 {
        if self.handed <= self.safe { sent } else { self.safe }
    }
}

impl ReadProgress {
    /// Starts at `position`; all records before it are safe.
    pub(crate) fn at(position: u64) -> Self {
        let path = DeliveryPath { handed: position, safe: position };
        Self { acknowledged: position, sent: position, single: path, summed: path }
    }

    /// Returns the next records to deliver if `written` exist: first and count.
    pub(crate) fn next_batch(&self, written: u64) -> Option<(u64, u64)> {
        let n_records = written.saturating_sub(self.sent).min(BATCH_RECORDS_MAX);
        (n_records != 0).then_some((self.sent, n_records))
    }

    /// Notes that records before `end` were delivered individually.
    pub(crate) fn hand_over(&mut self, end: u64) {
        self.sent = self.sent.max(end);
        self.single.handed = end;
    }

    /// Notes that records before `end` were summed.
    pub(crate) fn add_up(&mut self, end: u64) {
        self.sent = self.sent.max(end);
        self.summed.handed = end;
    }

    /// Notes that records before `end` are dealt with.
    pub(crate) fn skip(&mut self, end: u64) {
        self.sent = self.sent.max(end);
    }

    /// Notes that all records before `up_to` that were delivered on one path are safe; returns true if that is new.
    ///
    /// Never goes past what was sent: an acknowledgment of an earlier connection may arrive late, and must not
    /// cause records to be dropped.
    pub(crate) fn acknowledge(&mut self, path: Delivery, up_to: u64) -> bool {
        let path = match path {
            Delivery::Single => &mut self.single,
            Delivery::Summed => &mut self.summed,
        };
        let is_new = path.safe < up_to && up_to <= path.handed;
        if is_new {
            path.safe = up_to;
        }
        is_new
    }

    /// Returns the position up to which the ring may be freed, if it is new.
    pub(crate) fn settle(&mut self) -> Option<u64> {
        let safe = self.single.safe_up_to(self.sent).min(self.summed.safe_up_to(self.sent));
        let is_news = self.acknowledged < safe;
        self.acknowledged = self.acknowledged.max(safe);
        is_news.then_some(safe)
    }

    /// Rewinds after a lost connection: unacknowledged records are sent again.
    pub(crate) fn rewind(&mut self) {
        *self = Self::at(self.acknowledged);
    }
}

/// Stage in the life of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Milestone {
    /// Between `MPI_Init` and `MPI_Finalize`.
    #[default]
    Running,
    /// In `MPI_Finalize` or after it.
    Finalizing,
    /// Ended.
    Gone,
}

/// Stage of a process, and the stages that were reported and saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Current stage of the process.
    pub reached: Milestone,
    /// Stage in the last report that was handed over.
    pub reported: Milestone,
    /// Stage in the last report that is safe elsewhere.
    pub kept: Milestone,
}

impl Stage {
    /// Returns whether a report is due at once.
    pub(crate) fn is_news(&self) -> bool {
        self.reported < self.reached
    }

    /// Rewinds after a lost connection: an unconfirmed report is sent again.
    pub(crate) fn rewind(&mut self) {
        self.reported = self.kept;
    }

    /// Returns whether the process no longer has to wait in `MPI_Finalize`.
    pub(crate) fn is_taken(&self, drained: bool) -> bool {
        Milestone::Finalizing <= self.kept && drained
    }

    /// Returns whether nothing is left to do for the process; `drained` tells whether all its records are safe.
    pub(crate) fn is_done(&self, drained: bool) -> bool {
        self.kept == Milestone::Gone && drained
    }
}

/// Availability of the analyzer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnalyzerState {
    /// The analyzer is connected or expected soon.
    Available,
    /// The analyzer has ended the run: the command is over.
    Finishing,
    /// The analyzer was given up: records go to a file.
    GivenUp,
}

/// Returns whether the collector ends.
pub(crate) fn is_over(analyzer: AnalyzerState, n_processes: usize) -> bool {
    n_processes == 0 && analyzer != AnalyzerState::Available
}

/// Returns the time between two reports of a running process.
///
/// Reports of a long run serve only the live view and the case that a node dies, so they become rarer, down to a fifth. Those by
/// which levers are decided take part in that: a decision may be late by a share of the time that it can still serve.
pub(crate) fn report_interval(asked: Duration, age: Duration) -> Duration {
    let is_looked_at = (Duration::from_millis(500)..Duration::from_secs(1)).contains(&asked);
    if is_looked_at { asked } else { (age / 30).clamp(asked, 5 * asked) }
}

/// Returns the time until the next attempt to reach an analyzer lost `since` ago; `None` if it is given up.
pub(crate) fn retry_after(since: Duration, patience: Duration) -> Option<Duration> {
    (since < patience).then(|| (since / 4).clamp(Duration::from_millis(50), Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_pace(fills: &[f64], expected_ms: u128) {
        let mut pace = DrainPace::default();
        fills.iter().for_each(|fill| pace.after(*fill));
        assert_eq!(pace.interval.as_millis(), expected_ms, "after {fills:?}");
    }

    #[test]
    fn full_rings_are_drained_often_and_empty_ones_seldom() {
        check_pace(&[], 20);
        check_pace(&[0.5], 5);
        check_pace(&[0.5, 0.5, 0.5], 1);
        check_pace(&[0.5, 0.05], 5);
        check_pace(&[0.5, 0.01], 10);
        check_pace(&[0.5, 0.01, 0.0, 0.0], 20);
        check_pace(&[0.0; 60], 100);
        check_pace(&[[0.0; 60].as_slice(), &[0.04]].concat(), 20);
    }

    #[track_caller]
    fn check_awaited(ms: u64, fills: &[f64], expected_ms: u128) {
        let mut pace = DrainPace::default();
        pace.set_awaited_interval(Duration::from_millis(ms));
        fills.iter().for_each(|fill| pace.after(*fill));
        assert_eq!(pace.interval_when_awaited().as_millis(), expected_ms, "after {fills:?}");
    }

    #[test]
    fn a_tunlet_is_not_kept_waiting() {
        check_awaited(5, &[], 5);
        check_awaited(5, &[0.01], 5);
        check_awaited(5, &[0.0], 10);
        check_awaited(5, &[0.0; 60], 20);
        check_awaited(5, &[0.0, 0.0, 0.01], 5);
        check_awaited(50, &[0.001], 50);
        check_awaited(50, &[0.01], 20);
        check_awaited(50, &[0.5], 5);
        check_awaited(5, &[0.5, 0.5, 0.5], 1);
    }

    #[track_caller]
    fn check_batch(sent: u64, written: u64, expected: Option<(u64, u64)>) {
        assert_eq!(ReadProgress { sent, ..ReadProgress::at(0) }.next_batch(written), expected);
    }

    #[test]
    fn records_go_in_order_and_in_bounded_batches() {
        check_batch(0, 0, None);
        check_batch(0, 10, Some((0, 10)));
        check_batch(7, 10, Some((7, 3)));
        check_batch(7, 1_000_000, Some((7, BATCH_RECORDS_MAX)));
        check_batch(10, 7, None);
    }

    #[track_caller]
    fn check_acknowledge(up_to: u64, expected: u64) {
        let mut progress = ReadProgress::at(5);
        progress.hand_over(10);
        assert_eq!(progress.acknowledge(Delivery::Single, up_to), expected != 5);
        assert_eq!(progress.settle(), (expected != 5).then_some(expected));
        assert_eq!(progress.acknowledged, expected);
    }

    #[test]
    fn room_is_given_back_only_for_what_was_sent() {
        check_acknowledge(4, 5);
        check_acknowledge(5, 5);
        check_acknowledge(8, 8);
        check_acknowledge(10, 10);
        check_acknowledge(11, 5);
    }

    /// Delivers records up to 4 and 9 individually, and up to 6 and 10 as sums; checks up to where the ring is free.
    #[track_caller]
    fn check_ways(single: u64, summed: u64, expected: u64) {
        let mut progress = ReadProgress::at(2);
        progress.hand_over(4);
        progress.add_up(6);
        progress.hand_over(9);
        progress.add_up(10);
        progress.acknowledge(Delivery::Single, single);
        progress.acknowledge(Delivery::Summed, summed);
        progress.settle();
        assert_eq!(progress.acknowledged, expected);
    }

    #[test]
    fn a_ring_is_freed_as_far_as_both_ways_are_safe() {
        check_ways(0, 0, 2);
        check_ways(4, 0, 2);
        check_ways(4, 6, 4);
        check_ways(9, 6, 6);
        check_ways(9, 10, 10);
        check_ways(4, 10, 4);
    }

    #[test]
    fn a_lost_connection_sends_again() {
        let mut progress = ReadProgress::at(5);
        progress.hand_over(10);
        progress.rewind();
        assert_eq!(progress.next_batch(10), Some((5, 5)));
        let (reached, kept) = (Milestone::Gone, Milestone::Finalizing);
        let mut stage = Stage { reached, reported: reached, kept };
        assert!(!stage.is_news());
        stage.rewind();
        assert!(stage.is_news());
    }

    #[track_caller]
    fn check_stage(kept: Milestone, drained: bool, taken: bool, done: bool) {
        let stage = Stage { reached: Milestone::Gone, reported: Milestone::Gone, kept };
        assert_eq!((stage.is_taken(drained), stage.is_done(drained)), (taken, done));
    }

    #[test]
    fn a_process_is_done_when_all_of_it_is_safe() {
        check_stage(Milestone::Running, true, false, false);
        check_stage(Milestone::Finalizing, true, true, false);
        check_stage(Milestone::Finalizing, false, false, false);
        check_stage(Milestone::Gone, true, true, true);
        check_stage(Milestone::Gone, false, false, false);
    }

    #[test]
    fn a_collector_ends_when_nobody_needs_it() {
        assert!(!is_over(AnalyzerState::Available, 0));
        assert!(!is_over(AnalyzerState::Finishing, 1));
        assert!(!is_over(AnalyzerState::GivenUp, 1));
        assert!(is_over(AnalyzerState::Finishing, 0));
        assert!(is_over(AnalyzerState::GivenUp, 0));
    }

    #[track_caller]
    fn check_report(asked_ms: u64, age_s: u64, expected_ms: u128) {
        let interval = report_interval(Duration::from_millis(asked_ms), Duration::from_secs(age_s));
        assert_eq!(interval.as_millis(), expected_ms);
    }

    #[test]
    fn reports_become_rarer_unless_somebody_looks() {
        check_report(500, 3600, 500);
        check_report(180, 1, 180);
        check_report(180, 15, 500);
        check_report(180, 3600, 900);
        check_report(2000, 1, 2000);
        check_report(2000, 120, 4000);
        check_report(2000, 3600, 10_000);
    }

    #[test]
    fn a_lost_analyzer_is_given_up_after_a_while() {
        let patience = Duration::from_secs(5);
        assert_eq!(retry_after(Duration::ZERO, patience), Some(Duration::from_millis(50)));
        assert_eq!(retry_after(Duration::from_secs(2), patience), Some(Duration::from_millis(500)));
        assert_eq!(retry_after(Duration::from_secs(5), patience), None);
    }
}
