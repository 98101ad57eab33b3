//! Data that goes to each rank, or comes from it, as lists for MPI.

use super::{Bundle, ByteRange};
use crate::elements::{Datatypes, count};
use crate::error::within;
use crate::functions::{Handle, Handles};
use crate::{CommBase, MpiError};
use std::ffi::c_int;

/// An address, and the number of bytes from there.
pub(super) type Block = (usize, usize);

/// Sending or receiving side of a collective exchange.
pub(super) struct Side {
    pub(super) counts: Vec<c_int>,
    pub(super) displacements: Vec<c_int>,
    pub(super) datatypes: Vec<Handle>,
    pub(super) list: Handles,
    /// Address of the first byte, or 0 where the datatypes hold addresses.
    pub(super) base: usize,
}

impl Side {
    fn of(base: &CommBase, blocks: &[Vec<Block>]) -> Result<Self, MpiError> {
        let n_peers = base.n_peers() as usize;
        let (rank, n_ranks) = (u32::try_from(blocks.len()).unwrap_or(0), base.n_peers());
        if n_peers < blocks.len() {
            return Err(MpiError::NoRank { rank: rank.saturating_sub(1), n_ranks });
        }
        Ok(Self {
            counts: vec![0; n_peers],
            displacements: vec![0; n_peers],
            datatypes: vec![0; n_peers],
            list: Handles::Wide(Vec::new()),
            base: 0,
        })
    }

    /// Creates the counts and displacements of a side with one stretch for each rank.
    pub(super) fn rows(
        base: &CommBase,
        blocks: &[Vec<Block>],
        width: usize,
    ) -> Result<Self, MpiError> {
        let mut side = Self::of(base, blocks)?;
        let filled = blocks.iter().flatten();
        side.base = filled.map(|(address, _)| *address).min().unwrap_or(0);
        for (peer, blocks) in blocks.iter().enumerate() {
            let Some((address, n_bytes)) = blocks.first() else { continue };
            side.counts[peer] = count(n_bytes / width)?;
            side.displacements[peer] = count((address - side.base) / width)?;
        }
        Ok(side)
    }

    /// Creates a side with one derived datatype for each rank.
    pub(super) fn derived(base: &CommBase, blocks: &[Vec<Block>]) -> Result<Self, MpiError> {
        let mut side = Self::of(base, blocks)?;
        for (peer, blocks) in blocks.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            side.counts[peer] = 1;
            side.datatypes[peer] = base.mpi.datatypes.ranges(blocks)?;
        }
        let (nothing, made) = (base.mpi.datatypes.byte, side.datatypes.iter().copied());
        let all = made.map(|datatype| if datatype == 0 { nothing } else { datatype });
        side.list = Handles::of(base.mpi.constants, all);
        Ok(side)
    }
}

impl Datatypes {
    /// Returns a datatype of blocks at their addresses.
    pub(super) fn ranges(&self, blocks: &[Block]) -> Result<Handle, MpiError> {
        let mut parts = Vec::with_capacity(blocks.len());
        for (address, n_bytes) in blocks {
            parts.push((*address, self.contiguous_bytes(*n_bytes)?));
        }
        self.committed(&parts)
    }
}

/// Returns the blocks sent to each peer.
pub(super) fn sent(bundle: &Bundle) -> Result<Vec<Vec<Block>>, MpiError> {
    let mut blocks = Vec::new();
    for (lent, ranges) in &bundle.sent {
        let bytes = (**lent).as_ref();
        add(&mut blocks, (bytes.as_ptr() as usize, bytes.len()), ranges)?;
    }
    Ok(blocks)
}

/// Returns the blocks received from each peer.
pub(super) fn received(bundle: &mut Bundle) -> Result<Vec<Vec<Block>>, MpiError> {
    let mut blocks = Vec::new();
    for (memory, ranges) in &mut bundle.received {
        let bytes = (**memory).as_mut();
        add(&mut blocks, (bytes.as_mut_ptr() as usize, bytes.len()), ranges)?;
    }
    Ok(blocks)
}

fn add(
    blocks: &mut Vec<Vec<Block>>,
    (base, length): Block,
    ranges: &[ByteRange],
) -> Result<(), MpiError> {
    for ByteRange { peer, start, n_bytes } in ranges.iter().filter(|one| 0 < one.n_bytes) {
        within("an exchange", (*start, *n_bytes), length)?;
        let peer = *peer as usize;
        if blocks.len() <= peer {
            blocks.resize(peer + 1, Vec::new());
        }
        blocks[peer].push((base + start, *n_bytes));
    }
    Ok(())
}
