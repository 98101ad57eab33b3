//! Samples of all ranks: addresses become functions, inlined ones included, and samples are summed by function, call
//! path and caller.
//!
//! # Invariants
//! - What lies behind an MPI call is one frame, that of the MPI function: everything else is the program's computing, also in
//!   OpenMP regions, which pass through our library as well.
//! - Paths of different ranks with the same functions are one.

mod callers;
mod names;
mod tree;

use crate::roster::Roster;
use crate::sites::{AddressBook, Sites};
use callers::SiteCallers;
use events::ModuleMap;
use names::PlaceNames;
use run_record::SampleRow;
use run_record::measured::MeasuredRun;
use run_record::summary::{CallSite, Sampling};
use std::collections::HashSet;
use symbols::Resolver;
use tree::{Tree, TreeNode};
use wire::ProcessSamples;
use wire::samples::CUT;

/// File name of the library that the program's MPI calls pass through.
const PROBE: &str = "libsintonia.so";
/// Beginning of the file name of the OpenMP library whose regions pass through it as well.
const LIBGOMP: &str = "libgomp.so";
/// Name of callers that are not known.
const UNKNOWN: &str = "[unknown callers]";

/// Samples of a run.
#[derive(Debug, Default)]
pub(super) struct CallPaths {
    pub(super) sampling: Option<Sampling>,
    pub(super) rows: Vec<SampleRow>,
}

/// Sums the samples of a run.
pub(super) fn call_paths(
    measured: &MeasuredRun,
    (roster, sites): (&Roster<'_>, &Sites),
    call_sites: &[CallSite],
    resolver: &mut Resolver,
) -> CallPaths {
    let mut adding = Adding {
        sites,
        call_sites,
        names: PlaceNames::new(resolver),
        tree: Tree::default(),
        callers: SiteCallers::default(),
    };
    let mut sampling = Sampling::default();
    for samples in &measured.samples {
        add_facts(&mut sampling, samples);
        if let Some(rank) = roster.position(&samples.node, samples.process) {
            adding.process(samples, rank);
        }
    }
    if measured.samples.is_empty() {
        return CallPaths::default();
    }
    let Adding { names, tree, callers, .. } = adding;
    tree.sum_up(&names, roster.ranks.len(), &mut sampling);
    sampling.callers = callers.told_apart(&names, call_sites);
    let rows = tree.rows(&names, roster, sampling.period_s);
    CallPaths { sampling: Some(sampling), rows }
}

fn add_facts(sampling: &mut Sampling, samples: &ProcessSamples) {
    sampling.period_s = samples.period_ns as f64 * 1e-9;
    sampling.samples += samples.samples;
    sampling.lost += samples.lost;
    sampling.cut += samples.cut;
    sampling.cost_s += samples.cost_ns as f64 * 1e-9;
    if sampling.problem.is_empty() {
        sampling.problem.clone_from(&samples.problem);
    }
}

/// Builder to which the samples of ranks are added.
struct Adding<'a> {
    sites: &'a Sites,
    call_sites: &'a [CallSite],
    names: PlaceNames<'a>,
    tree: Tree,
    callers: SiteCallers,
}

/// Place of a process's node in the tree of all ranks.
#[derive(Clone, Copy, Debug)]
struct Reached {
    node: usize,
    is_in_mpi: bool,
}

impl Adding<'_> {
    fn process(&mut self, samples: &ProcessSamples, rank: usize) {
        let (map, _problems) = ModuleMap::parse(&samples.modules);
        let of_openmp = nodes_of_openmp(samples, &map);
        let mut reached: Vec<Reached> = Vec::with_capacity(samples.nodes.len());
        for (idx, node) in samples.nodes.iter().enumerate() {
            // A node stands behind its parent; a damaged message must not be trusted in that.
            let parent = node.parent as usize;
            let at = match reached.get(parent).copied() {
                None => Reached { node: TreeNode::ROOT, is_in_mpi: false },
                Some(above) if above.is_in_mpi => above,
                Some(above) => {
                    self.step(above, (samples, &map, rank), (idx, of_openmp.contains(&idx)))
                }
            };
            reached.push(at);
            self.tree.count(at.node, rank, node.samples);
            if at.is_in_mpi && node.samples != 0 {
                self.count_caller(samples, &map, (rank, idx));
            }
        }
    }

    /// Returns the place of a node below that of its parent.
    fn step(
        &mut self,
        above: Reached,
        (samples, map, rank): (&ProcessSamples, &ModuleMap, usize),
        (idx, is_of_openmp): (usize, bool),
    ) -> Reached {
        let address = samples.nodes[idx].address;
        if address == CUT {
            let frame = self.names.fixed(UNKNOWN);
            return Reached { node: self.tree.child(above.node, frame, None), ..above };
        }
        let at = map.locate(address.saturating_sub(1));
        let is_ours = at.as_ref().is_some_and(|at| file_name(at.module) == PROBE);
        // Our entry of `MPI_Finalize` jumps to that of the library, and leaves no frame.
        let caller = samples.nodes.get(samples.nodes[idx].parent as usize);
        let caller = caller.filter(|_| !is_ours);
        if caller.is_some_and(|caller| self.book(rank).site_before(caller.address).is_some()) {
            return self.in_mpi(above, samples, (rank, idx));
        }
        let Some(_) = at else {
            let frame = self.names.fixed("[no module]");
            return Reached { node: self.tree.child(above.node, frame, None), ..above };
        };
        if is_ours {
            if is_of_openmp {
                return above;
            }
            return self.in_mpi(above, samples, (rank, idx));
        }
        let frames = self.names.frames(map, address);
        let node =
            frames.iter().fold(above.node, |node, frame| self.tree.child(node, *frame, None));
        Reached { node, ..above }
    }

    /// Returns the frame of the MPI call that a node stands behind.
    fn in_mpi(
        &mut self,
        above: Reached,
        samples: &ProcessSamples,
        (rank, idx): (usize, usize),
    ) -> Reached {
        let site = site_above(samples, self.book(rank), idx).map(|(site, _)| site);
        let call = site.and_then(|site| self.call_sites.get(site));
        let frame = self.names.fixed(call.map_or("MPI", |call| &call.operation));
        Reached { node: self.tree.child(above.node, frame, Some(site)), is_in_mpi: true }
    }

    fn book(&self, rank: usize) -> &AddressBook {
        &self.sites.books[rank]
    }

    /// Counts samples inside MPI for the callers of their call site.
    fn count_caller(
        &mut self,
        samples: &ProcessSamples,
        map: &ModuleMap,
        (rank, idx): (usize, usize),
    ) {
        let Some((site, at)) = site_above(samples, self.book(rank), idx) else { return };
        let mut chain = Vec::new();
        for address in ancestors(samples, at).take(callers::N_LEVELS_MAX) {
            if address == CUT {
                break;
            }
            chain.extend(self.names.frames(map, address).iter().rev());
        }
        self.callers.count(site, chain, samples.nodes[idx].samples);
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the nodes whose frame calls libgomp or is called by it: of our library, these are the entries of regions and what
/// a thread of a team executes.
fn nodes_of_openmp(samples: &ProcessSamples, map: &ModuleMap) -> HashSet<usize> {
    let is_libgomp = |address: u64| {
        let at = map.locate(address.saturating_sub(1));
        at.is_some_and(|at| file_name(at.module).starts_with(LIBGOMP))
    };
    let of_libgomp: Vec<bool> = samples.nodes.iter().map(|node| is_libgomp(node.address)).collect();
    let mut found = HashSet::new();
    for (idx, node) in samples.nodes.iter().enumerate() {
        let parent = node.parent as usize;
        if of_libgomp[idx] {
            found.insert(parent);
        }
        if of_libgomp.get(parent) == Some(&true) {
            found.insert(idx);
        }
    }
    found
}

/// Returns the addresses of a node and its callers.
fn ancestors(samples: &ProcessSamples, idx: usize) -> impl Iterator<Item = u64> {
    positions(samples, idx).map(|at| samples.nodes[at].address)
}

fn positions(samples: &ProcessSamples, idx: usize) -> impl Iterator<Item = usize> {
    let parent = |at: &usize| {
        let parent = samples.nodes[*at].parent as usize;
        (parent < *at && parent != 0).then_some(parent)
    };
    std::iter::successors(Some(idx).filter(|idx| *idx != 0), parent)
}

/// Returns the innermost MPI call site among the callers of a node, and the position of its node.
fn site_above(samples: &ProcessSamples, book: &AddressBook, idx: usize) -> Option<(usize, usize)> {
    positions(samples, idx).find_map(|at| Some((book.site_before(samples.nodes[at].address)?, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{measured, process, process_with, region, text_of};
    use crate::sites::Sites;
    use wire::PathNode;

    const PROBE_AT: u64 = 0x7f00_0000_0000;

    /// Two samples that compute and one in `MPI_Barrier`, called by one of two functions.
    fn sampled(rank: u32) -> ProcessSamples {
        let text = text_of(rank);
        let node = |parent, address, samples| PathNode { parent, address, samples };
        ProcessSamples {
            process: process(0, rank).key,
            node: "node0".to_owned(),
            period_ns: 10_000_000,
            samples: 3,
            modules: format!(
                "{}\n{PROBE_AT:x}-7f0000001000 r-xp 00000000 08:01 9 /x/libsintonia.so\n",
                process(0, rank).modules
            ),
            nodes: vec![
                node(0, 0, 0),
                node(0, text + 0x40, 0),
                node(1, text + 0x50, 2),
                node(1, text + 0x10, 0),
                node(3, PROBE_AT + 8, 0),
                node(4, 0x1234, 1),
            ],
            ..ProcessSamples::default()
        }
    }

    fn paths_of(samples: Vec<ProcessSamples>) -> CallPaths {
        let barrier = |rank| region(rank, (0, 0x10), "MPI_Barrier", 3, (1.0, 2.0));
        let mut measured = measured([0, 1].map(|rank| process_with(0, rank, vec![barrier(rank)])));
        measured.samples = samples;
        let roster = Roster::new(&measured, 0.0);
        let sites = Sites::new(&roster);
        let site = CallSite { operation: "MPI_Barrier".to_owned(), ..CallSite::default() };
        call_paths(&measured, (&roster, &sites), &[site], &mut Resolver::new())
    }

    #[test]
    fn paths_of_ranks_are_one_and_mpi_is_one_function() {
        let paths = paths_of(vec![sampled(0), sampled(1)]);
        let rows: Vec<_> = paths
            .rows
            .iter()
            .map(|row| (row.rank, &*row.call_path, row.call_site, row.samples))
            .collect();
        let expected = |rank| {
            [(rank, "[fire];[fire]", None, 2), (rank, "[fire];[fire];MPI_Barrier", Some(0), 1)]
        };
        assert_eq!(rows, [expected(0), expected(1)].concat());
        let sampling = paths.sampling.unwrap();
        assert_eq!((sampling.samples, sampling.functions.len()), (6, 1));
        assert!((sampling.computing_s - 0.04).abs() < 1e-9, "{sampling:?}");
        assert!((sampling.mpi_s - 0.02).abs() < 1e-9, "{sampling:?}");
    }

    /// What `MPI_Finalize` does was taken for computing of its caller.
    #[test]
    fn a_call_that_leaves_no_frame_is_mpi() {
        let mut sampled = sampled(0);
        sampled.nodes.remove(4);
        sampled.nodes[4].parent = 3;
        let paths = paths_of(vec![sampled]);
        let sampling = paths.sampling.unwrap();
        assert!((sampling.mpi_s - 0.01).abs() < 1e-9, "{sampling:?}");
        assert!(paths.rows.iter().any(|row| row.call_path.ends_with("MPI_Barrier")));
    }

    /// A region passes through our library twice; all that it computed was taken for time in MPI.
    #[test]
    fn what_a_region_of_openmp_computes_is_computing() {
        const LIBGOMP_AT: u64 = 0x7f10_0000_0000;
        let mut sampled = sampled(0);
        let text = text_of(0);
        sampled.modules +=
            &format!("{LIBGOMP_AT:x}-7f1000001000 r-xp 00000000 08:01 9 /x/libgomp.so.1.0.0\n");
        let region = [PROBE_AT + 16, LIBGOMP_AT + 8, PROBE_AT + 32, text + 0x50];
        let parents = [1, 6, 7, 8];
        let frames = std::iter::zip(parents, region);
        let nodes = frames.map(|(parent, address)| PathNode { parent, address, samples: 0 });
        sampled.nodes.extend(nodes);
        sampled.nodes[9].samples = 5;
        sampled.samples += 5;
        let paths = paths_of(vec![sampled]);
        let of_region = paths.rows.iter().find(|row| row.samples == 5).unwrap();
        assert_eq!(&*of_region.call_path, "[fire];[libgomp.so.1.0.0];[fire]");
        let sampling = paths.sampling.unwrap();
        assert!((sampling.computing_s - 0.07).abs() < 1e-9, "{sampling:?}");
        assert!((sampling.mpi_s - 0.01).abs() < 1e-9, "{sampling:?}");
    }

    #[test]
    fn a_run_without_samples_has_none() {
        let paths = paths_of(Vec::new());
        assert!(paths.sampling.is_none() && paths.rows.is_empty());
    }

    /// The tree of a damaged message must not lead to an endless walk.
    #[test]
    fn a_parent_behind_its_child_is_no_parent() {
        let mut damaged = sampled(0);
        damaged.nodes[3].parent = 5;
        damaged.nodes[5].parent = u32::MAX;
        assert_eq!(paths_of(vec![damaged]).sampling.map(|it| it.samples), Some(3));
    }
}
