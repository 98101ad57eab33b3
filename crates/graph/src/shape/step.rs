//! MPI operations as steps of a role.

use crate::expr::Expr;
use mpi_abi::{Class, Flow, Operation};

/// An MPI operation where the program calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mpi {
    /// Its full name, for example `MPI_Isend`.
    pub operation: String,
    /// The family, by its name in the table of operations: `point-to-point`, `collective`.
    pub class: &'static str,
    /// When it returns, by its name in that table: `blocking`, `nonblocking`, `persistent`, `partitioned`.
    pub mode: &'static str,
    /// How a send sends; none for other operations.
    pub send_mode: Option<SendMode>,
    /// What this role does in it.
    pub side: Side,
    /// What is sent and received, with whom.
    pub transfers: Vec<Transfer>,
    /// The root of a rooted collective operation.
    pub root: Option<Expr>,
    /// The tag, as the program has it.
    pub tag: Option<Expr>,
    /// The communicator, window or file, as the program has it.
    pub scope: String,
    /// The request that it makes or completes, as the program has it.
    pub request: Option<String>,
}

/// How a send sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SendMode {
    /// As the library likes.
    Standard,
    /// Complete when the receiver is there.
    Synchronous,
    /// Through the program's own buffer.
    Buffered,
    /// The receiver is there already.
    Ready,
}

impl SendMode {
    /// Every mode with its name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("standard", Self::Standard),
        ("synchronous", Self::Synchronous),
        ("buffered", Self::Buffered),
        ("ready", Self::Ready),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// How an operation sends: the letter before `send` in its name says it.
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

/// What a role does in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// It sends.
    Sends,
    /// It receives.
    Receives,
    /// It does both: a `Sendrecv`, an `Allreduce`.
    Both,
    /// It does neither, or the source does not say: a `Wait`, a `Barrier`.
    Neither,
}

impl Side {
    /// Every side with its name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("sends", Self::Sends),
        ("receives", Self::Receives),
        ("both", Self::Both),
        ("neither", Self::Neither),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// Data on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Whether this role sends it, receives it, or (a collective operation) either.
    pub side: Side,
    /// The rank on the other side; none in a collective operation, and where the call does not say.
    pub peer: Option<Expr>,
    /// How many bytes; none where the call does not say.
    pub bytes: Option<Expr>,
}
