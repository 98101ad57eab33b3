//! Matching of collective calls across ranks, and the amount of data of each rank.
//!
//! The n-th collective call of each member of a communicator matches the n-th of all others. A replay
//! in which one of them is missing would never end, so calls that do not match are replaced by computation.

use crate::error::ExportError;
use crate::lanes::{Trace, operation};
use models::{CallEffect, Flow, Interpreter};
use mpi_abi::CollectiveKind::{
    self, Allgatherv, Alltoall, Alltoallv, Gatherv, ReduceScatter, Scatter, Scatterv,
};
use mpi_abi::Operation;
use run_record::Event;
use std::collections::{BTreeSet, HashMap};

/// The blocking collective calls of the first threads of a world's ranks.
#[derive(Default)]
pub(super) struct Collectives {
    communicators: HashMap<u32, Communicator>,
}

#[derive(Default)]
struct Communicator {
    /// Ranks that make any call on the communicator.
    members: BTreeSet<u32>,
    calls: Vec<Call>,
    /// Bytes of each rank of the world, for calls in which the amounts may differ.
    shares: HashMap<usize, Vec<u64>>,
}

/// The n-th call of all members.
struct Call {
    kind: CollectiveKind,
    flow: Flow,
    n_members: usize,
    same: bool,
    /// Largest share of a rank in bytes; MPI requires equal shares where a replay takes one number.
    bytes: u64,
    /// Largest sum over all ranks, in bytes, that a rank reported.
    bytes_of_all: u64,
}

/// Call made by all members of a communicator.
#[derive(Clone, Copy)]
pub(super) struct MatchedCollective<'a> {
    /// Kind of the call by which it is replayed.
    pub(super) kind: CollectiveKind,
    pub(super) flow: Flow,
    pub(super) members: &'a BTreeSet<u32>,
    /// Bytes that each rank sends or receives, if equal for all.
    pub(super) bytes: u64,
    /// Bytes that each rank of the world sends or receives; only if they differ.
    pub(super) shares: &'a [u64],
}

impl Collectives {
    pub(super) fn of(trace: &Trace, world: u32, n_ranks: u32) -> Result<Self, ExportError> {
        let mut collectives = Self::default();
        let mut ranks: Vec<(Interpreter, HashMap<u32, usize>)> = Vec::new();
        ranks.resize_with(n_ranks as usize, Default::default);
        trace.each(|event| {
            if event.world != world || event.thread != 0 {
                return;
            }
            let Some((interpreter, joined)) = ranks.get_mut(event.rank as usize) else { return };
            interpreter.read(event, |action| {
                let CallEffect::Collective { communicator, flow, .. } = action else { return };
                let nth = joined.entry(communicator).or_default();
                let communicator = collectives.communicators.entry(communicator).or_default();
                communicator.join(event, *nth, flow, n_ranks);
                *nth += 1;
            });
        })?;
        for (communicator, all) in &mut collectives.communicators {
            let n_members = if *communicator == 0 { n_ranks as usize } else { all.members.len() };
            all.calls.iter_mut().for_each(|call| call.same &= call.n_members == n_members);
        }
        Ok(collectives)
    }

    /// Returns the n-th call on a communicator if all its members make it.
    pub(super) fn matched(&self, communicator: u32, nth: usize) -> Option<MatchedCollective<'_>> {
        let all = self.communicators.get(&communicator)?;
        let call = all.calls.get(nth).filter(|call| call.same)?;
        Some(MatchedCollective {
            kind: call.kind,
            flow: call.flow,
            members: &all.members,
            bytes: call.bytes.max(call.bytes_of_all.div_ceil(all.members.len() as u64)),
            shares: all.shares.get(&nth).map_or(&[], Vec::as_slice),
        })
    }
}

impl Communicator {
    fn join(&mut self, event: &Event, nth: usize, flow: Flow, n_ranks: u32) {
        self.members.insert(event.rank);
        // Anything else that all members wait in is replayed as a barrier.
        let kind = operation(event).and_then(Operation::collective);
        let kind = kind.unwrap_or(CollectiveKind::Barrier);
        if self.calls.len() <= nth {
            let (bytes, bytes_of_all) = (0, 0);
            self.calls.push(Call { kind, flow, n_members: 0, same: true, bytes, bytes_of_all });
        }
        let root = match flow {
            Flow::All => None,
            Flow::FromRoot(root) | Flow::ToRoot(root) => Some(root),
        };
        let call = &mut self.calls[nth];
        call.n_members += 1;
        call.same &= call.kind == kind && call.flow == flow;
        call.same &= root.is_none_or(|root| root < n_ranks);
        let of_all = match kind {
            Alltoall | Alltoallv | ReduceScatter => true,
            Scatter | Scatterv => root == Some(event.rank),
            _ => false,
        };
        let most = if of_all { &mut call.bytes_of_all } else { &mut call.bytes };
        *most = event.bytes.max(*most);
        if matches!(kind, Gatherv | Scatterv | Allgatherv | Alltoallv) {
            let shares = self.shares.entry(nth).or_insert_with(|| vec![0; n_ranks as usize]);
            shares[event.rank as usize] = event.bytes;
        }
    }
}
