//! Converts a passage of an MPI operation to steps of a program.

use super::walk::VisitedNode;
use super::{Amount, Setting, Shares, UnfoldError};
use crate::compose::program::{CallSite, Collective, ProgramBuilder, ProgramError, RankOperation};
use crate::shape::{self, Mpi, Role, SendMode, Side};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Context: the rank whose steps are written.
pub(super) struct Here<'a> {
    pub(super) rank: u32,
    pub(super) role: &'a Role,
    pub(super) shares: Shares,
    pub(super) setting: &'a Setting<'a>,
}

/// Adds the computation before the call, and the call.
pub(super) fn push(
    builder: &mut ProgramBuilder,
    here: &Here<'_>,
    place: CallSite,
    visited: &VisitedNode<'_>,
) -> Result<(), UnfoldError> {
    let Here { rank, role, shares, setting } = here;
    let node = visited.node;
    let shape::GraphNodeKind::Mpi(mpi) = &node.kind else { return Ok(()) };
    let amount = |of| (setting.amount_of)(role, node, of).map(|all| shares.part(node, all));
    let mut steps = Steps { builder, rank: *rank, place, visited, mpi, n_ranks: setting.n_ranks };
    let step = |source| UnfoldError::Step { label: node.label().unwrap_or_default(), source };
    if let Some(seconds) = amount(Amount::Computation).filter(|seconds| 0.0 < *seconds) {
        steps.push(RankOperation::Compute { seconds }).map_err(step)?;
    }
    let bytes = |transfer: usize| {
        visited.bytes.get(transfer).copied().flatten().or_else(|| amount(Amount::Bytes))
    };
    match mpi.class {
        "point-to-point" => steps.messages(&bytes),
        "completion" => steps.wait().map_err(step),
        "collective" => steps.collective(&bytes).map_err(step),
        _ => Ok(()),
    }
}

struct Steps<'a, 'b> {
    builder: &'a mut ProgramBuilder,
    rank: u32,
    place: CallSite,
    visited: &'a VisitedNode<'b>,
    mpi: &'a Mpi,
    n_ranks: usize,
}

impl Steps<'_, '_> {
    fn push(&mut self, operation: RankOperation) -> Result<(), ProgramError> {
        self.builder.push(self.rank, self.place, operation)
    }

    /// Adds sends before receives, so that a send-receive does not wait for itself.
    fn messages(&mut self, bytes: &dyn Fn(usize) -> Option<f64>) -> Result<(), UnfoldError> {
        let is_double = 1 < self.mpi.transfers.len();
        let started = (self.mpi.mode != "blocking").then(|| self.request());
        let mut sent = None;
        for side in [Side::Sends, Side::Receives] {
            for (at, transfer) in self.mpi.transfers.iter().enumerate() {
                if transfer.side != side {
                    continue;
                }
                let Some(peer) = self.peer(at, transfer)? else { continue };
                let tag = if is_double { 0 } else { self.tag() };
                let operation = if side == Side::Sends {
                    let request = if is_double { Some(u64::MAX) } else { started };
                    sent = sent.or(request.filter(|_| is_double));
                    let (bytes, mode) = (
                        length(bytes(at).unwrap_or(0.0)),
                        self.mpi.send_mode.unwrap_or(SendMode::Standard),
                    );
                    RankOperation::Send { to: peer, tag, bytes, mode, request }
                } else {
                    RankOperation::Receive { from: peer, tag, request: started }
                };
                self.push(operation).map_err(|source| self.step(source))?;
            }
        }
        match sent {
            Some(request) => {
                self.push(RankOperation::Wait { request }).map_err(|source| self.step(source))
            }
            None => Ok(()),
        }
    }

    /// Returns the peer; `None` where it is not a rank: `MPI_PROC_NULL`, or out of range.
    fn peer(&self, at: usize, transfer: &shape::DataTransfer) -> Result<Option<u32>, UnfoldError> {
        let value = self.visited.peer.get(at).copied().flatten();
        let value = value.ok_or_else(|| UnfoldError::Unknown {
            label: self.label(),
            expression: transfer.peer.as_ref().map_or_else(String::new, ToString::to_string),
        })?;
        let is_rank = 0.0 <= value && value < self.n_ranks as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        Ok(is_rank.then_some(value as u32))
    }

    fn wait(&mut self) -> Result<(), ProgramError> {
        let request = self.request();
        let all = self.mpi.operation.starts_with("MPI_Waitall");
        for open in self.builder.open_requests(self.rank) {
            // The name of an array forms the upper half of all its requests.
            if open == request || (all && open >> 32 == request >> 32) {
                self.push(RankOperation::Wait { request: open })?;
            }
        }
        Ok(())
    }

    fn collective(&mut self, bytes: &dyn Fn(usize) -> Option<f64>) -> Result<(), ProgramError> {
        if !matches!(self.mpi.mode, "blocking" | "nonblocking") {
            return Ok(());
        }
        let operation = mpi_abi::find(&self.mpi.operation).and_then(mpi_abi::operation);
        let Some(kind) = operation.and_then(mpi_abi::Operation::collective) else {
            return Ok(());
        };
        let root = self.visited.root.filter(|root| 0.0 <= *root && *root < self.n_ranks as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        let root = root.unwrap_or(0.0) as u32;
        let bytes = length(bytes(0).unwrap_or(0.0));
        self.push(RankOperation::Collective(Collective {
            kind,
            root,
            bytes,
            bytes_received: bytes,
        }))
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
        let text = self.mpi.request.as_deref().unwrap_or_default().trim_start_matches('&');
        let array = text.split(['[', '+']).next().unwrap_or_default().trim();
        let hash = |of: &str| {
            let mut hasher = DefaultHasher::new();
            of.hash(&mut hasher);
            hasher.finish() & 0xffff_ffff
        };
        hash(array) << 32 | hash(text)
    }

    fn label(&self) -> String {
        self.visited.node.label().unwrap_or_default()
    }

    fn step(&self, source: ProgramError) -> UnfoldError {
        UnfoldError::Step { label: self.label(), source }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole bytes")]
fn length(bytes: f64) -> u64 {
    bytes.max(0.0).round() as u64
}
