//! Cores of ranks that wait in MPI, lent to OpenMP threads of other ranks on the node.
//!
//! A rank with more threads than cores lets its threads, except the first, use its own cores and those of ranks of its world that
//! have waited in MPI for a while. When such a rank goes on, its cores are left again. Ranks decide for themselves by what
//! all segments of the node say; nobody waits for an answer. A rank that the program or its user has bound borrows nothing.
//!
//! Source of the idea: LeWI, "Lend When Idle", in DLB (Garcia et al., 2009).
//!
//! # Not here
//! Ranks that may use the same cores: there the system's scheduler lends.

use crate::affinity::{self, BoundThreads, cores_of, main_thread, threads};
use crate::monitoring;
use ring::{SegmentReader, clock};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Time between two looks at the ranks of the node.
const STEP: Duration = Duration::from_millis(1);
/// Time between two searches for ranks and threads.
const SEARCH_EVERY: Duration = Duration::from_secs(1);
/// Time after which a rank that is in an MPI call lends its cores.
const LENDS_AFTER: Duration = Duration::from_micros(100);

/// Cores that the threads of this process borrow.
#[derive(Default)]
pub(super) struct Lending {
    neighbors: Vec<Neighbor>,
    own: Vec<usize>,
    /// Threads that may borrow.
    borrowers: BoundThreads,
    /// Cores borrowed now.
    borrowed: Vec<usize>,
    searched: Option<Instant>,
    ticks_per_s: f64,
}

/// Another rank of the node.
struct Neighbor {
    segment: SegmentReader,
    main_thread: u32,
    cores: Vec<usize>,
}

impl Lending {
    /// Borrows and gives back; returns when to look again, `None` when there is nothing to borrow.
    pub(super) fn step(&mut self) -> Option<Duration> {
        if self.searched.is_none_or(|at| SEARCH_EVERY <= at.elapsed()) {
            self.search();
        }
        if self.borrowers.is_empty() || self.neighbors.is_empty() {
            return None;
        }
        let now = clock::ticks();
        let lenders = self.neighbors.iter().filter(|it| it.lends(now, self.ticks_per_s));
        let mut lent: Vec<usize> = lenders.flat_map(|it| it.cores.iter().copied()).collect();
        lent.sort_unstable();
        lent.dedup();
        if lent != self.borrowed {
            self.borrowed = lent;
            self.bind();
        }
        Some(STEP)
    }

    /// Gives all cores back.
    pub(super) fn end(&mut self) {
        self.borrowed.clear();
        self.borrowers.release();
    }

    fn bind(&mut self) {
        let mut cores = [&self.own[..], &self.borrowed].concat();
        cores.sort_unstable();
        // A thread to which they are refused borrows nothing.
        self.borrowers.bind(&cores).ok();
    }

    fn search(&mut self) {
        self.searched = Some(Instant::now());
        let Some(process) = monitoring::process() else { return };
        if self.ticks_per_s <= 0.0 {
            self.ticks_per_s = ticks_per_s();
        }
        let main = main_thread();
        let Some(own) = cores_of(main) else { return };
        let is_bound = affinity::bound_by_program(true).is_some();
        if is_bound || self.own != own {
            self.end();
        }
        self.own = own;
        if is_bound {
            return;
        }
        self.find_borrowers(main);
        // Nobody needs to be known who could lend to nobody.
        if self.borrowers.is_empty() {
            return;
        }
        let others = segments_of_node(&process.folder);
        let is_foreign = |it: &Neighbor| it.cores.iter().any(|core| !self.own.contains(core));
        let others = others.into_iter().filter(|(pid, _)| *pid != main);
        let neighbors = others.filter_map(|(pid, segment)| Neighbor::new(pid, segment));
        self.neighbors = neighbors.filter(is_foreign).collect();
    }

    /// Adds threads with the cores of the first one, if there are more of them than cores.
    fn find_borrowers(&mut self, main: c_int) {
        if n_threads_of_own_teams() <= self.own.len() {
            return;
        }
        if self.borrowers.is_empty() {
            self.borrowers = BoundThreads::with(self.own.clone());
        }
        // Threads with other cores were bound by somebody who knows why.
        for tid in threads().into_iter().filter(|tid| *tid != main) {
            self.borrowers.add(tid);
        }
    }
}

impl Neighbor {
    fn new(pid: c_int, segment: SegmentReader) -> Option<Self> {
        let main_thread = segment.process().main_thread;
        Some(Self { segment, main_thread, cores: cores_of(pid)? })
    }

    /// Returns whether the rank has been in an MPI call for a while.
    fn lends(&self, now: u64, ticks_per_s: f64) -> bool {
        let main = self.segment.threads().find(|thread| thread.idx() == self.main_thread);
        main.is_some_and(|main| {
            let ticks = now.saturating_sub(main.since_ticks());
            main.in_call().is_some() && LENDS_AFTER.as_secs_f64() * ticks_per_s < ticks as f64
        })
    }
}

/// Threads of the largest team of this process so far; 0 before a region has ended.
pub(super) fn n_threads_of_own_teams() -> usize {
    monitoring::process().map_or(0, |process| {
        SegmentReader::open(process.segment.path()).map_or(0, |own| n_threads(&own))
    })
}

/// Sentence about threads that do not borrow; else empty.
pub(super) fn note() -> String {
    let why = affinity::bound_by_program(true);
    why.map_or_else(String::new, |why| format!("its threads borrow no cores, since {why}"))
}

/// Returns how many threads the ranks of this node have, and how many cores they may use together. A team is counted once a
/// region has ended; a rank whose first region still runs, perhaps for all of the program, has `n_by_default`.
pub(super) fn threads_and_cores(n_by_default: usize) -> (usize, usize) {
    let Some(process) = monitoring::process() else { return (0, 0) };
    let mut all = Vec::new();
    let mut n_all = 0;
    for (pid, segment) in segments_of_node(&process.folder) {
        n_all += match n_threads(&segment) {
            0 => n_by_default,
            known => known,
        };
        all.extend(cores_of(pid).unwrap_or_default());
    }
    all.sort_unstable();
    all.dedup();
    (n_all, all.len())
}

/// Threads of the largest team of a rank.
fn n_threads(segment: &SegmentReader) -> usize {
    let largest = segment.openmp().iter().map(|region| region.n_threads_max).max();
    usize::try_from(largest.unwrap_or(0)).unwrap_or(0)
}

/// Segments of the run on this node, with the ids of their processes.
fn segments_of_node(folder: &std::path::Path) -> Vec<(c_int, SegmentReader)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let segments = paths.filter(|path| path.extension().is_some_and(|ext| ext == "segment"));
    let segments = segments.filter_map(|path| SegmentReader::open(&path).ok());
    let alive = segments.filter(|segment| !segment.is_finalizing());
    alive.map(|segment| (segment.process().key.pid.cast_signed(), segment)).collect()
}

fn ticks_per_s() -> f64 {
    let Some(process) = monitoring::process() else { return 0.0 };
    let header = process.segment.header();
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let (first_ticks, first_ns) = (header.first_ticks.load(relaxed), header.first_ns.load(relaxed));
    let (ticks, ns) = clock::point();
    let s = ns.saturating_sub(first_ns) as f64 * 1e-9;
    ticks.saturating_sub(first_ticks) as f64 / s.max(1e-9)
}
