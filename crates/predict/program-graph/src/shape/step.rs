//! MPI operations as steps of a role.

use crate::expr::Expr;
use mpi_abi::{Class, Flow, Operation};
use serde::Serialize;

/// An MPI operation at a call site.
#[derive(Clone, Debug, PartialEq)]
pub struct Mpi {
    /// Full name, for example `MPI_Isend`.
    pub operation: String,
    /// Family, by its name in the operation table: `point-to-point`, `collective`.
    pub class: &'static str,
    /// Mode, by its name in that table: `blocking`, `nonblocking`, `persistent`, `partitioned`.
    pub mode: &'static str,
    /// Send mode; `None` for operations other than sends.
    pub send_mode: Option<SendMode>,
    /// Direction in which this role transfers data.
    pub side: Side,
    /// Data transfers with their peers.
    pub transfers: Vec<DataTransfer>,
    /// Root of a rooted collective operation.
    pub root: Option<Expr>,
    /// Tag, as written in the program.
    pub tag: Option<Expr>,
    /// Communicator, window or file, as written in the program.
    pub scope: String,
    /// Request that it creates or completes, as written in the program.
    pub request: Option<String>,
}

/// Mode of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SendMode {
    /// The library chooses.
    Standard,
    /// Completes when the receiver has started to receive.
    Synchronous,
    /// Through the program's own buffer.
    Buffered,
    /// The receiver must be ready already.
    Ready,
}

impl SendMode {
    /// Returns the mode of an operation, given by the letter before `send` in its name.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        let sends = operation.movements.iter().any(|movement| movement.flow == Flow::Send);
        if !sends || operation.class != Class::PointToPoint {
            return None;
        }
        let stem = operation.stem.to_ascii_lowercase();
        let stem = stem.strip_prefix('i').unwrap_or(&stem);
        Some(match stem.as_bytes() {
            [b'b', b's', ..] => Self::Buffered,
            [b's', b's', ..] => Self::Synchronous,
            [b'r', b's', ..] => Self::Ready,
            _ => Self::Standard,
        })
    }
}

/// Direction in which a role transfers data in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The role sends.
    Sends,
    /// The role receives.
    Receives,
    /// The role does both: a `Sendrecv`, an `Allreduce`.
    Both,
    /// The role does neither, or the source does not tell: a `Wait`, a `Barrier`.
    Neither,
}

impl Side {
    /// Returns the direction of a role that sends, receives, or does both.
    pub(crate) fn joined(sends: bool, receives: bool) -> Self {
        match (sends, receives) {
            (true, true) => Self::Both,
            (true, false) => Self::Sends,
            (false, true) => Self::Receives,
            (false, false) => Self::Neither,
        }
    }

    /// Returns the direction of a movement; a collective may do both.
    pub(crate) fn of(flow: Flow) -> Self {
        match flow {
            Flow::Send | Flow::Put | Flow::Accumulate | Flow::Write => Self::Sends,
            Flow::Receive | Flow::Get | Flow::Read => Self::Receives,
            _ => Self::Both,
        }
    }
}

/// One data transfer of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct DataTransfer {
    /// Direction: sends, receives, or (in a collective operation) either.
    pub side: Side,
    /// Peer rank; `None` in a collective operation, and where the call does not tell.
    pub peer: Option<Expr>,
    /// Number of bytes; `None` where the call does not tell.
    pub bytes: Option<Expr>,
}
