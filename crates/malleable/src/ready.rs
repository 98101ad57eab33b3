//! What all that take part in a resize agree on, before any data move.
//!
//! They make the communicators of the ranks to be, learn who these are and where those that leave say good-bye, try how data
//! move best, where nobody said it, and tell the first source that they are ready. So nothing of that is left to do while the program waits.

use crate::bridge::Bridge;
use crate::change::Change;
use crate::fault::{self, Point};
use crate::probing;
use crate::release::{Door, Release};
use crate::spawn::SpawnError;
use crate::tags::Tag;
use crate::world::{Member, World};
use mpi::{Comm, MpiError};
use std::time::Duration;

/// A process that takes part, joined with the others.
#[derive(Debug)]
pub(crate) struct Ready {
    /// All that take part, in the order of their numbers.
    pub(crate) bridge: Comm,
    pub(crate) number: u32,
    pub(crate) own_world: u64,
    pub(crate) change: Change,
    /// Constant data of this process, in bytes.
    pub(crate) n_bytes: u64,
}

/// A change that only has to be made.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// All that take part, in the order of their numbers.
    pub(crate) bridge: Comm,
    pub(crate) change: Change,
    /// The ranks to be, where this process is one of them.
    pub(crate) world: Option<World>,
    /// Where to say good-bye, for who leaves.
    pub(crate) door: Option<Door>,
    /// For who is to be rank 0, when somebody leaves.
    pub(crate) release: Option<Release>,
    pub(crate) spawn_s: f64,
    pub(crate) connect_s: f64,
}

impl Prepared {
    /// Between those that have data and those that get them.
    pub(crate) fn bridge(&self) -> Bridge<'_> {
        self.change.bridge(&self.bridge)
    }

    /// Gives the communicators back, together with the others.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        self.world.map_or(Ok(()), World::free)?;
        self.bridge.free()
    }
}

impl Ready {
    pub(crate) fn agree(self) -> Result<Prepared, SpawnError> {
        let Self { bridge, number, own_world, mut change, n_bytes } = self;
        fault::at(Point::Ready, number);
        let members = bridge.allgather(&[Member::own(own_world)])?;
        let world = next_world(&bridge, &change, number, &members)?;
        let release = open_door(&bridge, &change, number)?;
        let deadline = Duration::from_millis(change.deadline_ms);
        let door = if change.target(number).is_none() && !change.is_parked {
            let heard =
                bridge.take::<u8>(Some(change.next_first()), Some(Tag::Door.number()), deadline)?;
            let text = heard.map(|(_, text)| text).unwrap_or_default();
            serde_json::from_slice(&text).ok()
        } else {
            None
        };
        if change.method().is_none() {
            // Now, since nobody waits.
            let found = probing::choose(&change.bridge(&bridge), n_bytes);
            change.set_method(found.map_err(|error| SpawnError::Trial(error.to_string()))?);
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
        Ok(Prepared { bridge, change, world, door, release, spawn_s: 0.0, connect_s: 0.0 })
    }
}

/// The ranks to be.
fn next_world(
    bridge: &Comm,
    change: &Change,
    number: u32,
    members: &[Member],
) -> Result<Option<World>, MpiError> {
    let rank = change.target(number);
    let key = rank.and_then(|rank| i32::try_from(rank).ok()).unwrap_or(0);
    let Some(comm) = bridge.split(rank.map(|_| 0), key)? else { return Ok(None) };
    let members = change.targets.iter().filter_map(|number| members.get(*number as usize));
    World::of(comm, members.copied().collect()).map(Some)
}

/// Who is to be rank 0 sees off those that leave.
fn open_door(bridge: &Comm, change: &Change, number: u32) -> Result<Option<Release>, SpawnError> {
    let nobody_ends = change.is_parked || change.leavers().next().is_none();
    if number != change.next_first() || nobody_ends {
        return Ok(None);
    }
    let release = Release::open().map_err(|error| SpawnError::Watch(error.to_string()))?;
    let text = serde_json::to_vec(release.door()).unwrap_or_default();
    change.leavers().try_for_each(|leaver| bridge.send(&text, leaver, Tag::Door.number()))?;
    Ok(Some(release))
}
