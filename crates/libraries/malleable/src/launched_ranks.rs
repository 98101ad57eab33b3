//! Parked ranks: where a library cannot start processes, launched ranks sleep until they are wanted.
//!
//! All ranks are launched at once. Those beyond the first size sleep, and so do those that leave later: they keep their
//! processes and their places on nodes. A message from rank 0 of the present ranks wakes them, on a communicator of
//! all.

use crate::fault::{self, FaultPoint};
use crate::plan::ResizePlan;
use crate::ready::{Prepared, Ready};
use crate::spawn_error::SpawnError;
use crate::tags::Tag;
use mpi::{Comm, MpiError};
use std::time::Duration;

/// Largest time for which a rank sleeps.
const PATIENCE: Duration = Duration::from_hours(24 * 365);

/// All launched ranks.
#[derive(Debug)]
pub(crate) struct LaunchedRanks {
    pub(crate) all: Comm,
}

impl LaunchedRanks {
    /// World id of a rank, which leaves alone.
    pub(crate) fn world_of(rank: u32) -> u64 {
        u64::from(rank) + 1
    }

    /// Ranks that sleep when the present ranks have these worlds.
    pub(crate) fn sleeping(&self, worlds: &[u64]) -> Vec<u32> {
        let is_present = |rank: &u32| worlds.contains(&Self::world_of(*rank));
        (0..self.all.size()).filter(|rank| !is_present(rank)).collect()
    }

    /// Wakes the ranks that the resize needs; called by the first source.
    pub(crate) fn wake(&self, plan: &ResizePlan) -> Result<(), MpiError> {
        let text = serde_json::to_vec(plan).unwrap_or_default();
        plan.woken.iter().try_for_each(|rank| self.all.send(&text, *rank, Tag::Wake.number()))
    }

    /// Tells the sleeping ranks that the program is done.
    pub(crate) fn dismiss(&self, worlds: &[u64]) -> Result<(), MpiError> {
        let mut sleeping = self.sleeping(worlds).into_iter();
        sleeping.try_for_each(|rank| self.all.send::<u8>(&[], rank, Tag::Wake.number()))
    }

    /// Sleeps until this rank is wanted; returns `None` when the program is done.
    pub(crate) fn sleep(&self) -> Result<Option<Prepared>, SpawnError> {
        let heard = self.all.take::<u8>(None, Some(Tag::Wake.number()), PATIENCE)?;
        let Some((arrival, text)) = heard else { return Ok(None) };
        let Ok(plan) = serde_json::from_slice::<ResizePlan>(&text) else { return Ok(None) };
        let own = self.all.rank();
        let place = plan.woken.iter().position(|rank| *rank == own).unwrap_or(0);
        let (alone, peer) = (Comm::own_self(self.all.mpi())?, Some((&self.all, arrival.from)));
        let mut group = joined(alone, peer, Tag::Join.number(), true)?;
        for _later in plan.woken.iter().skip(place + 1) {
            group = joined(group, None, Tag::Join.number(), false)?;
        }
        let number = plan.n_sources + u32::try_from(place).unwrap_or(0);
        let own_world = Self::world_of(own);
        Ready { bridge: group, number, own_world, plan, n_bytes: 0 }.agree().map(Some)
    }

    /// Joins the sources with the woken ranks, on the side of a source.
    pub(crate) fn join(&self, backstage: &Comm, plan: &ResizePlan) -> Result<Comm, MpiError> {
        let mut group = backstage.duplicate()?;
        for rank in &plan.woken {
            let peer = (backstage.rank() == 0).then_some((&self.all, *rank));
            group = joined(group, peer, Tag::Join.number(), false)?;
        }
        Ok(group)
    }
}

/// Joins a group with another one. Its leader is rank 0, which alone knows the other leader.
///
/// Leaders meet first. MPICH cannot tell messages between two leaders from others that arrive, so no leader may send
/// before the other one is there, as that may be about to join with another group.
pub(crate) fn joined(
    group: Comm,
    peer: Option<(&Comm, u32)>,
    tag: u16,
    is_high: bool,
) -> Result<Comm, MpiError> {
    if let Some((between, other)) = peer.filter(|_| group.rank() == 0) {
        if is_high {
            between.send::<u8>(&[], other, Tag::Knock.number())?;
        }
        between.receive::<u8>(&mut [], other, Tag::Knock.number())?;
        if !is_high {
            between.send::<u8>(&[], other, Tag::Knock.number())?;
        }
        // Only `wait` has an effect here, and that is over.
        let _none = fault::at(FaultPoint::Join, between.rank());
    }
    let between = group.join(0, peer, tag)?;
    let joined = between.merge(is_high)?;
    between.free()?;
    group.free()?;
    Ok(joined)
}
