//! Converts a passage of an MPI operation to steps of a program.

use super::walk::VisitedNode;
use super::{Amount, Setting, UnfoldError};
use crate::compose::program::{CallSite, Collective, ProgramBuilder, RankOperation};
use crate::shape::{Role, SendMode, Side};
use display::units::whole;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A passage of an MPI operation by a rank, to be added to a program.
pub(super) struct Passage<'a> {
    pub(super) builder: &'a mut ProgramBuilder,
    pub(super) setting: &'a Setting<'a>,
    pub(super) role: &'a Role,
    pub(super) rank: u32,
    pub(super) place: CallSite,
    pub(super) visited: &'a VisitedNode<'a>,
    /// Number of passages that share the amounts of the operation.
    pub(super) n_passages: f64,
}

impl Passage<'_> {
    /// Adds the computation before the call, and the call.
    pub(super) fn unfold(&mut self) -> Result<(), UnfoldError> {
        if let Some(seconds) = self.amount(Amount::Computation).filter(|seconds| 0.0 < *seconds) {
            self.push(RankOperation::Compute { seconds })?;
        }
        match self.visited.mpi.class {
            "point-to-point" => self.messages(),
            "completion" => self.wait(),
            "collective" => self.collective(),
            _ => Ok(()),
        }
    }

    /// Returns one passage's part of an amount of the region.
    fn amount(&self, of: Amount) -> Option<f64> {
        let all = (self.setting.amount_of)(self.role, self.visited.node, of)?;
        Some(all / self.n_passages)
    }

    /// Returns the bytes of a transfer; 0 where neither the source nor the caller knows them.
    fn bytes(&self, transfer: usize) -> u64 {
        let known = self.visited.bytes.get(transfer).copied().flatten();
        whole(known.or_else(|| self.amount(Amount::Bytes)).unwrap_or(0.0))
    }

    fn push(&mut self, operation: RankOperation) -> Result<(), UnfoldError> {
        let pushed = self.builder.push(self.rank, self.place, operation);
        pushed.map_err(|source| UnfoldError::Step { label: self.visited.label(), source })
    }

    /// Adds sends before receives, so that a send-receive does not wait for itself.
    fn messages(&mut self) -> Result<(), UnfoldError> {
        let mpi = self.visited.mpi;
        let is_double = 1 < mpi.transfers.len();
        let started = (mpi.mode != "blocking").then(|| self.request());
        let mut sent = None;
        for side in [Side::Sends, Side::Receives] {
            for (at, transfer) in mpi.transfers.iter().enumerate() {
                if transfer.side != side {
                    continue;
                }
                let Some(peer) = self.peer(at) else { continue };
                let tag = if is_double { 0 } else { self.tag() };
                self.push(if side == Side::Sends {
                    let request = if is_double { Some(u64::MAX) } else { started };
                    sent = sent.or(request.filter(|_| is_double));
                    let mode = mpi.send_mode.unwrap_or(SendMode::Standard);
                    RankOperation::Send { to: peer, tag, bytes: self.bytes(at), mode, request }
                } else {
                    RankOperation::Receive { from: peer, tag, request: started }
                })?;
            }
        }
        sent.map_or(Ok(()), |request| self.push(RankOperation::Wait { request }))
    }

    /// Returns the peer; `None` where it is not a rank: `MPI_PROC_NULL`, or out of range.
    fn peer(&self, transfer: usize) -> Option<u32> {
        self.rank_of(self.visited.peer.get(transfer).copied().flatten()?)
    }

    fn rank_of(&self, value: f64) -> Option<u32> {
        let is_rank = 0.0 <= value && value < self.setting.n_ranks as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        is_rank.then_some(value as u32)
    }

    fn wait(&mut self) -> Result<(), UnfoldError> {
        let request = self.request();
        let all = self.visited.mpi.operation.starts_with("MPI_Waitall");
        for open in self.builder.open_requests(self.rank) {
            // The name of an array forms the upper half of all its requests.
            if open == request || (all && open >> 32 == request >> 32) {
                self.push(RankOperation::Wait { request: open })?;
            }
        }
        Ok(())
    }

    fn collective(&mut self) -> Result<(), UnfoldError> {
        let mpi = self.visited.mpi;
        if !matches!(mpi.mode, "blocking" | "nonblocking") {
            return Ok(());
        }
        let operation = mpi_abi::find(&mpi.operation).and_then(mpi_abi::operation);
        let Some(kind) = operation.and_then(mpi_abi::Operation::collective) else {
            return Ok(());
        };
        let root = self.visited.root.and_then(|root| self.rank_of(root)).unwrap_or(0);
        let bytes = self.bytes(0);
        let collective = Collective { kind, root, bytes, bytes_received: bytes };
        self.push(RankOperation::Collective(collective))
    }

    /// Returns the tag; unknown tags count as equal, so that the order of messages decides.
    fn tag(&self) -> u32 {
        let tag = self.visited.tag.filter(|tag| (0.0..2e9).contains(tag)).unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just bounded")]
        let tag = tag as u32;
        tag
    }

    /// Returns a request number: a hash of the array in the upper half, of the whole text in the lower
    /// half.
    fn request(&self) -> u64 {
        let text = self.visited.mpi.request.as_deref().unwrap_or_default().trim_start_matches('&');
        let array = text.split(['[', '+']).next().unwrap_or_default().trim();
        let hash = |of: &str| {
            let mut hasher = DefaultHasher::new();
            of.hash(&mut hasher);
            hasher.finish() & 0xffff_ffff
        };
        hash(array) << 32 | hash(text)
    }
}
