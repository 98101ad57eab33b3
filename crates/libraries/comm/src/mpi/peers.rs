//! Ranks connected with this one, and their connections.

use crate::CommError;
use mpi::{Address, CommHandle, Mpi, MpiError};
use std::collections::BTreeSet;

/// Ranks that this one can reach.
#[derive(Debug)]
pub(super) struct Peers {
    /// Number of this rank; unknown to a rank that was added until it is told.
    pub(super) own: u32,
    /// Number of ranks launched together with this one; 0 for a rank that was added.
    pub(super) n_launched: u32,
    /// Connection with the ranks launched together.
    pub(super) world: Option<CommHandle>,
    links: Vec<Link>,
    /// Numbers of the connected ranks of other worlds.
    pub(super) present: Vec<u32>,
    /// Index of the channel probed next.
    cursor: usize,
    /// True if a call on the ranks launched together failed; they can no longer finalize MPI together.
    pub(super) is_broken: bool,
    /// Ranks launched together that are lost, without which the others go on.
    pub(super) lost: BTreeSet<u32>,
    /// Lost ranks that `receive` has not reported yet.
    pub(super) unreported: BTreeSet<u32>,
}

/// Connection with one rank of another world.
#[derive(Debug)]
struct Link {
    number: u32,
    comm: CommHandle,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Present,
    Left,
    Gone,
}

impl Link {
    /// Returns whether the rank is connected over this communicator; a library may reuse the handle of a rank that left.
    fn is_over(&self, comm: CommHandle) -> bool {
        self.state == State::Present && self.comm == comm
    }
}

impl Peers {
    /// Creates the peers of a rank launched with others.
    pub(super) fn launched(world: CommHandle, own: u32, n_launched: u32) -> Self {
        let (links, present) = (Vec::new(), Vec::new());
        let (lost, unreported) = (BTreeSet::new(), BTreeSet::new());
        let (world, cursor, is_broken) = (Some(world), 0, false);
        Self { own, n_launched, world, links, present, cursor, is_broken, lost, unreported }
    }

    /// Creates the peers of a rank that was added: rank 0 only.
    pub(super) fn added(comm: CommHandle) -> Self {
        let links = vec![Link { number: 0, comm, state: State::Present }];
        let (world, present) = (None, vec![0]);
        let (lost, unreported) = (BTreeSet::new(), BTreeSet::new());
        let (own, n_launched, cursor, is_broken) = (u32::MAX, 0, 0, false);
        Self { own, n_launched, world, links, present, cursor, is_broken, lost, unreported }
    }

    /// Adds a rank; returns its number.
    pub(super) fn add(&mut self, comm: CommHandle) -> u32 {
        let number = self.n_numbers();
        self.links.push(Link { number, comm, state: State::Present });
        self.present.push(number);
        number
    }

    /// Removes a rank that left; returns its connection.
    pub(super) fn remove(&mut self, rank: u32) -> Option<CommHandle> {
        let link = self.links.iter_mut().find(|link| link.number == rank)?;
        link.state = State::Left;
        self.present.retain(|present| *present != rank);
        Some(link.comm)
    }

    /// Returns the result, or [`CommError::Gone`] when the connection with a single rank failed.
    /// A rank launched together with this one is gone where the library goes on without it.
    pub(super) fn check<T>(
        &mut self,
        mpi: &Mpi,
        comm: CommHandle,
        result: Result<T, MpiError>,
    ) -> Result<T, CommError> {
        let Err(MpiError::Call { .. }) = result else { return Ok(result?) };
        if self.world == Some(comm) && self.find_lost(mpi) {
            let rank = self.unreported.pop_first().unwrap_or(self.own);
            return Err(CommError::Gone { rank });
        }
        let Some(link) = self.links.iter_mut().find(|link| link.comm == comm) else {
            self.is_broken = true;
            return Ok(result?);
        };
        link.state = State::Gone;
        let rank = link.number;
        self.present.retain(|present| *present != rank);
        Err(CommError::Gone { rank })
    }

    /// Asks the library which of the ranks launched together are lost; returns whether there are more of them than before.
    fn find_lost(&mut self, mpi: &Mpi) -> bool {
        let n_before = self.lost.len();
        for rank in self.world.into_iter().flat_map(|world| world.lost_ranks(mpi)) {
            if self.lost.insert(rank) {
                self.unreported.insert(rank);
            }
        }
        n_before < self.lost.len()
    }

    /// Marks the rank as gone and returns true, if the failure of its message means that: where it is connected alone, or
    /// the library goes on without it.
    pub(super) fn lose(&mut self, mpi: &Mpi, rank: u32, error: &MpiError) -> bool {
        let is_mpi = matches!(error, MpiError::Call { .. });
        if is_mpi && rank < self.n_launched {
            self.find_lost(mpi);
            if self.lost.contains(&rank) {
                return true;
            }
        }
        let link = self.links.iter_mut().find(|link| link.number == rank);
        let Some(link) = link.filter(|_| is_mpi) else {
            self.is_broken |= is_mpi;
            return false;
        };
        link.state = State::Gone;
        self.present.retain(|present| *present != rank);
        true
    }

    pub(super) fn address(&self, rank: u32) -> Result<Address, CommError> {
        if let Some(comm) = self.world
            && rank < self.n_launched
            && rank != self.own
        {
            if self.lost.contains(&rank) {
                return Err(CommError::Gone { rank });
            }
            return Ok(Address { comm, rank });
        }
        let link = self.links.iter().find(|link| link.number == rank);
        match link.map(|link| (link.state, link.comm)) {
            Some((State::Present, comm)) => Ok(Address { comm, rank: 0 }),
            Some((State::Gone, _)) => Err(CommError::Gone { rank }),
            Some((State::Left, _)) | None => Err(CommError::NotPresent { rank, own: self.own }),
        }
    }

    /// Returns the number of the rank at this address.
    pub(super) fn number(&self, address: Address) -> u32 {
        if self.world == Some(address.comm) {
            return address.rank;
        }
        let link = self.links.iter().find(|link| link.is_over(address.comm));
        link.map_or(address.rank, |link| link.number)
    }

    /// Returns the number of connections on which messages may arrive.
    pub(super) fn n_channels(&self) -> usize {
        usize::from(1 < self.n_launched) + self.present.len()
    }

    /// Returns the next of these connections, round robin.
    pub(super) fn next_channel(&mut self) -> Option<CommHandle> {
        let n_channels = self.n_channels();
        self.cursor = if self.cursor + 1 < n_channels { self.cursor + 1 } else { 0 };
        let has_world = 1 < self.n_launched;
        if has_world && self.cursor == 0 {
            return self.world;
        }
        let number = self.present.get(self.cursor - usize::from(has_world))?;
        self.links.iter().find(|link| link.number == *number).map(|link| link.comm)
    }

    pub(super) fn is_added(&self) -> bool {
        self.world.is_none()
    }

    /// Returns the count of numbers assigned so far, as known to this rank.
    pub(super) fn n_numbers(&self) -> u32 {
        let last = self.links.last().map_or(0, |link| link.number + 1);
        last.max(self.n_launched).max(self.own.saturating_add(1))
    }
}
