//! Who is connected with this rank, and by which line.

use crate::CommError;
use mpi::{Address, Line, MpiError};

/// The ranks that this one can reach.
#[derive(Debug)]
pub(super) struct Peers {
    own: u32,
    /// Ranks that were launched together with this one; 0 for a rank that was added.
    n_launched: u32,
    /// The line to them.
    world: Option<Line>,
    links: Vec<Link>,
    /// The numbers of the links that are connected.
    present: Vec<u32>,
    /// The channel that is looked at next.
    turn: usize,
    /// Whether a call failed that concerns those who were launched together: they do not come to the end together any more.
    is_broken: bool,
}

/// A connection with one rank of another world.
#[derive(Debug)]
struct Link {
    number: u32,
    line: Line,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Present,
    Left,
    Gone,
}

impl Link {
    /// Whether it is connected by this line; that of a rank that left may come again for another.
    fn is_over(&self, line: Line) -> bool {
        self.state == State::Present && self.line == line
    }
}

impl Peers {
    /// Those of a rank that was launched with others.
    pub(super) fn launched(world: Line, own: u32, n_launched: u32) -> Self {
        let (links, present) = (Vec::new(), Vec::new());
        Self { own, n_launched, world: Some(world), links, present, turn: 0, is_broken: false }
    }

    /// Those of a rank that was added: rank 0 only. Its own number is not known yet.
    pub(super) fn added(line: Line) -> Self {
        let links = vec![Link { number: 0, line, state: State::Present }];
        let (world, present) = (None, vec![0]);
        Self { own: u32::MAX, n_launched: 0, world, links, present, turn: 0, is_broken: false }
    }

    /// Says the number of a rank that was added.
    pub(super) fn set_own(&mut self, own: u32) {
        self.own = own;
    }

    /// Adds a rank; its number.
    pub(super) fn add(&mut self, line: Line) -> u32 {
        let number = self.n_numbers();
        self.links.push(Link { number, line, state: State::Present });
        self.present.push(number);
        number
    }

    /// Takes a rank out that left; its communicator.
    pub(super) fn remove(&mut self, rank: u32) -> Option<Line> {
        let link = self.links.iter_mut().find(|link| link.number == rank)?;
        link.state = State::Left;
        self.present.retain(|present| *present != rank);
        Some(link.line)
    }

    /// The result, or that a rank is gone when the connection with it fails.
    pub(super) fn judge<T>(
        &mut self,
        line: Line,
        result: Result<T, MpiError>,
    ) -> Result<T, CommError> {
        let Err(MpiError::Call { .. }) = result else { return Ok(result?) };
        let Some(link) = self.links.iter_mut().find(|link| link.line == line) else {
            self.is_broken = true;
            return Ok(result?);
        };
        link.state = State::Gone;
        let rank = link.number;
        self.present.retain(|present| *present != rank);
        Err(CommError::Gone { rank })
    }

    /// Whether the failure of a message of this rank means that it is gone, as it does where it is connected alone.
    pub(super) fn lose(&mut self, rank: u32, error: &MpiError) -> bool {
        let is_mpi = matches!(error, MpiError::Call { .. });
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
        if let Some(line) = self.world
            && rank < self.n_launched
            && rank != self.own
        {
            return Ok(Address { line, rank });
        }
        let link = self.links.iter().find(|link| link.number == rank);
        match link.map(|link| (link.state, link.line)) {
            Some((State::Present, line)) => Ok(Address { line, rank: 0 }),
            Some((State::Gone, _)) => Err(CommError::Gone { rank }),
            Some((State::Left, _)) | None => Err(CommError::NotPresent { rank, own: self.own }),
        }
    }

    /// The number of the rank at this address.
    pub(super) fn number(&self, address: Address) -> u32 {
        if self.world == Some(address.line) {
            return address.rank;
        }
        let link = self.links.iter().find(|link| link.is_over(address.line));
        link.map_or(address.rank, |link| link.number)
    }

    /// How many lines messages may come in.
    pub(super) fn n_channels(&self) -> usize {
        usize::from(1 < self.n_launched) + self.present.len()
    }

    /// One of them after the other.
    pub(super) fn next_channel(&mut self) -> Option<Line> {
        let n_channels = self.n_channels();
        self.turn = if self.turn + 1 < n_channels { self.turn + 1 } else { 0 };
        let has_world = 1 < self.n_launched;
        if has_world && self.turn == 0 {
            return self.world;
        }
        let number = self.present.get(self.turn - usize::from(has_world))?;
        self.links.iter().find(|link| link.number == *number).map(|link| link.line)
    }

    /// Whether those who were launched together lost one of them.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub(super) fn own(&self) -> u32 {
        self.own
    }

    pub(super) fn n_launched(&self) -> u32 {
        self.n_launched
    }

    pub(super) fn world(&self) -> Option<Line> {
        self.world
    }

    /// The numbers of the connected ranks of other worlds.
    pub(super) fn present(&self) -> &[u32] {
        &self.present
    }

    pub(super) fn is_added(&self) -> bool {
        self.world.is_none()
    }

    /// Numbers that were given so far, as far as this rank knows.
    pub(super) fn n_numbers(&self) -> u32 {
        let last = self.links.last().map_or(0, |link| link.number + 1);
        last.max(self.n_launched).max(self.own.saturating_add(1))
    }
}
