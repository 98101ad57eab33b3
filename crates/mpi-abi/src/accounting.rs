//! What a call moves: direction, peer, and the number of bytes as an expression over parameters.
//!
//! The definition of the bytes of each class is at the top of `operations.txt`.
//!
//! # Invariants
//! - Every `usize` is a position in [`Operation::params`](crate::Operation::params), and the
//!   parameter there has the kind which the field's name says.
//!
//! # Not here
//! The code that evaluates an expression: the probe generates it.

/// One movement of data by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The direction.
    pub flow: Flow,
    /// The rank of the other side; `None` in collectives and files, and when a status or a message
    /// says it. To or from `MPI_PROC_NULL` nothing moves.
    pub peer: Option<usize>,
    /// How much: the first case whose condition holds. The last one is always
    /// [`Condition::Always`].
    pub cases: Vec<Case>,
}

/// The direction of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Flow {
    /// To the peer.
    Send,
    /// From the peer.
    Receive,
    /// Contributed to (or, without a contribution, received from) a collective.
    Payload,
    /// To the window of the peer.
    Put,
    /// From the window of the peer.
    Get,
    /// To the window of the peer, combined there with what it holds.
    Accumulate,
    /// From a file.
    Read,
    /// To a file.
    Write,
}

impl Flow {
    /// Every flow with its name in the table.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("send", Self::Send),
        ("receive", Self::Receive),
        ("payload", Self::Payload),
        ("put", Self::Put),
        ("get", Self::Get),
        ("accumulate", Self::Accumulate),
        ("read", Self::Read),
        ("write", Self::Write),
    ];
}

/// An amount and when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// When.
    pub condition: Condition,
    /// How much.
    pub amount: Amount,
}

/// When an amount applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// In every call.
    Always,
    /// This buffer is `MPI_IN_PLACE`.
    InPlace(usize),
    /// This root is the calling rank in an intracommunicator, or `MPI_ROOT`.
    Root(usize),
    /// This root is `MPI_ROOT`: the root of an intercommunicator calls.
    RemoteRoot(usize),
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Amount {
    /// What this status says after the call (it also says from which rank).
    Status(usize),
    /// `count` elements of `datatype`, `factor` times.
    Elements {
        /// How many elements.
        count: Count,
        /// Of which datatype.
        datatype: usize,
        /// How many times.
        factor: Factor,
    },
    /// The sum of the first `n` of `counts`, in elements of `datatype`.
    Sum {
        /// The array of counts.
        counts: usize,
        /// The datatype of all.
        datatype: usize,
        /// How many entries.
        n: Factor,
    },
    /// The sum over `n` entries of `counts`, each in elements of its entry of `datatypes`.
    SumOfProducts {
        /// The array of counts.
        counts: usize,
        /// The array of datatypes.
        datatypes: usize,
        /// How many entries.
        n: Factor,
    },
}

/// A number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Count {
    /// One.
    One,
    /// This parameter.
    Param(usize),
    /// The entry of the calling rank in this array.
    Own(usize),
}

/// A multiplier, or the length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// One.
    One,
    /// This parameter (kind `int`).
    Param(usize),
    /// The size of the remote group in an intercommunicator, of the communicator otherwise.
    Peers,
    /// The size of the local group.
    Ranks,
    /// The number of neighbors that this rank sends to.
    Outdegree,
}
