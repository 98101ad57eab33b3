//! Agreement of all participants of a resize, before any data move.
//!
//! They make the communicator of the new ranks, learn who its members are and where processes that leave report their
//! end, try how data move best unless that is given, and tell the first source that they are ready. So none of this
//! remains to be done while the program waits.

use crate::bridge::Bridge;
use crate::fault::{self, FaultPoint};
use crate::plan::ResizePlan;
use crate::present_ranks::{Member, PresentRanks};
use crate::probing;
use crate::release::{Release, ReleaseAddress};
use crate::spawn_error::SpawnError;
use crate::tags::Tag;
use mpi::{Comm, MpiError};
use std::sync::Arc;
use std::time::Duration;

/// Participant that is joined with the others.
#[derive(Debug)]
pub(crate) struct Ready {
    /// All participants, in the order of their numbers.
    pub(crate) bridge: Comm,
    pub(crate) number: u32,
    pub(crate) own_world: u64,
    pub(crate) plan: ResizePlan,
    /// Constant data of this process, in bytes.
    pub(crate) n_bytes: u64,
}

/// Resize that only has to be carried out.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// All participants, in the order of their numbers.
    pub(crate) bridge: Arc<Comm>,
    pub(crate) plan: ResizePlan,
    /// New ranks, if this process is one of them.
    pub(crate) ranks: Option<PresentRanks>,
    /// Address at which to report the end of this process, if it leaves.
    pub(crate) address: Option<ReleaseAddress>,
    /// On the next rank 0, if processes leave.
    pub(crate) release: Option<Release>,
    pub(crate) spawn_s: f64,
    pub(crate) connect_s: f64,
}

impl Prepared {
    /// Bridge between the ranks with data and the ranks that get them.
    pub(crate) fn bridge(&self) -> Bridge<'_> {
        self.plan.bridge(&self.bridge)
    }

    /// Frees the communicators, together with the other ranks.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        self.ranks.map_or(Ok(()), PresentRanks::free)?;
        free_shared(self.bridge)
    }
}

/// Frees a communicator that no thread uses any more, together with the other ranks.
pub(crate) fn free_shared(comm: Arc<Comm>) -> Result<(), MpiError> {
    Arc::into_inner(comm).map_or(Ok(()), Comm::free)
}

impl Ready {
    pub(crate) fn agree(self) -> Result<Prepared, SpawnError> {
        let Self { bridge, number, own_world, mut plan, n_bytes } = self;
        fault::at(FaultPoint::Ready, number);
        let members = bridge.allgather(&[Member::own(own_world)])?;
        let ranks = next_world(&bridge, &plan, number, &members)?;
        let release = open_release(&bridge, &plan, number)?;
        let deadline = Duration::from_millis(plan.deadline_ms);
        let address = if plan.target(number).is_none() && !plan.is_parked {
            let (from, tag) = (plan.next_first(), Tag::ReleaseAddress.number());
            let heard = bridge.take::<u8>(Some(from), Some(tag), deadline)?;
            heard.and_then(|(_, text)| serde_json::from_slice(&text).ok())
        } else {
            None
        };
        if plan.method.is_none() {
            // The program does not wait for this trial.
            let found = probing::choose(&plan.bridge(&bridge), n_bytes);
            plan.method = Some(found.map_err(|error| SpawnError::Trial(error.to_string()))?);
        }
        if 0 < number {
            bridge.send::<u8>(&[], 0, Tag::Ready.number())?;
        } else {
            for rank in 1..bridge.size() {
                let heard = bridge.take::<u8>(Some(rank), Some(Tag::Ready.number()), deadline)?;
                let late = SpawnError::Late { rank, seconds: deadline.as_secs_f64() };
                heard.ok_or(late)?;
            }
        }
        let bridge = Arc::new(bridge);
        Ok(Prepared { bridge, plan, ranks, address, release, spawn_s: 0.0, connect_s: 0.0 })
    }
}

/// Creates the world of the new ranks.
fn next_world(
    bridge: &Comm,
    plan: &ResizePlan,
    number: u32,
    members: &[Member],
) -> Result<Option<PresentRanks>, MpiError> {
    let rank = plan.target(number);
    let key = rank.and_then(|rank| i32::try_from(rank).ok()).unwrap_or(0);
    let Some(comm) = bridge.split(rank.map(|_| 0), key)? else { return Ok(None) };
    let members = plan.targets.iter().filter_map(|number| members.get(*number as usize));
    PresentRanks::of(comm, members.copied().collect()).map(Some)
}

/// On the next rank 0, opens the listener for the processes that leave.
fn open_release(
    bridge: &Comm,
    plan: &ResizePlan,
    number: u32,
) -> Result<Option<Release>, SpawnError> {
    let nobody_ends = plan.is_parked || plan.leavers().next().is_none();
    if number != plan.next_first() || nobody_ends {
        return Ok(None);
    }
    let release = Release::open().map_err(|error| SpawnError::Watch(error.to_string()))?;
    let text = serde_json::to_vec(&release.address).unwrap_or_default();
    plan.leavers()
        .try_for_each(|leaver| bridge.send(&text, leaver, Tag::ReleaseAddress.number()))?;
    Ok(Some(release))
}
