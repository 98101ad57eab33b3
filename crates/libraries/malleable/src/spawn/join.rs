//! Joins all sources and all new processes in one communicator.
//!
//! A source merges with its children one after the other, and is rank 0 of the result. Then neighbors join, and
//! neighbors of those, each time led by the first source of each side, which communicate as sources already do.

use super::Child;
use crate::launched_ranks::joined;
use crate::plan::{ProcessStart, ResizePlan};
use crate::tags::Tag;
use mpi::{Comm, Intercomm, MpiError};

/// Joins as a source.
pub(super) fn as_source(
    backstage: &Comm,
    plan: &ResizePlan,
    children: &[Child],
) -> Result<Comm, MpiError> {
    let own = backstage.rank();
    for (start, child) in children {
        let number = plan.starts.iter().position(|other| other == start);
        let text = serde_json::to_vec(&(plan, number)).unwrap_or_default();
        (0..child.n_peers()).try_for_each(|rank| child.send(&text, rank, Tag::Go.number()))?;
    }
    let mut group: Option<Comm> = None;
    for (_, child) in children {
        let pair = child.merge(false)?;
        group = Some(match group {
            None => pair,
            // Rank 1 of the pair leads the children.
            Some(group) => {
                let joined = joined(group, Some((&pair, 1)), Tag::Child.number(), false)?;
                pair.free()?;
                joined
            }
        });
    }
    let group = group.map_or_else(|| Comm::own_self(backstage.mpi()), Ok)?;
    let group = ascend(group, plan.n_sources, own, Some(backstage))?;
    numbered(group, own)
}

/// Joins as a new process.
pub(super) fn as_child(
    world: &Comm,
    plan: &ResizePlan,
    start: &ProcessStart,
    parent: &Intercomm,
) -> Result<Comm, MpiError> {
    let pair = parent.merge(true)?;
    let mut siblings = plan.started_by(start.parent).skip_while(|other| *other != start);
    siblings.next();
    let is_eldest = plan.started_by(start.parent).next() == Some(start);
    let mut group = if is_eldest {
        pair
    } else {
        let joined = joined(world.duplicate()?, Some((&pair, 0)), Tag::Child.number(), true)?;
        pair.free()?;
        joined
    };
    for _younger in siblings {
        group = joined(group, None, Tag::Child.number(), false)?;
    }
    let group = ascend(group, plan.n_sources, start.parent, None)?;
    numbered(group, start.first + world.rank())
}

/// Joins the groups of all sources. `source` is the one that this process belongs to; `own` is set on the source
/// itself.
fn ascend(
    mut group: Comm,
    n_sources: u32,
    mut source: u32,
    mut own: Option<&Comm>,
) -> Result<Comm, MpiError> {
    let mut step = 1;
    while step < n_sources {
        let low = source - source % (2 * step);
        let is_low = source == low;
        if low + step < n_sources {
            let other = if is_low { low + step } else { low };
            group = joined(group, own.map(|own| (own, other)), Tag::Side.number(), !is_low)?;
            if !is_low {
                own = None;
            }
        }
        (source, step) = (low, 2 * step);
    }
    Ok(group)
}

/// Reorders the group by participant number.
fn numbered(group: Comm, number: u32) -> Result<Comm, MpiError> {
    let key = i32::try_from(number).unwrap_or(i32::MAX);
    let ordered = group.split(Some(0), key)?;
    group.free()?;
    Ok(ordered.expect("all are of one color"))
}
