//! Agreement of all ranks of a bridge before data move: the number of rows, who holds which rows, and who will.
//!
//! New ranks know none of it. Three short exchanges tell them and check the others: what each rank registered; how many
//! rows and entries each rank holds; and where weighted rows are partitioned, with the entries of each stretch that
//! moves.
//!
//! # Invariants
//! - Every rank gets the same result, including errors, so that none waits for a rank that gave up.

use super::budget;
use super::error::MoveError;
use super::route::{RowTransfer, elements_given, in_order_of_moves, transfers};
use crate::bridge::Bridge;
use crate::data::{Class, Cut, Data, DistributedObject, PartitionGroup, Rows};
use mpi::Op;
use resize_plan::{MovePlan, Partition};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;

/// Result of the agreement.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    /// Share of its time that a new rank works while others compute.
    pub(crate) share: f64,
    pub(crate) groups: Vec<AgreedGroup>,
}

/// Agreement on the objects of a group.
#[derive(Clone, Debug)]
pub(crate) struct AgreedGroup {
    plan: MovePlan,
    /// For each object with rows of different lengths, the number of entries in each move.
    entries: Vec<Option<Vec<u64>>>,
}

impl AgreedGroup {
    /// Transfers of an array with `n_per_row` elements for each row.
    pub(crate) fn even(&self, n_per_row: u64) -> Vec<RowTransfer> {
        transfers(&self.plan, |_, step| (step.rows.end - step.rows.start) * n_per_row)
    }

    /// Transfers of the arrays of an object with rows of different lengths.
    pub(crate) fn uneven(&self, object: usize) -> Vec<RowTransfer> {
        let entries = self.entries.get(object).and_then(Option::as_deref).unwrap_or_default();
        transfers(&self.plan, |number, _| entries.get(number).copied().unwrap_or(0))
    }
}

impl Agreed {
    /// Runs the agreement. All ranks of the bridge call it.
    pub(crate) fn on(bridge: &Bridge<'_>, data: &Data<'_>) -> Result<Self, MoveError> {
        let share = introductions(bridge, data)?;
        let held = group_summaries(bridge, data)?;
        let mut groups = Vec::with_capacity(data.groups.len());
        for (number, group) in data.groups.iter().enumerate() {
            let of_ranks = held.iter().map(|rank| rank[number]).collect::<Vec<_>>();
            groups.push(AgreedGroup::on(bridge, group, &of_ranks)?);
        }
        Ok(Self { share, groups })
    }

    /// Agrees on the lengths of variable rows, which may have changed since the agreement. All ranks of the bridge call
    /// it.
    pub(crate) fn renew(&mut self, bridge: &Bridge<'_>, data: &Data<'_>) -> Result<(), MoveError> {
        let is_uneven = |object: &DistributedObject<'_>| {
            object.class == Class::Variable && matches!(object.rows, Rows::Uneven { .. })
        };
        if !data.groups.iter().flat_map(|group| &group.objects).any(is_uneven) {
            return Ok(());
        }
        let held = group_summaries(bridge, data)?;
        for (number, (group, agreed)) in data.groups.iter().zip(&mut self.groups).enumerate() {
            check_held(bridge, group, agreed, |rank| held[rank as usize][number].n_own)?;
            for (object, entries) in group.objects.iter().zip(&mut agreed.entries) {
                if let (Rows::Uneven { lengths, .. }, Class::Variable) =
                    (&object.rows, object.class)
                {
                    *entries = Some(entries_moved(bridge, &agreed.plan, lengths.lengths())?);
                }
            }
        }
        Ok(())
    }
}

/// Checks that each source still holds the rows that the plan takes from it.
fn check_held(
    bridge: &Bridge<'_>,
    group: &PartitionGroup<'_>,
    agreed: &AgreedGroup,
    n_held: impl Fn(u32) -> u64,
) -> Result<(), MoveError> {
    let name = group.objects.first().map_or("", |object| object.name);
    for (part, rank) in (0..).zip(&bridge.sources) {
        let moves = agreed.plan.given_by(part);
        let n_planned = moves.map(|step| step.rows.end - step.rows.start).sum::<u64>();
        if n_held(*rank) != n_planned {
            return Err(MoveError::Rows { name, rank: *rank });
        }
    }
    Ok(())
}

/// Returns each group's partitioning rule, encoded, and its partition among the sources.
pub(crate) fn partitions(
    bridge: &Bridge<'_>,
    data: &Data<'_>,
) -> Result<Vec<([u64; 2], Partition)>, MoveError> {
    introductions(bridge, data)?;
    let held = group_summaries(bridge, data)?;
    let of_group = |(number, group): (usize, &PartitionGroup<'_>)| {
        let first = held.first().map(|rank| rank[number]).unwrap_or_default();
        let known = informed(group, first);
        let name = group.objects.first().map_or("", |object| object.name);
        let held_by = (0..).zip(held.iter().map(|rank| rank[number])).collect::<Vec<_>>();
        Ok((known.cut.encode(), partition_held(&known, name, &held_by)?))
    };
    data.groups.iter().enumerate().map(of_group).collect()
}

/// Checks that all ranks registered the same, and counts the ranks on this node; returns the share of new ranks.
fn introductions(bridge: &Bridge<'_>, data: &Data<'_>) -> Result<f64, MoveError> {
    let mut node = DefaultHasher::new();
    bridge.comm.mpi().processor_name().hash(&mut node);
    let all = bridge.comm.allgather(&[digest(data), node.finish()])?;
    let (all, _) = all.as_chunks::<2>();
    let first = bridge.sources.first().copied().unwrap_or(0);
    let registered = all.get(first as usize).map(|[digest, _]| digest);
    if let Some((rank, _)) = (0..).zip(all).find(|(_, [digest, _])| Some(digest) != registered) {
        return Err(MoveError::Registered { rank, first });
    }
    let is_here = |rank: &u32| all.get(*rank as usize).is_some_and(|[_, at]| *at == node.finish());
    let here = (0..bridge.comm.size()).filter(is_here).collect::<Vec<_>>();
    let n_new = here.iter().filter(|rank| !bridge.sources.contains(rank)).count();
    let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Ok(budget::share(n_cores, here.len(), n_new))
}

/// Hash of the registered data.
fn digest(data: &Data<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for replicated in &data.replicated {
        (replicated.name, replicated.class, replicated.words.form()).hash(&mut hasher);
    }
    for group in &data.groups {
        (group.cut.encode()[0], group.objects.len()).hash(&mut hasher);
        for object in &group.objects {
            (object.name, object.class).hash(&mut hasher);
            match &object.rows {
                Rows::Even { n_per_row, array } => {
                    (n_per_row, array.element_bytes()).hash(&mut hasher)
                }
                Rows::Uneven { arrays, .. } => {
                    let widths = arrays.iter().map(|array| array.element_bytes());
                    widths.collect::<Vec<_>>().hash(&mut hasher);
                }
            }
        }
    }
    hasher.finish()
}

/// A rank's knowledge of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct GroupSummary {
    /// Number of rows of all ranks, as passed to `rows_of`.
    n_rows: u64,
    /// Parameter of the partitioning rule.
    cut: u64,
    /// Number of rows held here, or [`UNEQUAL`].
    n_own: u64,
    /// Weight of these rows.
    weight: u64,
}

/// Marks objects of a group with different numbers of rows.
const UNEQUAL: u64 = u64::MAX;

/// Collects the knowledge of all ranks, by rank.
fn group_summaries(
    bridge: &Bridge<'_>,
    data: &Data<'_>,
) -> Result<Vec<Vec<GroupSummary>>, MoveError> {
    let of_group = |group: &PartitionGroup<'_>| {
        let n_own = if bridge.is_source() { rows_held(group).unwrap_or(UNEQUAL) } else { 0 };
        let weight = weights(group).iter().map(|length| u64::from(*length)).sum();
        GroupSummary { n_rows: group.n_rows, cut: group.cut.encode()[1], n_own, weight }
    };
    let own = data.groups.iter().map(of_group).collect::<Vec<_>>();
    let all: Vec<u64> = bridge.comm.allgather(bytemuck::cast_slice(&own))?;
    let all: &[GroupSummary] = bytemuck::cast_slice(&all);
    let mut all = all.chunks(own.len().max(1)).map(<[GroupSummary]>::to_vec).collect::<Vec<_>>();
    all.resize(bridge.comm.size() as usize, Vec::new());
    Ok(all)
}

/// Number of rows that all objects of a group have; `None` where they differ.
fn rows_held(group: &PartitionGroup<'_>) -> Option<u64> {
    let mut n_rows = None;
    for object in &group.objects {
        let n_own = match &object.rows {
            Rows::Even { n_per_row, array } => {
                let n_elements = array.n_elements();
                n_elements.is_multiple_of(*n_per_row).then(|| n_elements / (*n_per_row).max(1))?
            }
            Rows::Uneven { lengths, arrays } => {
                let lengths = lengths.lengths();
                let n_entries = lengths.iter().map(|length| *length as usize).sum::<usize>();
                let is_whole = arrays.iter().all(|array| array.n_elements() == n_entries);
                is_whole.then_some(lengths.len())?
            }
        };
        if n_rows.is_some_and(|n_rows| n_rows != n_own) {
            return None;
        }
        n_rows = Some(n_own);
    }
    Some(n_rows.unwrap_or(0) as u64)
}

/// Weights of a group's rows; empty if it has none.
fn weights<'a>(group: &'a PartitionGroup<'_>) -> &'a [u32] {
    let lengths = group.objects.iter().find_map(|object| match &object.rows {
        Rows::Uneven { lengths, .. } => Some(lengths.lengths()),
        Rows::Even { .. } => None,
    });
    lengths.unwrap_or_default()
}

impl AgreedGroup {
    /// Runs the agreement on one group; `held` is the knowledge of each rank of the bridge.
    fn on(
        bridge: &Bridge<'_>,
        group: &PartitionGroup<'_>,
        held: &[GroupSummary],
    ) -> Result<Self, MoveError> {
        let first = bridge.sources.first().map(|rank| held[*rank as usize]).unwrap_or_default();
        let known = informed(group, first);
        let name = group.objects.first().map_or("", |object| object.name);
        let held_by = bridge.sources.iter().map(|rank| (*rank, held[*rank as usize]));
        let held_by = held_by.collect::<Vec<_>>();
        let sources = partition_held(&known, name, &held_by)?;
        let n_targets = bridge.n_targets();
        let targets = match group.cut {
            Cut::Weighted => weighted(bridge, group, &held_by, &sources)?,
            _ => known.cut.partition(first.n_rows, n_targets)?,
        };
        let plan = MovePlan::between(&sources, &targets)?;
        let mut entries = Vec::with_capacity(group.objects.len());
        for object in &group.objects {
            entries.push(match &object.rows {
                Rows::Even { .. } => None,
                Rows::Uneven { lengths, .. } => {
                    Some(entries_moved(bridge, &plan, lengths.lengths())?)
                }
            });
        }
        Ok(Self { plan, entries })
    }
}

/// Number of rows and partitioning rule of a group, as the first source knows them.
fn informed(group: &PartitionGroup<'_>, first: GroupSummary) -> PartitionGroup<'static> {
    let cut = group.cut.informed(first.cut);
    PartitionGroup { n_rows: first.n_rows, cut, objects: Vec::new() }
}

/// Present partition of the rows among the sources.
fn partition_held(
    group: &PartitionGroup<'_>,
    name: &'static str,
    held_by: &[(u32, GroupSummary)],
) -> Result<Partition, MoveError> {
    if let Some((rank, _)) = held_by.iter().find(|(_, held)| held.n_own == UNEQUAL) {
        return Err(MoveError::Rows { name, rank: *rank });
    }
    let n_held = held_by.iter().map(|(_, held)| held.n_own).sum::<u64>();
    if n_held != group.n_rows {
        return Err(MoveError::Total { name, held: n_held, said: group.n_rows });
    }
    if group.cut.is_blocks() {
        return Ok(Partition::of_lengths(held_by.iter().map(|(_, held)| held.n_own))?);
    }
    let n_sources = u32::try_from(held_by.len()).unwrap_or(u32::MAX);
    let partition = group.cut.partition(group.n_rows, n_sources)?;
    let other =
        (0..).zip(held_by).find(|(part, (_, held))| partition.n_rows_of(*part) != held.n_own);
    other.map_or(Ok(partition), |(_, (rank, _))| Err(MoveError::Rows { name, rank: *rank }))
}

/// Computes blocks of equal weight, jointly on all ranks that hold rows.
fn weighted(
    bridge: &Bridge<'_>,
    group: &PartitionGroup<'_>,
    held_by: &[(u32, GroupSummary)],
    sources: &Partition,
) -> Result<Partition, MoveError> {
    let is_uneven = |object: &DistributedObject<'_>| matches!(object.rows, Rows::Uneven { .. });
    if !group.objects.iter().any(is_uneven) {
        return Err(MoveError::NoWeights);
    }
    let weight = |(_, held): &(u32, GroupSummary)| u128::from(held.weight);
    let total = held_by.iter().map(weight).sum();
    let mut bounds = vec![0; bridge.n_targets() as usize];
    if let Some(part) = bridge.source() {
        let before = held_by.iter().take(part as usize).map(weight).sum();
        let own = weights(group).iter().map(|length| u64::from(*length));
        bounds = Partition::weighted_cuts(own, before, total, bridge.n_targets())?;
    }
    bridge.comm.allreduce(Op::Sum, &mut bounds)?;
    bounds.push(sources.n_rows());
    Ok(Partition::given(bounds)?)
}

/// Collects the number of entries in each move from the ranks that hold the rows.
fn entries_moved(
    bridge: &Bridge<'_>,
    plan: &MovePlan,
    lengths: &[u32],
) -> Result<Vec<u64>, MoveError> {
    let mut counts = vec![0; bridge.comm.size() as usize];
    for (part, rank) in (0..).zip(&bridge.sources) {
        counts[*rank as usize] = plan.given_by(part).count();
    }
    let own = bridge.source().map(|part| elements_given(plan, part, lengths)).unwrap_or_default();
    let mut all = vec![0; counts.iter().sum()];
    bridge.comm.allgather_rows(&own, &counts, &mut all)?;
    let mut rest = all.as_slice();
    let of_ranks = counts.iter().map(|n| {
        let (own, behind) = rest.split_at(*n);
        rest = behind;
        own.to_vec()
    });
    let mut of_ranks = of_ranks.collect::<Vec<_>>();
    let said = bridge.sources.iter().map(|rank| std::mem::take(&mut of_ranks[*rank as usize]));
    Ok(in_order_of_moves(plan, &said.collect::<Vec<_>>()).unwrap_or_default())
}
