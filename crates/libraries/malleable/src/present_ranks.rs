//! The ranks that compute at present.

use crate::leave_signal;
use crate::tags::Tag;
use bytemuck::{Pod, Zeroable};
use mpi::{Comm, Mpi, MpiError};
use std::sync::Arc;
use std::time::Duration;

/// Largest length of a host name, in bytes.
const HOST_BYTES: usize = 64;

/// Process of the program.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Member {
    /// Id of the world: processes that were started together have the same, and leave together.
    pub(crate) world: u64,
    pub(crate) pid: u64,
    host: [u8; HOST_BYTES],
}

impl Member {
    /// Describes this process.
    pub(crate) fn own(world: u64) -> Self {
        let mut host = [0; HOST_BYTES];
        let name = files::host_name();
        host.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
        Self { world, pid: u64::from(std::process::id()), host }
    }

    /// Host of the process.
    pub(crate) fn host(&self) -> String {
        String::from_utf8_lossy(&self.host).trim_end_matches('\0').to_owned()
    }
}

/// The ranks that compute at present.
#[derive(Debug)]
pub(crate) struct PresentRanks {
    /// Communicator for the program.
    pub(crate) comm: Comm,
    /// Communicator for the orders of rank 0, and for the threads that prepare a resize.
    pub(crate) backstage: Arc<Comm>,
    /// Processes by rank.
    pub(crate) members: Vec<Member>,
}

impl PresentRanks {
    /// Creates the world of a communicator that becomes the program's; all its ranks call this.
    pub(crate) fn of(comm: Comm, members: Vec<Member>) -> Result<Self, MpiError> {
        let backstage = Arc::new(comm.duplicate()?);
        Ok(Self { comm, backstage, members })
    }

    /// Present ranks: this process alone.
    pub(crate) fn alone(mpi: &Arc<Mpi>) -> Result<Self, MpiError> {
        Self::of(Comm::own_self(mpi)?, Vec::new())
    }

    pub(crate) fn is_first(&self) -> bool {
        self.comm.rank() == 0
    }

    pub(crate) fn size(&self) -> u32 {
        self.comm.size()
    }

    /// World ids of all ranks.
    pub(crate) fn worlds(&self) -> Vec<u64> {
        self.members.iter().map(|member| member.world).collect()
    }

    /// Hosts of all ranks.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.members.iter().map(Member::host).collect()
    }

    /// Broadcasts the text of rank 0; the text of other ranks is ignored. All ranks call it.
    pub(crate) fn tell(&self, text: String) -> Result<String, MpiError> {
        tell(&self.comm, text)
    }

    /// On rank 0, takes the wishes of ranks that have to leave, its own among them.
    pub(crate) fn leave_wishes(&self) -> Result<Vec<u32>, MpiError> {
        let mut wishes = if leave_signal::take_wish() { vec![0] } else { Vec::new() };
        let tag = Some(Tag::LeaveWish.number());
        while let Some((message, _)) = self.backstage.take::<u8>(None, tag, Duration::ZERO)? {
            wishes.push(message.from);
        }
        Ok(wishes)
    }

    /// Frees the communicators, together with the other ranks. One that a thread still uses is kept.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        if let Some(backstage) = Arc::into_inner(self.backstage) {
            backstage.free()?;
        }
        self.comm.free()
    }
}

/// Broadcasts the text of rank 0 of a communicator; the text of other ranks is ignored. All its ranks call it.
pub(crate) fn tell(comm: &Comm, text: String) -> Result<String, MpiError> {
    let mut bytes = text.into_bytes();
    let mut n_bytes = [bytes.len() as u64];
    comm.broadcast(&mut n_bytes, 0)?;
    bytes.resize(usize::try_from(n_bytes[0]).unwrap_or(0), 0);
    comm.broadcast(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
