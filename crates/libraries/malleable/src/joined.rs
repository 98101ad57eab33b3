//! Two groups of ranks that become one.

use crate::fault::{self, Point};
use crate::tags::Tag;
use mpi::{Comm, MpiError};

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
        let _none = fault::at(Point::Join, between.rank());
    }
    let between = group.join(0, peer, tag)?;
    let joined = between.merge(is_high)?;
    between.free()?;
    group.free()?;
    Ok(joined)
}
