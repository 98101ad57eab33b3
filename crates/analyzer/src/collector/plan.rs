//! What a collector does next: decisions without clock, file or socket.

use std::time::Duration;

/// Most records in one message (256 KiB).
pub(crate) const BATCH_RECORDS_MAX: u64 = 4096;
/// Records may wait this long for others to travel with.
const SHORTEST: Duration = Duration::from_millis(1);
/// Orders that found no room in a mailbox are tried again after this time.
pub(crate) const ORDERS_EVERY: Duration = Duration::from_millis(5);
/// A ring filled less than this between two looks may wait as long as somebody says.
const LITTLE: f64 = 1.0 / 512.0;
const LONGEST: Duration = Duration::from_millis(20);
const DOZING: Duration = Duration::from_millis(100);
/// What is only added up waits longer.
const LONGEST_SUMMED: Duration = Duration::from_millis(50);
/// Functions that nobody knew before may be called all of a sudden as often as a ring of usual size holds
/// records of a few milliseconds.
const LONGEST_PROBED: Duration = Duration::from_millis(5);

/// How often rings are looked at: so often that none fills, and no oftener.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrainPace {
    longest: Duration,
    /// When nothing comes for long.
    dozing: Duration,
    interval: Duration,
    /// The same when somebody waits for records of function calls.
    awaited: Duration,
    n_empty: u32,
    /// What the last look found in the fullest ring.
    fill: f64,
}

impl Default for DrainPace {
    fn default() -> Self {
        Self::within(LONGEST, DOZING)
    }
}

impl DrainPace {
    /// For processes whose events are only added up.
    pub(crate) fn of_sums() -> Self {
        Self::within(LONGEST_SUMMED, DOZING)
    }

    /// For processes with probes in functions that a pattern chose.
    pub(crate) fn of_probes() -> Self {
        Self::within(LONGEST_PROBED, LONGEST_PROBED)
    }

    fn within(longest: Duration, dozing: Duration) -> Self {
        Self { longest, dozing, interval: longest, awaited: longest, n_empty: 0, fill: 0.0 }
    }

    /// Time until rings are looked at again.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Somebody wants to hear within this time what processes say that take orders.
    pub(crate) fn somebody_waits(&mut self, time: Duration) {
        self.awaited = time.max(SHORTEST);
    }

    /// The same where a process takes orders: as asked while it has something to say, and doubled at each look
    /// that finds nothing. Where much comes, never longer than for others.
    pub(crate) fn interval_when_awaited(&self) -> Duration {
        let awaited =
            (self.awaited * 2_u32.pow(self.n_empty.min(2))).min(self.awaited.max(LONGEST));
        let is_urgent = self.interval < self.longest || LITTLE < self.fill;
        if is_urgent { self.interval.min(awaited) } else { awaited }
    }

    /// Goes on after a look that found the fullest ring filled to `fill` (0 to 1).
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

/// How far the records of one thread are.
///
/// They go two ways: one by one, and added up. Those of one way may be safe before earlier ones of the
/// other, and a ring is freed in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Records safe elsewhere: their room in the ring is free.
    pub acknowledged: u64,
    /// Records handed to the connection.
    pub sent: u64,
    single: Way,
    summed: Way,
}

/// Ends of what was handed over one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Way {
    handed: u64,
    safe: u64,
}

impl Way {
    /// What comes before this is safe, when records up to `sent` were handed over one way or the other.
    fn safe_up_to(&self, sent: u64) -> u64 {
        if self.handed <= self.safe { sent } else { self.safe }
    }

    fn acknowledge(&mut self, up_to: u64) -> bool {
        let news = self.safe < up_to && up_to <= self.handed;
        if news {
            self.safe = up_to;
        }
        news
    }
}

impl Progress {
    /// Records before `position` are safe.
    pub(crate) fn at(position: u64) -> Self {
        let way = Way { handed: position, safe: position };
        Self { acknowledged: position, sent: position, single: way, summed: way }
    }

    /// The next records to hand over, when `written` are there: first, and how many.
    pub(crate) fn next_batch(&self, written: u64) -> Option<(u64, u64)> {
        let n_records = written.saturating_sub(self.sent).min(BATCH_RECORDS_MAX);
        (n_records != 0).then_some((self.sent, n_records))
    }

    /// Records before `end` were handed over one by one.
    pub(crate) fn hand_over(&mut self, end: u64) {
        self.sent = self.sent.max(end);
        self.single.handed = end;
    }

    /// Records before `end` were added up.
    pub(crate) fn add_up(&mut self, end: u64) {
        self.sent = self.sent.max(end);
        self.summed.handed = end;
    }

    /// Records before `end` are of no more interest.
    pub(crate) fn skip(&mut self, end: u64) {
        self.sent = self.sent.max(end);
    }

    /// The analyzer says that all records before `up_to` that go one by one are safe; true when that is
    /// news.
    ///
    /// Never past what was sent: an acknowledgment from a connection before this one may be late, and
    /// nobody else's word is enough to give up records.
    pub(crate) fn acknowledge(&mut self, up_to: u64) -> bool {
        self.single.acknowledge(up_to)
    }

    /// The same of those that were added up.
    pub(crate) fn acknowledge_sums(&mut self, up_to: u64) -> bool {
        self.summed.acknowledge(up_to)
    }

    /// Where the ring may be freed up to, when that is news.
    pub(crate) fn settle(&mut self) -> Option<u64> {
        let safe = self.single.safe_up_to(self.sent).min(self.summed.safe_up_to(self.sent));
        let is_news = self.acknowledged < safe;
        self.acknowledged = self.acknowledged.max(safe);
        is_news.then_some(safe)
    }

    /// The connection is lost: what it had not acknowledged is sent again.
    pub(crate) fn rewind(&mut self) {
        *self = Self::at(self.acknowledged);
    }
}

/// How far a process is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Milestone {
    /// Between `MPI_Init` and `MPI_Finalize`.
    #[default]
    Running,
    /// In `MPI_Finalize` or after it.
    Finalizing,
    /// It no longer exists.
    Gone,
}

/// What was told of a process's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage {
    /// How far the process is.
    pub reached: Milestone,
    /// How far the last report handed over says it is.
    pub reported: Milestone,
    /// How far it is in the last report that is safe elsewhere.
    pub kept: Milestone,
}

impl Stage {
    /// Whether a report cannot wait.
    pub(crate) fn is_news(&self) -> bool {
        self.reported < self.reached
    }

    /// The connection is lost: a report on its way has to be sent again.
    pub(crate) fn rewind(&mut self) {
        self.reported = self.kept;
    }

    /// Whether the process need not wait in `MPI_Finalize` any longer.
    pub(crate) fn is_taken(&self, drained: bool) -> bool {
        Milestone::Finalizing <= self.kept && drained
    }

    /// Whether nothing is left to do for the process, `drained` saying that all its records are safe.
    pub(crate) fn is_done(&self, drained: bool) -> bool {
        self.kept == Milestone::Gone && drained
    }
}

/// Whether anybody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// The analyzer is or will soon be there.
    There,
    /// It ended the run: the command is over.
    Finishing,
    /// It does not come back: records go to a file.
    Gone,
}

/// Whether the collector ends.
pub(crate) fn is_over(listener: Listener, n_processes: usize) -> bool {
    n_processes == 0 && listener != Listener::There
}

/// Time from one report of a running process to the next.
///
/// Reports of a long run serve only those who look at it while it runs (and a node that dies), so they
/// become rarer, down to a fifth.
pub(crate) fn report_interval(asked: Duration, age: Duration) -> Duration {
    if asked < Duration::from_secs(1) { asked } else { (age / 30).clamp(asked, 5 * asked) }
}

/// Time to the next try to reach an analyzer that was lost `since` ago; none when it is given up.
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
        assert_eq!(pace.interval().as_millis(), expected_ms, "after {fills:?}");
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
        pace.somebody_waits(Duration::from_millis(ms));
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
        assert_eq!(Progress { sent, ..Progress::at(0) }.next_batch(written), expected);
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
        let mut progress = Progress::at(5);
        progress.hand_over(10);
        assert_eq!(progress.acknowledge(up_to), expected != 5);
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

    /// Records up to 4 and up to 9 go one by one, those up to 6 and up to 10 are added up; expects how far
    /// the ring is free.
    #[track_caller]
    fn check_ways(single: u64, summed: u64, expected: u64) {
        let mut progress = Progress::at(2);
        progress.hand_over(4);
        progress.add_up(6);
        progress.hand_over(9);
        progress.add_up(10);
        progress.acknowledge(single);
        progress.acknowledge_sums(summed);
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
        let mut progress = Progress::at(5);
        progress.hand_over(10);
        progress.rewind();
        assert_eq!(progress.next_batch(10), Some((5, 5)));
        let mut stage = Stage {
            reached: Milestone::Gone,
            reported: Milestone::Gone,
            kept: Milestone::Finalizing,
        };
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
        assert!(!is_over(Listener::There, 0));
        assert!(!is_over(Listener::Finishing, 1));
        assert!(!is_over(Listener::Gone, 1));
        assert!(is_over(Listener::Finishing, 0));
        assert!(is_over(Listener::Gone, 0));
    }

    #[track_caller]
    fn check_report(asked_ms: u64, age_s: u64, expected_ms: u128) {
        let interval = report_interval(Duration::from_millis(asked_ms), Duration::from_secs(age_s));
        assert_eq!(interval.as_millis(), expected_ms);
    }

    #[test]
    fn reports_become_rarer_unless_somebody_looks() {
        check_report(500, 3600, 500);
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
