//! Directory of a run's processes: their ranks, and the conversion of their ticks to time.

use events::{Clock, ProcessKey, Rank, Ticks, WorldId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use wire::ProcessReport;

/// Delay in s between the report of a process's end and its removal, since its last records may arrive later.
const GRACE_S: f64 = 1.0;

/// Node and process key, which identify a process.
pub(super) type Key = (String, ProcessKey);

/// Result of seeing a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenReport {
    /// The process was known before.
    Known,
    /// A new rank of the tuned program, and the size of its world.
    Rank(Rank, u32),
    /// A process of another program or a later world, or a duplicate rank.
    Untuned,
}

/// Processes of a run.
#[derive(Debug)]
pub(super) struct Directory {
    program: String,
    world: Option<WorldId>,
    processes: HashMap<Key, Known>,
    ranks: BTreeMap<Rank, Key>,
    /// Ranks that have not left.
    present: BTreeSet<Rank>,
    /// Ranks that are about to leave, with the times at which they do.
    leaving: Vec<(f64, Rank)>,
    /// A clock of each node, and its offset from the analyzer's in ns; ticks are the same in all processes of a node.
    nodes: HashMap<String, (Clock, i64)>,
    /// Start of the run, in ns since 1970.
    started_ns: i64,
}

#[derive(Debug, Default)]
struct Known {
    rank: Option<Rank>,
    main_thread: u32,
    clock: Clock,
    offset_ns: i64,
    is_leaving: bool,
}

impl Directory {
    /// Creates a directory for the program of this file name (any if empty) and a run that started at `started_ns`.
    pub(super) fn new(program: &str, started_ns: i64) -> Self {
        Self {
            program: program.to_owned(),
            world: None,
            processes: HashMap::new(),
            ranks: BTreeMap::new(),
            present: BTreeSet::new(),
            leaving: Vec::new(),
            nodes: HashMap::new(),
            started_ns,
        }
    }

    /// Returns whether no rank of the program has been seen.
    pub(super) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Processes a report.
    pub(super) fn see(&mut self, report: &ProcessReport, offset_ns: i64, now_s: f64) -> SeenReport {
        let key = (report.node.clone(), report.key);
        let arrival = if self.processes.contains_key(&key) {
            SeenReport::Known
        } else {
            self.add(report, key.clone())
        };
        if 0.0 < report.clock.ns_per_tick() {
            self.nodes.insert(report.node.clone(), (report.clock, offset_ns));
        }
        let Some(known) = self.processes.get_mut(&key) else { return arrival };
        (known.clock, known.offset_ns) = (report.clock, offset_ns);
        known.main_thread = report.main_thread;
        if let (Some(rank), false, true) =
            (known.rank, known.is_leaving, report.finalizing || report.gone)
        {
            known.is_leaving = true;
            self.leaving.push((now_s + GRACE_S, rank));
        }
        arrival
    }

    fn add(&mut self, report: &ProcessReport, key: Key) -> SeenReport {
        let name = Path::new(&report.program).file_name().unwrap_or_default();
        let is_described = self.program.is_empty() || name.to_string_lossy() == self.program;
        let is_of_world = self.world.is_none_or(|world| world == report.world);
        let is_ours = is_described && is_of_world && !self.ranks.contains_key(&report.rank);
        let rank = is_ours.then_some(report.rank);
        if is_ours {
            self.world = Some(report.world);
            self.ranks.insert(report.rank, key.clone());
            self.present.insert(report.rank);
        }
        self.processes.insert(key, Known { rank, ..Known::default() });
        rank.map_or(SeenReport::Untuned, |rank| SeenReport::Rank(rank, report.size))
    }

    /// Removes and returns the ranks that are gone by `now_s`.
    pub(super) fn gone(&mut self, now_s: f64) -> Vec<Rank> {
        let gone = self.leaving.extract_if(.., |(at_s, _)| *at_s <= now_s);
        let gone: Vec<Rank> = gone.map(|(_, rank)| rank).collect();
        for rank in &gone {
            self.present.remove(rank);
        }
        gone
    }

    /// Returns the ranks that have not left.
    pub(super) fn present(&self) -> &BTreeSet<Rank> {
        &self.present
    }

    /// Returns the process of a rank.
    pub(super) fn process(&self, rank: Rank) -> Option<&Key> {
        self.ranks.get(&rank)
    }

    /// Returns the rank of a process, if it is tuned.
    pub(super) fn rank(&self, key: &Key) -> Option<Rank> {
        self.processes.get(key)?.rank
    }

    /// Returns the number of a thread in records, as in `assemble`: 0 is the one that called `MPI_Init`.
    pub(super) fn thread_number(&self, key: &Key, idx: u32) -> u32 {
        let main = self.processes.get(key).map_or(0, |known| known.main_thread);
        if idx == main { 0 } else { idx + u32::from(idx < main) }
    }

    /// Returns the time at a node's ticks, in s since the start of the run.
    pub(super) fn seconds_on(&self, node: &str, ticks: Ticks) -> Option<f64> {
        let (clock, offset_ns) = self.nodes.get(node)?;
        Some(self.seconds(clock, *offset_ns, ticks))
    }

    /// Returns the length of a node's tick in s; 0 while unknown.
    pub(super) fn seconds_per_tick(&self, node: &str) -> f64 {
        self.nodes.get(node).map_or(0.0, |(clock, _)| clock.seconds(1))
    }

    /// Returns the time at a process's ticks, in s of the run; `None` while the length of a tick is unknown.
    pub(super) fn seconds_at(&self, key: &Key, ticks: Ticks) -> Option<f64> {
        let known = self.processes.get(key)?;
        let has_rate = 0.0 < known.clock.ns_per_tick();
        has_rate.then(|| self.seconds(&known.clock, known.offset_ns, ticks))
    }

    fn seconds(&self, clock: &Clock, offset_ns: i64, ticks: Ticks) -> f64 {
        let ns = clock.ns_at(ticks).wrapping_add(offset_ns);
        ns.wrapping_sub(self.started_ns) as f64 * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rank: u32) -> ProcessReport {
        let key = ProcessKey { pid: 100 + rank, started: 1 };
        ProcessReport { key, node: "node".into(), rank: Rank(rank), ..ProcessReport::default() }
    }

    #[track_caller]
    fn check(program: &str, reports: &[ProcessReport], expected: &[SeenReport]) {
        let mut directory = Directory::new(program, 0);
        let found: Vec<_> = reports.iter().map(|report| directory.see(report, 0, 0.0)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn ranks_of_the_first_world_of_the_program_are_tuned() {
        let first = ProcessReport { program: "/bin/xfire".into(), size: 4, ..report(1) };
        let rank = SeenReport::Rank(first.rank, 4);
        check("xfire", &[first.clone(), first.clone()], &[rank, SeenReport::Known]);
        check("other", std::slice::from_ref(&first), &[SeenReport::Untuned]);
        check("", std::slice::from_ref(&first), &[rank]);
        let mut later = ProcessReport { world: WorldId(99), ..first.clone() };
        later.key.pid += 1;
        check("", &[first.clone(), later], &[rank, SeenReport::Untuned]);
        let mut twice = first.clone();
        twice.key.pid += 1;
        check("", &[first, twice], &[rank, SeenReport::Untuned]);
    }

    #[test]
    fn a_rank_is_gone_after_a_while_and_once() {
        let mut directory = Directory::new("", 0);
        let now = 3.0;
        let ending = ProcessReport { gone: true, ..report(1) };
        directory.see(&ending, 0, now);
        directory.see(&ending, 0, now);
        assert_eq!(directory.gone(now), []);
        assert_eq!(directory.gone(now + GRACE_S), [ending.rank]);
        assert_eq!(directory.gone(now + GRACE_S), []);
    }

    #[test]
    fn ticks_are_time_on_the_clock_of_the_analyzer() {
        let mut directory = Directory::new("", 0);
        let clock = Clock { first_ticks: 1000, first_ns: 50, last_ticks: 3000, last_ns: 1050 };
        let seen = ProcessReport { clock, ..report(1) };
        directory.see(&seen, 7, 0.0);
        let key = (seen.node.clone(), seen.key);
        assert_eq!(directory.seconds_at(&key, Ticks(2000)), Some(557.0 * 1e-9));
        let unsure = Clock { last_ticks: 1000, ..clock };
        directory.see(&ProcessReport { clock: unsure, ..seen }, 7, 0.0);
        assert_eq!(directory.seconds_at(&key, Ticks(2000)), None);
    }
}
