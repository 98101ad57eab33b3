//! Conversion of a process's ticks to seconds of the run.

use events::{Clock, Ticks};
use run_record::measured::NodeClock;
use std::collections::HashMap;
use wire::ProcessReport;

/// Converts ticks to time; see [`Clocks::of`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessClock {
    first_ticks: u64,
    /// Time of the first clock point, in ns after the start of the run by the analyzer's clock.
    first_ns: i64,
    ns_per_tick: f64,
}

impl ProcessClock {
    /// Returns the length of a time span, in s.
    pub(super) fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick * 1e-9
    }

    /// Returns nanoseconds after the start of the run, negative before it.
    pub(super) fn ns_at(&self, at: Ticks) -> i64 {
        let since_first = at.0.wrapping_sub(self.first_ticks).cast_signed();
        #[expect(clippy::cast_possible_truncation, reason = "a run is far shorter than 2^63 ns")]
        let ns = (since_first as f64 * self.ns_per_tick) as i64;
        self.first_ns.saturating_add(ns)
    }

    /// Returns whether the length of a tick is known.
    pub(super) fn has_rate(&self) -> bool {
        0.0 < self.ns_per_tick
    }
}

/// The clocks of all nodes.
#[derive(Debug)]
pub(super) struct Clocks<'a> {
    offset_ns_by_node: HashMap<&'a str, i64>,
    ns_per_tick_by_node: HashMap<&'a str, f64>,
    started_ns: i64,
}

impl<'a> Clocks<'a> {
    pub(super) fn new(
        processes: &'a [ProcessReport],
        nodes: &'a [NodeClock],
        started_s: f64,
    ) -> Self {
        let mut longest: HashMap<&str, Clock> = HashMap::new();
        for process in processes.iter().filter(|process| 0.0 < process.clock.ns_per_tick()) {
            let clock = longest.entry(&process.node).or_insert(process.clock);
            if span_ns(clock) < span_ns(&process.clock) {
                *clock = process.clock;
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a time since 1970 in nanoseconds fits"
        )]
        let started_ns = (started_s * 1e9) as i64;
        Self {
            offset_ns_by_node: nodes.iter().map(|n| (n.node.as_str(), n.offset_ns)).collect(),
            ns_per_tick_by_node: longest.iter().map(|(n, c)| (*n, c.ns_per_tick())).collect(),
            started_ns,
        }
    }

    /// Returns the clock of a process. A process that ended before its second clock point was taken borrows the
    /// rate of its node, since all CPUs of a node count the same ticks.
    pub(super) fn of(&self, process: &ProcessReport) -> ProcessClock {
        let node = process.node.as_str();
        let own = process.clock.ns_per_tick();
        let of_node = || self.ns_per_tick_by_node.get(node).copied().unwrap_or_default();
        let offset_ns = self.offset_ns_by_node.get(node).copied().unwrap_or_default();
        let first_ns = process.clock.first_ns.cast_signed();
        ProcessClock {
            first_ticks: process.clock.first_ticks,
            first_ns: first_ns.wrapping_add(offset_ns).wrapping_sub(self.started_ns),
            ns_per_tick: if 0.0 < own { own } else { of_node() },
        }
    }
}

fn span_ns(clock: &Clock) -> u64 {
    clock.last_ns.saturating_sub(clock.first_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_time_is_after_the_start_of_the_run_by_the_clock_of_the_analyzer() {
        let process = samples::process(0, 0);
        let nodes = [NodeClock { node: process.node.clone(), offset_ns: -400, round_trip_ns: 0 }];
        let clocks = Clocks::new(std::slice::from_ref(&process), &nodes, samples::STARTED_S);
        let clock = clocks.of(&process);
        let first = process.clock.first_ticks;
        assert_eq!(clock.ns_at(Ticks(first + 2_000)), 1_000_000_000 + 1_000 - 400);
        assert_eq!(clock.ns_at(Ticks(first - 2_000)), 1_000_000_000 - 1_000 - 400);
    }

    #[test]
    fn a_process_with_one_point_borrows_the_rate_of_its_node() {
        let whole = samples::process(0, 0);
        let mut short = samples::process(0, 1);
        short.clock.last_ticks = short.clock.first_ticks;
        short.clock.last_ns = short.clock.first_ns;
        let alone = [short.clone()];
        assert!(!Clocks::new(&alone, &[], 0.0).of(&short).has_rate());
        let both = [whole, short.clone()];
        let clock = Clocks::new(&both, &[], 0.0).of(&short);
        assert!((clock.seconds(2_000_000_000) - 1.0).abs() < 1e-9);
    }
}
