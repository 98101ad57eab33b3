//! Windows of time, where no call ends iterations: while a rank calls MPI at the same places in the same proportions, the
//! number of its calls tells how much it has done.

use super::{Step, orders, tell};
use events::{OperationId, Rank};
use std::collections::HashMap;
use tunlets::conductor::{Input, IterationSource};
use wire::ProcessReport;

/// Shortest time of a window in s: several reports of a rank lie in it while it is new.
const WINDOW_S: f64 = 0.4;
/// Calls in a window below which their number says little.
const N_CALLS_MIN: u64 = 100;
/// Least share of calls at the same places in windows that are alike.
const ALIKE_MIN: f64 = 0.8;
/// Windows in a row that are alike before they are compared.
const N_ALIKE_MIN: usize = 5;

/// Calls by return address and operation.
type Calls = HashMap<(u64, u16), u64>;

/// Windows of the calls of a rank.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Rank, time, and calls up to then, at the end of the last window.
    last: Option<(Rank, f64, Calls)>,
    /// Shares of the places in the windows of late, the older the less.
    shares: HashMap<(u64, u16), f64>,
    /// Windows in a row that were alike, until this is told: start, end, and number of calls.
    alike: Vec<(f64, f64, u64)>,
    /// Calls in a second when it was told that they are alike.
    calls_per_s: Option<f64>,
}

impl Windows {
    /// Forgets everything: the next window is the first.
    pub(super) fn begin_anew(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the calls of a rank are counted.
    pub(super) fn is_of(&self, rank: Rank) -> bool {
        self.last.as_ref().is_none_or(|last| last.0 == rank)
    }

    /// Processes a report of the rank that was made at `at_s`.
    pub(super) fn see(&mut self, rank: Rank, report: &ProcessReport, at_s: f64) -> Vec<Step> {
        let calls = calls(report);
        let Some((_, start_s, before)) = &self.last else {
            self.last = Some((rank, at_s, calls));
            return Vec::new();
        };
        let start_s = *start_s;
        if at_s - start_s < WINDOW_S {
            return Vec::new();
        }
        let new = |(place, n): (&(u64, u16), &u64)| {
            (*place, n.saturating_sub(before.get(place).copied().unwrap_or_default()))
        };
        let window: Calls = calls.iter().map(new).filter(|(_, n)| *n != 0).collect();
        let n_calls = window.values().sum();
        self.last = Some((rank, at_s, calls));
        if n_calls < N_CALLS_MIN {
            // Another rank may do the work.
            self.last = None;
            return self.end();
        }
        let steps = if self.is_alike(&window, n_calls) { Vec::new() } else { self.end() };
        self.learn(&window, n_calls);
        [steps, self.count((start_s, at_s, n_calls))].concat()
    }

    /// Returns whether a window has the same calls as those before it; the first one has.
    fn is_alike(&self, window: &Calls, n_calls: u64) -> bool {
        let common = |(place, n): (&(u64, u16), &u64)| {
            let share = self.shares.get(place).copied().unwrap_or_default();
            share.min(*n as f64 / n_calls as f64)
        };
        self.shares.is_empty() || ALIKE_MIN <= window.iter().map(common).sum()
    }

    fn learn(&mut self, window: &Calls, n_calls: u64) {
        let kept = if self.shares.is_empty() { 0.0 } else { 0.5 };
        self.shares.values_mut().for_each(|share| *share *= kept);
        for (place, n) in window {
            let share = (1.0 - kept) * *n as f64 / n_calls as f64;
            *self.shares.entry(*place).or_default() += share;
        }
    }

    /// Counts a window that is like those before it.
    fn count(&mut self, window: (f64, f64, u64)) -> Vec<Step> {
        let Some(calls_per_s) = self.calls_per_s else {
            self.alike.push(window);
            return if N_ALIKE_MIN <= self.alike.len() { self.begin() } else { Vec::new() };
        };
        vec![ended(window, calls_per_s)]
    }

    /// Tells that windows are compared from now on, and which ones were.
    fn begin(&mut self) -> Vec<Step> {
        let windows = std::mem::take(&mut self.alike);
        let n_calls: u64 = windows.iter().map(|(.., n)| n).sum();
        let all_s: f64 = windows.iter().map(|(start_s, end_s, _)| end_s - start_s).sum();
        let calls_per_s = n_calls as f64 / all_s.max(f64::MIN_POSITIVE);
        self.calls_per_s = Some(calls_per_s);
        let rank = self.last.as_ref().map_or(0, |last| last.0.0);
        let text = format!(
            "no iteration was found, but rank {rank} makes MPI calls at the same places all the time, \
             {calls_per_s:.0} in a second: windows of time are compared by them"
        );
        let duration_s = all_s / windows.len().max(1) as f64;
        let told = tell(IterationSource::Windows { text, duration_s });
        [told].into_iter().chain(windows.into_iter().map(|it| ended(it, calls_per_s))).collect()
    }

    /// Ends the row of windows that are alike; tells it if they were compared.
    fn end(&mut self) -> Vec<Step> {
        self.shares.clear();
        self.alike.clear();
        let text = "the program makes other MPI calls than in the windows of time before";
        let told = |_| tell(IterationSource::Unknown(text.to_owned()));
        self.calls_per_s.take().map(told).into_iter().collect()
    }
}

/// Window as an iteration, whose work is the time in s that its calls take at this rate.
fn ended((start_s, end_s, n_calls): (f64, f64, u64), calls_per_s: f64) -> Step {
    let work = n_calls as f64 / calls_per_s;
    Step::Tell(Input::IterationEnded { start_s, end_s, work })
}

/// Calls of a rank that are part of its steps.
fn calls(report: &ProcessReport) -> Calls {
    let mut calls = Calls::new();
    let regions = report.threads.iter().flat_map(|thread| &thread.regions);
    let is_counted =
        |operation| mpi_abi::operation(OperationId(operation)).is_some_and(orders::is_call);
    for region in regions.filter(|region| is_counted(region.operation)) {
        *calls.entry((region.address, region.operation)).or_default() += region.n_calls;
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::RegionCounters;
    use wire::ThreadReport;

    const BARRIER: u16 = 7;

    /// What is told about windows of half a second, each with these numbers of calls at two places.
    fn told(windows: &[(u64, u64)]) -> (Vec<String>, Vec<f64>) {
        let mut seen = Windows::default();
        let (mut texts, mut works) = (Vec::new(), Vec::new());
        let ends = windows.iter().scan((0, 0), |sum, (a, b)| {
            *sum = (sum.0 + a, sum.1 + b);
            Some(*sum)
        });
        for (number, now) in [(0, 0)].into_iter().chain(ends).enumerate() {
            let region = |address, n_calls| RegionCounters {
                address,
                n_calls,
                operation: BARRIER,
                ..RegionCounters::default()
            };
            let regions = vec![region(1, now.0), region(2, now.1)];
            let threads = vec![ThreadReport { regions, ..ThreadReport::default() }];
            let report = ProcessReport { threads, ..ProcessReport::default() };
            for step in seen.see(Rank(0), &report, 0.5 * number as f64) {
                match step {
                    Step::Tell(Input::Iterations(
                        IterationSource::Windows { text, .. } | IterationSource::Unknown(text),
                    )) => texts.push(text),
                    Step::Tell(Input::IterationEnded { start_s, end_s, work }) => {
                        assert!((end_s - start_s - 0.5).abs() < 1e-9);
                        works.push(work);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        (texts, works)
    }

    #[test]
    fn windows_with_the_same_calls_are_compared_by_their_number() {
        let alike = [(800, 200), (820, 190), (790, 205), (810, 200), (780, 205)];
        let (texts, works) = told(&alike[..4]);
        assert!(texts.is_empty() && works.is_empty(), "{texts:?}");
        let (texts, works) = told(&[&alike[..], &[(400, 100)]].concat());
        assert!(texts[0].contains("2000 in a second") && texts.len() == 1, "{texts:?}");
        assert_eq!(works.len(), 6);
        assert!((works[..5].iter().sum::<f64>() - 2.5).abs() < 1e-9, "{works:?}");
        assert!((works[5] - 0.25).abs() < 1e-9, "{works:?}");
    }

    #[test]
    fn other_calls_end_the_comparison() {
        let (texts, works) = told(&[&[(800, 200); 6][..], &[(200, 800); 2][..]].concat());
        assert_eq!((texts.len(), works.len()), (2, 6), "{texts:?}");
        assert!(texts[1].contains("other MPI calls"));
        let (texts, _) = told(&[[(800, 200); 3], [(200, 800); 3], [(800, 200); 3]].concat());
        assert!(texts.is_empty(), "{texts:?}");
        let (texts, _) = told(&[(9, 1); 20]);
        assert!(texts.is_empty(), "too few: {texts:?}");
    }
}
