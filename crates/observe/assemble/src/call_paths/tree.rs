//! Call paths of all ranks: a tree of functions.

use super::names::{FunctionId, PlaceId, PlaceNames};
use crate::roster::Roster;
use run_record::SampleRow;
use run_record::sample_file::SEPARATOR;
use run_record::summary::{SampledFunction, Sampling};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of functions in the summary.
const N_FUNCTIONS_MAX: usize = 1000;

/// Tree of functions.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<TreeNode>,
    children: HashMap<(usize, PlaceId, Option<Option<usize>>), usize>,
}

/// Function as called along one path.
#[derive(Debug, Default)]
pub(super) struct TreeNode {
    parent: usize,
    /// Place in the function; `None` for the root.
    place: Option<PlaceId>,
    /// Call site of samples inside MPI, if known; `None` for the program's own functions.
    mpi: Option<Option<usize>>,
    by_rank: BTreeMap<usize, u64>,
}

impl TreeNode {
    pub(super) const ROOT: usize = 0;
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: vec![TreeNode::default()], children: HashMap::new() }
    }
}

/// Samples of a function, while they are summed.
#[derive(Default)]
struct FunctionSum {
    total: u64,
    by_rank: BTreeMap<usize, u64>,
    by_place: HashMap<PlaceId, u64>,
}

impl Tree {
    /// Returns the node of a place below another node; `mpi` is the call site inside MPI.
    pub(super) fn child(
        &mut self,
        parent: usize,
        place: PlaceId,
        mpi: Option<Option<usize>>,
    ) -> usize {
        let next = self.nodes.len();
        let child = *self.children.entry((parent, place, mpi)).or_insert(next);
        if child == next {
            let by_rank = BTreeMap::new();
            self.nodes.push(TreeNode { parent, place: Some(place), mpi, by_rank });
        }
        child
    }

    pub(super) fn count(&mut self, node: usize, rank: usize, samples: u64) {
        if samples != 0 {
            *self.nodes[node].by_rank.entry(rank).or_default() += samples;
        }
    }

    /// Adds the sums by function and rank.
    pub(super) fn sum_up(&self, names: &PlaceNames<'_>, n_ranks: usize, sampling: &mut Sampling) {
        let mut functions: BTreeMap<FunctionId, FunctionSum> = BTreeMap::new();
        let period_s = sampling.period_s;
        sampling.computing_by_rank_s = vec![0.0; n_ranks];
        for (idx, node) in
            self.nodes.iter().enumerate().filter(|(_, node)| !node.by_rank.is_empty())
        {
            let samples: u64 = node.by_rank.values().sum();
            if node.mpi.is_some() {
                sampling.mpi_s += samples as f64 * period_s;
                continue;
            }
            sampling.computing_s += samples as f64 * period_s;
            for (rank, samples) in &node.by_rank {
                sampling.computing_by_rank_s[*rank] += *samples as f64 * period_s;
            }
            self.add_to_functions(idx, samples, names, &mut functions);
        }
        let mut all: Vec<_> = functions.into_values().collect();
        let self_samples = |sum: &FunctionSum| sum.by_rank.values().sum::<u64>();
        all.sort_by_key(|sum| std::cmp::Reverse((self_samples(sum), sum.total)));
        all.truncate(N_FUNCTIONS_MAX);
        let row = |sum: FunctionSum| {
            let place = sum.by_place.iter().max_by_key(|(id, n)| (**n, **id)).map(|(id, _)| *id);
            let mut self_by_rank_s = vec![0.0; n_ranks];
            for (rank, samples) in &sum.by_rank {
                self_by_rank_s[*rank] = *samples as f64 * period_s;
            }
            SampledFunction {
                place: place.map(|id| names.place(id).clone()).unwrap_or_default(),
                self_s: self_samples(&sum) as f64 * period_s,
                total_s: sum.total as f64 * period_s,
                self_by_rank_s,
            }
        };
        sampling.functions = all.into_iter().map(row).collect();
    }

    /// Adds the samples of a node to its function, and once to each function above it.
    fn add_to_functions(
        &self,
        idx: usize,
        samples: u64,
        names: &PlaceNames<'_>,
        functions: &mut BTreeMap<FunctionId, FunctionSum>,
    ) {
        let mut seen = HashSet::new();
        for (level, place) in self.above(idx).enumerate() {
            let function = names.function(place);
            if !seen.insert(function) {
                continue;
            }
            let sum = functions.entry(function).or_default();
            sum.total += samples;
            if level == 0 {
                *sum.by_place.entry(place).or_default() += samples;
                for (rank, samples) in &self.nodes[idx].by_rank {
                    *sum.by_rank.entry(*rank).or_default() += samples;
                }
            } else {
                // A caller without samples of its own is shown with the line of a call.
                sum.by_place.entry(place).or_default();
            }
        }
    }

    /// Returns the places of a node and its callers, innermost first.
    fn above(&self, idx: usize) -> impl Iterator<Item = PlaceId> {
        let parent = |at: &usize| Some(self.nodes[*at].parent);
        let nodes = std::iter::successors(Some(idx), parent);
        nodes.map_while(|at| self.nodes[at].place)
    }

    /// Returns the rows of the table, by rank and path; places of one function are one.
    pub(super) fn rows(
        &self,
        names: &PlaceNames<'_>,
        roster: &Roster<'_>,
        period_s: f64,
    ) -> Vec<SampleRow> {
        type Leaf = (u64, HashMap<PlaceId, u64>);
        let mut leaves: BTreeMap<(usize, Arc<str>, Option<u32>), Leaf> = BTreeMap::new();
        for (idx, node) in
            self.nodes.iter().enumerate().filter(|(_, node)| !node.by_rank.is_empty())
        {
            let Some(place) = node.place else { continue };
            let path = self.path(idx, names);
            let site = node.mpi.flatten().and_then(|site| u32::try_from(site).ok());
            for (rank, samples) in &node.by_rank {
                let leaf = leaves.entry((*rank, Arc::clone(&path), site)).or_default();
                leaf.0 += samples;
                *leaf.1.entry(place).or_default() += samples;
            }
        }
        let row = |((rank, call_path, call_site), (samples, places)): (_, Leaf)| {
            let rank: usize = rank;
            let rank = &roster.ranks[rank];
            let place = places.into_iter().max_by_key(|(id, n)| (*n, *id));
            let place = place.map(|(id, _)| names.place(id).clone()).unwrap_or_default();
            SampleRow {
                world: u32::try_from(rank.world).unwrap_or(u32::MAX),
                rank: rank.report.rank.0,
                call_path,
                call_site,
                module: place.module.into(),
                file: place.file.into(),
                line: place.line,
                samples,
                time_s: samples as f64 * period_s,
            }
        };
        leaves.into_iter().map(row).collect()
    }

    fn path(&self, idx: usize, names: &PlaceNames<'_>) -> Arc<str> {
        let mut functions: Vec<&str> =
            self.above(idx).map(|place| names.place(place).function.as_str()).collect();
        functions.reverse();
        functions.join(&SEPARATOR.to_string()).into()
    }
}
