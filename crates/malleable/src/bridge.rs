//! The ranks between which data move.

use mpi::Comm;

/// The ranks before and after a change of the size, in one communicator.
#[derive(Debug)]
pub struct Bridge<'c> {
    /// Sources, and ranks that are new.
    pub comm: &'c Comm,
    /// The number in `comm` of each source, in the order of parts.
    pub sources: Vec<u32>,
    /// The number in `comm` of each target, in the order of parts.
    pub targets: Vec<u32>,
}

impl Bridge<'_> {
    /// The part that this rank has before.
    pub(crate) fn source(&self) -> Option<u32> {
        self.part(&self.sources)
    }

    /// The part that it has after.
    pub(crate) fn target(&self) -> Option<u32> {
        self.part(&self.targets)
    }

    pub(crate) fn is_source(&self) -> bool {
        self.source().is_some()
    }

    pub(crate) fn n_targets(&self) -> u32 {
        u32::try_from(self.targets.len()).unwrap_or(u32::MAX)
    }

    fn part(&self, ranks: &[u32]) -> Option<u32> {
        let own = self.comm.rank();
        ranks.iter().position(|rank| *rank == own).and_then(|part| u32::try_from(part).ok())
    }
}
