//! Detection of functions that are passed more often than can be recorded: collectors do not empty the rings as
//! fast as the program fills them, although they only sum.
//!
//! Only functions chosen by pattern count: events named in a description are wanted however often they occur.

use super::directory::Key;
use super::plan::TuningPlan;
use events::ProbePoint;
use std::collections::HashMap;
use wire::ProcessReport;

/// Number of records dropped between two reports that counts as a flood.
const N_DROPPED: u64 = 1_000_000;
/// An event takes part in a flood if at least one in this many records belongs to it.
const ONE_IN: u64 = 4;

/// Recorded passages and dropped records since the last report, by process.
#[derive(Debug, Default)]
pub(super) struct OverloadDetector {
    counts: HashMap<Key, PassageCount>,
}

#[derive(Debug, Default)]
struct PassageCount {
    n_dropped: u64,
    n_by_event: HashMap<usize, u64>,
    n_passages: u64,
}

impl OverloadDetector {
    /// Counts recorded passages.
    pub(super) fn pass(&mut self, key: &Key, event: usize, n: u64) {
        if !self.counts.contains_key(key) {
            self.counts.insert(key.clone(), PassageCount::default());
        }
        let Some(count) = self.counts.get_mut(key) else { return };
        *count.n_by_event.entry(event).or_default() += n;
        count.n_passages += n;
    }

    /// Returns the sites that flood according to a process's newest report, with the places of their events.
    pub(super) fn see(
        &mut self,
        key: &Key,
        report: &ProcessReport,
        plan: &TuningPlan,
    ) -> Vec<(u32, Vec<(u32, ProbePoint)>)> {
        let Some(count) = self.counts.get_mut(key) else { return Vec::new() };
        let n_dropped = report.threads.iter().map(|thread| thread.n_dropped).sum::<u64>();
        let n_new = n_dropped.saturating_sub(count.n_dropped);
        let PassageCount { n_by_event, n_passages, .. } = std::mem::take(count);
        count.n_dropped = n_dropped;
        if n_new < N_DROPPED {
            return Vec::new();
        }
        let overloads = |event: u32| {
            let n = n_by_event.get(&(event as usize)).copied().unwrap_or(0);
            n != 0 && n_passages <= n.saturating_mul(ONE_IN)
        };
        let sites = plan.sites.iter().filter_map(|site| {
            let ends = [(ProbePoint::Entry, &site.entry), (ProbePoint::Exit, &site.exit)];
            let events: Vec<_> = ends
                .into_iter()
                .filter_map(|(place, point)| Some((place, point.as_ref()?.event)))
                .collect();
            let is_flood = events.iter().any(|(_, event)| overloads(*event));
            is_flood.then(|| (site.id, events.iter().map(|(place, _)| (site.id, *place)).collect()))
        });
        sites.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::ProcessKey;
    use wire::ThreadReport;
    use wire::control::{Site, SitePoint};

    fn plan() -> TuningPlan {
        let point = |event| Some(SitePoint { event, attributes: Vec::new(), is_on: true });
        let site = |id, entry, exit| Site {
            id,
            entry: point(entry),
            exit: point(exit),
            ..Site::default()
        };
        TuningPlan { sites: vec![site(7, 10, 11), site(8, 12, 13)], ..TuningPlan::default() }
    }

    #[track_caller]
    fn check(passages: &[(usize, u64)], n_dropped: u64, expected: &[u32]) {
        let key = ("node".to_owned(), ProcessKey { pid: 1, started: 1 });
        let mut detector = OverloadDetector::default();
        passages.iter().for_each(|(event, n)| detector.pass(&key, *event, *n));
        let thread = ThreadReport { n_dropped, ..ThreadReport::default() };
        let report = ProcessReport { threads: vec![thread], ..ProcessReport::default() };
        let sites: Vec<u32> =
            detector.see(&key, &report, &plan()).into_iter().map(|(site, _)| site).collect();
        assert_eq!(sites, expected);
        assert!(detector.see(&key, &report, &plan()).is_empty(), "nothing is new");
    }

    #[test]
    fn only_what_fills_the_rings_is_a_flood() {
        check(&[(10, 50), (11, 50), (12, 5), (13, 5)], 2_000_000, &[7]);
        check(&[(10, 50), (11, 50), (12, 50), (13, 50)], 2_000_000, &[7, 8]);
        check(&[(10, 50), (11, 50)], 1000, &[]);
        check(&[], 2_000_000, &[]);
    }
}
