//! Ranks between which data move.

use mpi::Comm;

/// Ranks before and after a resize, in one communicator.
#[derive(Debug)]
pub struct Bridge<'c> {
    /// Communicator of the sources and the new ranks.
    pub comm: &'c Comm,
    /// Rank in `comm` of each source, in the order of parts.
    pub sources: Vec<u32>,
    /// Rank in `comm` of each target, in the order of parts.
    pub targets: Vec<u32>,
}

impl Bridge<'_> {
    /// Part of the data that this rank has before the resize.
    pub(crate) fn source(&self) -> Option<u32> {
        self.part(&self.sources)
    }

    /// Part of the data that this rank has afterwards.
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
