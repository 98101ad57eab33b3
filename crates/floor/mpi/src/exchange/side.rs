//! Data that goes to each rank, or comes from it, as lists for MPI.

use super::{Bundle, Stretch};
use crate::calls::Mpi;
use crate::elements::Handles;
use crate::functions::Handle;
use crate::{Channel, MpiError};
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
    fn of(channel: &Channel, blocks: &[Vec<Block>]) -> Result<Self, MpiError> {
        let n_peers = channel.n_peers() as usize;
        let (rank, n_ranks) = (u32::try_from(blocks.len()).unwrap_or(0), channel.n_peers());
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
        channel: &Channel,
        blocks: &[Vec<Block>],
        width: usize,
    ) -> Result<Self, MpiError> {
        let mut side = Self::of(channel, blocks)?;
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
    pub(super) fn derived(channel: &Channel, blocks: &[Vec<Block>]) -> Result<Self, MpiError> {
        let mut side = Self::of(channel, blocks)?;
        for (peer, blocks) in blocks.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            side.counts[peer] = 1;
            side.datatypes[peer] = channel.mpi.stretches(blocks)?;
        }
        let (nothing, made) = (channel.mpi.byte, side.datatypes.iter().copied());
        let all = made.map(|datatype| if datatype == 0 { nothing } else { datatype });
        side.list = Handles::of(channel.mpi.constants, all);
        Ok(side)
    }
}

impl Mpi {
    /// Returns a datatype of blocks at their addresses.
    pub(super) fn stretches(&self, blocks: &[Block]) -> Result<Handle, MpiError> {
        let mut parts = Vec::with_capacity(blocks.len());
        for (address, n_bytes) in blocks {
            parts.push((*address, self.contiguous_bytes(*n_bytes)?));
        }
        let joined = self.joined(&parts);
        for (_, mut part) in parts {
            self.free_datatype(&mut part)?;
        }
        let mut joined = joined?;
        self.commit(&mut joined)?;
        Ok(joined)
    }
}

/// Returns the blocks sent to each peer.
pub(super) fn sent(bundle: &Bundle) -> Result<Vec<Vec<Block>>, MpiError> {
    let mut blocks = Vec::new();
    for (lent, stretches) in &bundle.sent {
        let bytes = (**lent).as_ref();
        add(&mut blocks, (bytes.as_ptr() as usize, bytes.len()), stretches)?;
    }
    Ok(blocks)
}

/// Returns the blocks received from each peer.
pub(super) fn received(bundle: &mut Bundle) -> Result<Vec<Vec<Block>>, MpiError> {
    let mut blocks = Vec::new();
    for (memory, stretches) in &mut bundle.received {
        let bytes = (**memory).as_mut();
        add(&mut blocks, (bytes.as_mut_ptr() as usize, bytes.len()), stretches)?;
    }
    Ok(blocks)
}

fn add(
    blocks: &mut Vec<Vec<Block>>,
    (base, length): Block,
    stretches: &[Stretch],
) -> Result<(), MpiError> {
    for Stretch { peer, start, n_bytes } in stretches.iter().filter(|one| 0 < one.n_bytes) {
        let end = start.checked_add(*n_bytes).filter(|end| *end <= length);
        let (given, wanted) = (length, start.saturating_add(*n_bytes));
        end.ok_or(MpiError::Length { call: "an exchange", given, wanted })?;
        let peer = *peer as usize;
        if blocks.len() <= peer {
            blocks.resize(peer + 1, Vec::new());
        }
        blocks[peer].push((base + start, *n_bytes));
    }
    Ok(())
}

fn count(n: usize) -> Result<c_int, MpiError> {
    c_int::try_from(n).map_err(|_| MpiError::TooLong { n_bytes: n })
}
